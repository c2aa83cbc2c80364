"""Hubs with many writes take turns with other hubs and complete their plan."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from lynq.controllers.hub import apply
from lynq.core.hub import plan_cache
from lynq.core.hub.plan import HubPlan, plan_hub
from lynq.kube import Request, Response, Send
from operated.environment import HUBS, NODES, QUICK, Environment
from virtual_time import VirtualTimeLoop
from waiting import eventually

ROWS = tuple((f"t{number:03}", 1, "pro") for number in range(120))
NAMES = [f"{uid}-web" for uid, *_ in ROWS]


@pytest.fixture
def short_turns(env: Environment) -> None:
    """End write turns before even a few dozen nodes are written."""
    env.timing = replace(QUICK, hub_write_turn=0.03)


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[HubPlan]:
    """The plans computed by the hub controller."""
    recorded: list[HubPlan] = []

    def record(*args: object, **kwargs: object) -> HubPlan:
        recorded.append(plan_hub(*args, **kwargs))  # type: ignore[arg-type]
        return recorded[-1]

    monkeypatch.setattr(plan_cache, "plan_hub", record)
    return recorded


def delay_node_writes(env: Environment, verb: str, seconds: float) -> None:
    """Delay node requests of one verb."""

    async def delay(request: Request, send: Send) -> Response:
        if request.verb == verb and NODES.plural in request.path:
            await asyncio.sleep(seconds)
        return await send(request)

    env.client = env.client.intercepted(delay)


async def test_three_busy_hubs_do_not_block_another(env: Environment) -> None:
    for number in range(3):
        rows = tuple((f"busy{number}-{row}", 1, "pro") for row in range(700))
        env.set_rows(*rows, file=f"{number}.db")
        source = {"sqlite": {"path": f"{number}.db", "table": "tenants"}}
        await env.create_hub(f"busy-{number}", source=source)
        await env.create_form(f"form-{number}", f"busy-{number}")
    env.set_rows(ROWS[0])
    delay_node_writes(env, "create", 0.5)

    async with env.run_controllers() as context:
        await eventually(lambda: env.requests.count("create") > 90)
        await env.create_hub(sync_interval="1s")
        await env.create_form()
        await eventually(lambda: NAMES[0] in {key.name for key, _ in context.nodes.cache.items()})
        assert env.requests.count("create") < 1500


@pytest.mark.usefixtures("short_turns")
async def test_many_writes_are_several_turns_of_one_plan(
    env: Environment, plans: list[HubPlan]
) -> None:
    env.set_rows(*ROWS, ("Bad_", 1, "pro"))
    await env.create_hub()
    await env.create_form()
    delay_node_writes(env, "create", 0.05)

    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES)
        await env.wait_for_status(desired=121, failed=1)
        await env.wait_until_idle()
        assert env.requests.count("create") == 120
        assert len(await env.events("RowRejected")) == 1
        # One plan before the form existed, and up to three for changes of form and nodes.
        assert len(plans) <= 4


@pytest.fixture
def slow_plans(virtual_loop: VirtualTimeLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let watch events arrive while a plan is computed."""

    def plan_slowly(*args: object, **kwargs: object) -> HubPlan:
        virtual_loop.advance(0.5)
        return plan_hub(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(plan_cache, "plan_hub", plan_slowly)


@pytest.mark.usefixtures("short_turns", "slow_plans")
async def test_approval_covers_all_turns_but_not_returned_rows(
    env: Environment,
) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()
    delay_node_writes(env, "delete", 1.0)

    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES)
        kept = (await env.nodes())[NAMES[-1]]["metadata"]["uid"]
        env.set_rows()
        await env.force_sync()
        held = await env.wait_for_condition("DeletionHeld", "True")
        digest = held["message"].rpartition(", ")[2]
        await env.annotate("hub", approve_deletion=digest)
        await eventually(lambda: env.requests.count("delete") >= 32)
        env.set_rows(ROWS[-1])
        await env.force_sync()

        await env.wait_for_nodes(NAMES[-1])
        await env.wait_for_condition("DeletionHeld", "False")
        assert (await env.nodes())[NAMES[-1]]["metadata"]["uid"] == kept
        assert env.requests.count("delete") == 119


async def test_outdated_read_creates_nodes_but_deletes_none(
    env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.set_rows(ROWS[0])
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes(NAMES[0])
        monkeypatch.setattr(apply, "rows_allow_deletion", lambda *_, **__: False)
        env.set_rows(ROWS[1])
        await env.force_sync()
        await env.wait_for_nodes(*NAMES[:2])
        monkeypatch.undo()
        await env.wait_for_nodes(NAMES[1])


@pytest.mark.usefixtures("short_turns")
async def test_deleted_hub_deletes_every_node_in_turns(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()
    delay_node_writes(env, "delete", 0.05)

    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES)
        env.requests.sent.clear()
        await env.client.delete(HUBS, "hub", env.namespace)
        await env.wait_for_deletion(HUBS, "hub")

    sent = Counter(request.path for request in env.requests.sent if request.verb == "delete")
    assert len(sent) == 120
    assert set(sent.values()) == {1}
