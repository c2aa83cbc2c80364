"""maxSkew with everything running: the whole history is looked at, not only its end."""

import asyncio
import time

import pytest

from cluster.controllers.operating import node_is_ready, operating, resource_is
from cluster.controllers.stage import FORMS, Object, Stage
from cluster.controllers.whole.history import recording
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


async def rolled_out(stage: Stage, generation: int, nodes: int, *, within: float = 60) -> None:
    """Wait until the form says that its rollout is complete."""

    async def complete() -> bool:
        rollout = (await stage.form_status()).get("rollout", {})
        assert rollout.get("phase") == "Complete", rollout
        assert rollout["targetGeneration"] == generation
        # While nodes are created, all those that are there yet can be ready.
        return bool(rollout["readyUpdatedNodes"] == nodes)

    await eventually(complete, within=within, every=0.1)


async def tenants(stage: Stage, skew: int, *, uids: tuple[str, ...] = UIDS) -> None:
    stage.rows(*((uid, 1, "pro") for uid in uids))
    await stage.hub()
    limit = {"maxSkew": skew, "progressDeadlineSeconds": 60}
    await stage.form(configMaps=[], deployments=[app()], rollout=limit)


async def change(stage: Stage, *deployments: Object) -> None:
    await stage.change(FORMS, "web", {"spec": {"deployments": list(deployments)}})


@pytest.mark.parametrize("skew", [1, 2])
async def test_never_more_than_max_skew_nodes_are_on_their_way(stage: Stage, skew: int) -> None:
    async with recording(stage) as history, operating(stage):
        await tenants(stage, skew)
        await rolled_out(stage, 1, 6)

        began = time.monotonic()
        await change(stage, app("nginx:2"))
        await rolled_out(stage, 2, 6)
        seconds = time.monotonic() - began
        await stage.has_event("RolloutThrottled", containing=f"maxSkew is {skew}")
    # Slots open on the event: the interval is an hour.
    assert seconds < 40
    assert history.most_on_the_way() == skew
    assert sorted(history.writes()) == sorted((name, g) for name in NAMES for g in ("1", "2"))


async def test_a_restart_in_the_middle_keeps_to_the_limit(stage: Stage) -> None:
    async with recording(stage) as history:
        async with operating(stage):
            await tenants(stage, 2)
            await rolled_out(stage, 1, 6)
            await change(stage, app("nginx:2", ready_after="1s"))

            async def under_way() -> bool:
                status = (await stage.form_status())["rollout"]
                return bool(status["targetGeneration"] == 2 and status.get("updatedNodes", 0) >= 3)

            await eventually(under_way, within=30)
        async with operating(stage):
            await rolled_out(stage, 2, 6)
    assert history.most_on_the_way() == 2
    assert sorted(history.writes()) == sorted((name, g) for name in NAMES for g in ("1", "2"))


async def test_new_values_of_rows_take_turns_too(stage: Stage) -> None:
    async with recording(stage) as history, operating(stage):
        await tenants(stage, 1, uids=UIDS[:4])
        await rolled_out(stage, 1, 4)
        stage.rows(*((uid, 1, "gold") for uid in UIDS[:4]))
        await stage.read_again()

        async def all_golden() -> bool:
            nodes = (await stage.nodes()).values()
            return all("gold" in node["metadata"]["annotations"]["lynq.sh/extra"] for node in nodes)

        await eventually(all_golden, within=30)
        await rolled_out(stage, 1, 4)
    assert history.most_on_the_way() == 1
    assert len(history.writes()) == 8


async def test_a_stuck_node_holds_the_others_back_and_its_own_row_repairs_it(stage: Stage) -> None:
    async with recording(stage) as history, operating(stage):
        await tenants(stage, 1, uids=UIDS[:3])
        await rolled_out(stage, 1, 3)
        # Whoever has the plan "pro" does not start with this one.
        await change(stage, app('{{ if eq .plan "pro" }}nonexistent{{ else }}nginx{{ end }}:2'))

        async def stuck() -> str:
            said = (await stage.form_status())["rollout"]
            assert (said["targetGeneration"], said.get("updatedNodes")) == (2, 1), said
            return next(name for name, generation in history.writes() if generation == "2")

        first = await eventually(stuck, within=30)
        entry = await resource_is(stage, first, "app", "Progressing")
        assert entry["message"]
        await asyncio.sleep(2)
        assert [name for name, made in history.writes() if made == "2"] == [first]

        # A row that is not stuck does not overtake; the stuck one does get its new values.
        stage.rows(*((uid, 1, "gold") for uid in UIDS[:3]))
        await stage.read_again()
        await rolled_out(stage, 2, 3)
        for name in NAMES[:3]:
            await node_is_ready(stage, name)
    assert history.most_on_the_way() == 1


async def test_a_stuck_form_is_repaired_by_the_next_one(stage: Stage) -> None:
    async with recording(stage) as history, operating(stage):
        await tenants(stage, 2, uids=UIDS[:4])
        await rolled_out(stage, 1, 4)
        await change(stage, app("nonexistent:2"))

        async def stuck() -> bool:
            return [made for _, made in history.writes()].count("2") == 2

        await eventually(stuck, within=30)
        await asyncio.sleep(1)
        assert [made for _, made in history.writes()].count("2") == 2
        await change(stage, app("nginx:3"))
        await rolled_out(stage, 3, 4)
    assert history.most_on_the_way() == 2
    # The two that were stuck came first.
    stuck_ones = {name for name, made in history.writes() if made == "2"}
    repaired = [name for name, made in history.writes() if made == "3"]
    assert set(repaired[:2]) == stuck_ones
    assert len(repaired) == 4
