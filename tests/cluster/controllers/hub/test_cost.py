"""What a hub costs: nothing while idle, and no more than its writes otherwise."""

import asyncio

from cluster.controllers.environment import NODES, Environment

ROWS = tuple((f"t{number}", 1, "pro") for number in range(5))
NAMES = [f"{uid}-web" for uid, *_ in ROWS]


async def test_an_idle_hub_sends_nothing(env: Environment) -> None:
    env.rows(*ROWS)
    await env.hub(source={"syncInterval": "1s"})
    await env.form()

    async with env.operator():
        await env.has_nodes(*NAMES)
        await env.make_ready(NAMES)
        await env.has_status(ready=5)
        await env.settles()
        env.traffic.sent.clear()
        await asyncio.sleep(3.5)
        assert env.traffic.sent == []


async def test_a_row_costs_one_create_and_statuses_are_gathered(env: Environment) -> None:
    env.rows(*ROWS)
    await env.hub()
    await env.form()

    async with env.operator():
        await env.has_nodes(*NAMES)
        await env.make_ready(NAMES)
        await env.has_status(ready=5)
        await env.settles()
        assert env.traffic.count("create") == 5
        assert env.traffic.count("get") == env.traffic.count("replace") == 0
        # The finalizer, and a few statuses of hub and form: not one for each node.
        assert env.traffic.count("patch") <= 9


async def test_changes_of_a_nodes_status_do_not_read_the_rows(env: Environment) -> None:
    env.rows(*ROWS)
    await env.hub()
    await env.form()

    async with env.operator():
        await env.has_nodes(*NAMES)
        await env.settles()
        synced = (await env.status())["lastSyncTime"]
        await env.make_ready(NAMES)
        await env.has_status(ready=5)
        await env.make_ready(NAMES[:2], ready=False)
        await env.has_status(ready=3, failed=2)
        assert (await env.status())["lastSyncTime"] == synced


async def test_a_restart_writes_nothing(env: Environment) -> None:
    env.rows(*ROWS)
    await env.hub()
    await env.form()
    async with env.operator():
        await env.has_nodes(*NAMES)
        await env.make_ready(NAMES)
        await env.has_status(ready=5)
        await env.settles()
    before = {
        name: each["metadata"]["resourceVersion"] for name, each in (await env.nodes()).items()
    }
    env.traffic.sent.clear()

    async with env.operator():
        await env.settles()

    after = {
        name: each["metadata"]["resourceVersion"] for name, each in (await env.nodes()).items()
    }
    assert after == before
    assert not [each for each in env.traffic.sent if NODES.plural in each.path]
