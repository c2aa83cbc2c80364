"""maxSkew with everything running: the whole history is looked at, not only its end."""

import asyncio
import time

import pytest

from cluster.controllers.environment import FORMS, Environment, Object
from cluster.controllers.operator.history import recording
from cluster.controllers.running_operator import (
    running_operator,
    wait_for_node_ready,
    wait_for_resource_state,
)
from cluster.local.manifests import deployment
from waiting import eventually

UIDS = tuple(f"t{number}" for number in range(6))
NAMES = tuple(f"{uid}-web" for uid in UIDS)


def app(image: str = "nginx:1", **steering: str) -> Object:
    """Return an entry for a Deployment that carries the row's plan, and starts in a moment."""
    steering = {"ready-after": "300ms"} | steering
    annotations = {f"local.lynq.sh/{key.replace('_', '-')}": to for key, to in steering.items()}
    manifest = deployment("app", replicas=1, image=image, annotations=annotations)
    manifest["spec"]["template"]["metadata"]["annotations"]["plan"] = "{{ .plan }}"
    return {"id": "app", "nameTemplate": "{{ .uid }}-app", "spec": manifest}


async def rolled_out(env: Environment, generation: int, nodes: int, *, within: float = 60) -> None:
    """Wait until the form says that its rollout is complete."""

    async def complete() -> bool:
        rollout = (await env.form_status()).get("rollout", {})
        assert rollout.get("phase") == "Complete", rollout
        assert rollout["targetGeneration"] == generation
        # While nodes are created, all those that are there yet can be ready.
        return bool(rollout["readyUpdatedNodes"] == nodes)

    await eventually(complete, within=within, every=0.1)


async def tenants(env: Environment, skew: int, *, uids: tuple[str, ...] = UIDS) -> None:
    env.set_rows(*((uid, 1, "pro") for uid in uids))
    await env.create_hub()
    limit = {"maxSkew": skew, "progressDeadlineSeconds": 60}
    await env.create_form(configMaps=[], deployments=[app()], rollout=limit)


async def change(env: Environment, *deployments: Object) -> None:
    await env.patch(FORMS, "web", {"spec": {"deployments": list(deployments)}})


@pytest.mark.parametrize("skew", [1, 2])
async def test_updating_nodes_never_exceed_max_skew(env: Environment, skew: int) -> None:
    async with recording(env) as history, running_operator(env):
        await tenants(env, skew)
        await rolled_out(env, 1, 6)

        began = time.monotonic()
        await change(env, app("nginx:2"))
        await rolled_out(env, 2, 6)
        seconds = time.monotonic() - began
        await env.wait_for_event("RolloutThrottled", containing=f"maxSkew is {skew}")
    # Slots open on the event: the interval is an hour.
    assert seconds < 40
    assert history.most_updating() == skew
    assert sorted(history.writes()) == sorted((name, g) for name in NAMES for g in ("1", "2"))


async def test_restart_during_rollout_respects_max_skew(env: Environment) -> None:
    async with recording(env) as history:
        async with running_operator(env):
            await tenants(env, 2)
            await rolled_out(env, 1, 6)
            await change(env, app("nginx:2", ready_after="1s"))

            async def under_way() -> bool:
                status = (await env.form_status())["rollout"]
                return bool(status["targetGeneration"] == 2 and status.get("updatedNodes", 0) >= 3)

            await eventually(under_way, within=30)
        async with running_operator(env):
            await rolled_out(env, 2, 6)
    assert history.most_updating() == 2
    assert sorted(history.writes()) == sorted((name, g) for name in NAMES for g in ("1", "2"))


async def test_changed_rows_respect_max_skew(env: Environment) -> None:
    async with recording(env) as history, running_operator(env):
        await tenants(env, 1, uids=UIDS[:4])
        await rolled_out(env, 1, 4)
        env.set_rows(*((uid, 1, "gold") for uid in UIDS[:4]))
        await env.force_sync()

        async def all_golden() -> bool:
            nodes = (await env.nodes()).values()
            return all("gold" in node["metadata"]["annotations"]["lynq.sh/extra"] for node in nodes)

        await eventually(all_golden, within=30)
        await rolled_out(env, 1, 4)
    assert history.most_updating() == 1
    assert len(history.writes()) == 8


async def test_stuck_node_blocks_rollout_until_its_row_is_repaired(
    env: Environment,
) -> None:
    async with recording(env) as history, running_operator(env):
        await tenants(env, 1, uids=UIDS[:3])
        await rolled_out(env, 1, 3)
        # Whoever has the plan "pro" does not start with this one.
        await change(env, app('{{ if eq .plan "pro" }}nonexistent{{ else }}nginx{{ end }}:2'))

        async def stuck() -> str:
            rollout = (await env.form_status())["rollout"]
            assert (rollout["targetGeneration"], rollout.get("updatedNodes")) == (2, 1), rollout
            return next(name for name, generation in history.writes() if generation == "2")

        first = await eventually(stuck, within=30)
        entry = await wait_for_resource_state(env, first, "app", "Progressing")
        assert entry["message"]
        await asyncio.sleep(2)
        assert [name for name, made in history.writes() if made == "2"] == [first]

        # A row that is not stuck does not overtake; the stuck one does get its new values.
        env.set_rows(*((uid, 1, "gold") for uid in UIDS[:3]))
        await env.force_sync()
        await rolled_out(env, 2, 3)
        for name in NAMES[:3]:
            await wait_for_node_ready(env, name)
    assert history.most_updating() == 1


async def test_next_form_generation_repairs_stuck_rollout(env: Environment) -> None:
    async with recording(env) as history, running_operator(env):
        await tenants(env, 2, uids=UIDS[:4])
        await rolled_out(env, 1, 4)
        await change(env, app("nonexistent:2"))

        async def stuck() -> bool:
            return [made for _, made in history.writes()].count("2") == 2

        await eventually(stuck, within=30)
        await asyncio.sleep(1)
        assert [made for _, made in history.writes()].count("2") == 2
        await change(env, app("nginx:3"))
        await rolled_out(env, 3, 4)
    assert history.most_updating() == 2
    # The two that were stuck came first.
    stuck_ones = {name for name, made in history.writes() if made == "2"}
    repaired = [name for name, made in history.writes() if made == "3"]
    assert set(repaired[:2]) == stuck_ones
    assert len(repaired) == 4
