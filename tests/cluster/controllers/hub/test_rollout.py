"""maxSkew at work: slots open on events, and a restart half way changes nothing."""

import asyncio

from cluster.controllers.stage import FORMS, Stage, config_map
from waiting import eventually

ROWS = tuple((f"t{number}", 1, "pro") for number in range(4))
NAMES = [f"{uid}-web" for uid, *_ in ROWS]
ONE = {"maxSkew": 1}


async def generations(stage: Stage) -> dict[str, str]:
    nodes = await stage.nodes()
    return {
        name: node["metadata"]["annotations"]["lynq.sh/template-generation"]
        for name, node in nodes.items()
    }


async def updated(stage: Stage, generation: str) -> list[str]:
    return sorted(name for name, found in (await generations(stage)).items() if found == generation)


async def test_new_nodes_come_one_by_one_each_on_the_event(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form(rollout=ONE)

    async with stage.operator():
        for number, name in enumerate(NAMES, start=1):
            # Far sooner than the interval of an hour.
            await stage.has_nodes(*NAMES[:number], within=5)
            await asyncio.sleep(0.3)
            assert await stage.names() == NAMES[:number]
            await stage.make_ready([name])
        await stage.has_status(ready=4)
        await stage.has_event("RolloutThrottled", containing="maxSkew is 1")

        async def complete() -> bool:
            rollout = (await stage.form_status())["rollout"]
            return bool(rollout["phase"] == "Complete" and rollout["readyUpdatedNodes"] == 4)

        await eventually(complete)


async def test_a_restart_half_way_goes_on_where_it_was(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form()
    async with stage.operator():
        await stage.has_nodes(*NAMES)
        await stage.make_ready(NAMES)
        await stage.settles()
        changed = {"configMaps": [config_map("{{ .plan }}!")], "rollout": {"maxSkew": 2}}
        await stage.change(FORMS, "web", {"spec": changed})

        async def two() -> list[str]:
            return found if len(found := await updated(stage, "2")) == 2 else []

        first = await eventually(two)
        await stage.settles()
        assert len(await updated(stage, "2")) == 2

    async with stage.operator():
        await stage.settles()
        assert await updated(stage, "2") == first
        await stage.make_ready(first[:1])

        async def three() -> bool:
            return len(await updated(stage, "2")) == 3

        await eventually(three)
        await stage.settles()
        assert len(await updated(stage, "2")) == 3
        assert (await stage.form_status())["rollout"]["updatingNodes"] == 2


async def test_workloads_behind_their_nodes_status_keep_the_slot(stage: Stage) -> None:
    stage.rows(*ROWS[:2])
    stage.workloads["t0-web"] = False
    await stage.hub()
    await stage.form(rollout=ONE)

    async with stage.operator():
        await stage.has_nodes("t0-web")
        await stage.make_ready(["t0-web"])
        await asyncio.sleep(1.5)
        assert await stage.names() == ["t0-web"]
        # No node says anything more; it is noticed all the same.
        stage.workloads["t0-web"] = True
        await stage.has_nodes("t0-web", "t1-web", within=5)


async def test_a_node_that_is_deleted_gives_its_slot_back(stage: Stage) -> None:
    stage.rows(*ROWS[:2])
    await stage.hub()
    await stage.form(rollout=ONE)

    async with stage.operator():
        await stage.has_nodes("t0-web")
        stage.rows(ROWS[1])
        await stage.read_again()
        await stage.has_nodes("t1-web")
