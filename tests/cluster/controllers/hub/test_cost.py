"""What a hub costs: nothing while idle, and no more than its writes otherwise."""

import asyncio

from cluster.controllers.stage import NODES, Stage

ROWS = tuple((f"t{number}", 1, "pro") for number in range(5))
NAMES = [f"{uid}-web" for uid, *_ in ROWS]


async def test_an_idle_hub_sends_nothing(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub(source={"syncInterval": "1s"})
    await stage.form()

    async with stage.operator():
        await stage.has_nodes(*NAMES)
        await stage.make_ready(NAMES)
        await stage.has_status(ready=5)
        await stage.settles()
        stage.traffic.sent.clear()
        await asyncio.sleep(3.5)
        assert stage.traffic.sent == []


async def test_a_row_costs_one_create_and_statuses_are_gathered(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes(*NAMES)
        await stage.make_ready(NAMES)
        await stage.has_status(ready=5)
        await stage.settles()
        assert stage.traffic.count("create") == 5
        assert stage.traffic.count("get") == stage.traffic.count("replace") == 0
        # The finalizer, and a few statuses of hub and form: not one for each node.
        assert stage.traffic.count("patch") <= 9


async def test_changes_of_a_nodes_status_do_not_read_the_rows(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes(*NAMES)
        await stage.settles()
        synced = (await stage.status())["lastSyncTime"]
        await stage.make_ready(NAMES)
        await stage.has_status(ready=5)
        await stage.make_ready(NAMES[:2], ready=False)
        await stage.has_status(ready=3, failed=2)
        assert (await stage.status())["lastSyncTime"] == synced


async def test_a_restart_writes_nothing(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form()
    async with stage.operator():
        await stage.has_nodes(*NAMES)
        await stage.make_ready(NAMES)
        await stage.has_status(ready=5)
        await stage.settles()
    before = {
        name: each["metadata"]["resourceVersion"] for name, each in (await stage.nodes()).items()
    }
    stage.traffic.sent.clear()

    async with stage.operator():
        await stage.settles()

    after = {
        name: each["metadata"]["resourceVersion"] for name, each in (await stage.nodes()).items()
    }
    assert after == before
    assert not [each for each in stage.traffic.sent if NODES.plural in each.path]
