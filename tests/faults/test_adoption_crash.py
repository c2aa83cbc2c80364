"""Crashes at every write while an object that existed before is adopted and released."""

from collections.abc import Awaitable, Callable

import pytest

from faults.crash import Crash, crashing_operator
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import Environment, Object
from waiting import eventually

NODE = "acme-web"


async def foreign(env: Environment) -> Object:
    obj = {"metadata": {"name": "acme-settings"}, "data": {"keep": "me"}}
    return await env.client.create(CONFIG_MAPS, obj, env.namespace, manager="kubectl-create")


@pytest.mark.parametrize("is_sent", [False, True])
async def test_foreign_object_survives_crash_at_every_write(
    env: Environment,
    other_namespace: str,  # noqa: ARG001 - the operator watches it
    request: pytest.FixtureRequest,
    *,
    is_sent: bool,
) -> None:
    old = await foreign(env)
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form()

    async def is_ready() -> bool:
        node = (await env.nodes()).get(NODE, {})
        conditions = node.get("status", {}).get("conditions", [])
        return any((c["type"], c["status"]) == ("Ready", "True") for c in conditions)

    async def is_gone() -> bool:
        return not await env.nodes()

    crashes = await run_with_crashes(env, is_ready, is_sent=is_sent)
    live = await env.get(CONFIG_MAPS, "acme-settings")
    assert live["data"] == {"keep": "me", "plan": "pro"}
    assert live["metadata"]["annotations"]["lynq.sh/adopted"] == "true"
    assert "ownerReferences" not in live["metadata"]

    env.set_rows(("acme", 0, "pro"))
    await env.force_sync()
    crashes += await run_with_crashes(env, is_gone, is_sent=is_sent)
    request.node.user_properties.append(("crashes", crashes))
    live = await env.get(CONFIG_MAPS, "acme-settings")
    assert live["metadata"]["uid"] == old["metadata"]["uid"]
    assert live["data"] == {"keep": "me"}
    assert "lynq.sh/" not in str(live["metadata"])


async def run_with_crashes(
    env: Environment, done: Callable[[], Awaitable[bool]], *, is_sent: bool
) -> int:
    """Run the operator until the condition holds, crash it at each write; return the crashes."""
    for number in range(1, 20):
        crash = Crash(at=number, is_sent=is_sent)
        async with crashing_operator(env, crash):

            async def ended(crash: Crash = crash) -> bool:
                return crash.happened.is_set() or await done()

            await eventually(ended, within=60, every=0.02)
            if not crash.happened.is_set():
                return number - 1
    raise AssertionError("the operator did not finish")
