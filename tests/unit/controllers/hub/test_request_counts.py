"""API requests of a hub: none while idle, and otherwise only its writes."""

import pytest

from lynq.controllers.timing import Timing
from operated.environment import NODES, Environment
from waiting import stays

ROWS = tuple((f"t{number}", 1, "pro") for number in range(5))
NAMES = [f"{uid}-web" for uid, *_ in ROWS]


@pytest.fixture
def env(env: Environment) -> Environment:
    """The operator's own intervals: shorter ones would need more requests."""
    env.timing = Timing()
    return env


async def test_idle_hub_sends_no_requests(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub(sync_interval="1s")
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES)
        await env.set_nodes_ready(NAMES)
        await env.wait_for_status(ready=5)
        await env.wait_until_idle()
        env.requests.sent.clear()
        await stays(lambda: env.requests.sent == [], seconds=3.5)


async def test_row_needs_one_create_and_status_writes_are_batched(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES)
        await env.set_nodes_ready(NAMES)
        await env.wait_for_status(ready=5)
        await env.wait_until_idle()
        assert env.requests.count("create") == 5
        assert env.requests.count("get") == env.requests.count("replace") == 0
        # The finalizer, and a few status patches of hub and form: not one per node.
        assert env.requests.count("patch") <= 9


async def test_node_status_changes_do_not_trigger_a_read(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES)
        await env.wait_until_idle()
        synced = (await env.status())["lastSyncTime"]
        await env.set_nodes_ready(NAMES)
        await env.wait_for_status(ready=5)
        await env.set_nodes_ready(NAMES[:2], ready=False)
        await env.wait_for_status(ready=3, failed=2)
        assert (await env.status())["lastSyncTime"] == synced


async def test_restart_writes_nothing(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()
    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES)
        await env.set_nodes_ready(NAMES)
        await env.wait_for_status(ready=5)
        await env.wait_until_idle()
    before = {
        name: node["metadata"]["resourceVersion"] for name, node in (await env.nodes()).items()
    }
    env.requests.sent.clear()

    async with env.run_controllers():
        await env.wait_until_idle()

    after = {
        name: node["metadata"]["resourceVersion"] for name, node in (await env.nodes()).items()
    }
    assert after == before
    assert not [request for request in env.requests.sent if NODES.plural in request.path]
