"""The deletion guard remembers: a hold is sticky, deletions add up, an approval is valid once."""

import asyncio
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import Any

from lynq.kube.resource import CONFIG_MAPS
from operated.environment import HUBS, QUICK, Environment, Object
from operated.running_operator import running_operator
from waiting import eventually, stays

Rows = tuple[tuple[str, int, str], ...]
APPROVAL = "lynq.sh/approve-deletion"


def rows(count: int) -> Rows:
    return tuple((f"t{number:03}", 1, "pro") for number in range(count))


def names(tenants: Rows) -> tuple[str, ...]:
    return tuple(f"{uid}-web" for uid, *_ in tenants)


async def create_hub(env: Environment, tenants: Rows, **guard: Any) -> None:
    env.set_rows(*tenants)
    limits = {"confirmAfter": "0s"} | guard
    await env.create_hub(source={"syncInterval": "1s", "changes": "Push"}, deletionGuard=limits)
    await env.create_form()
    await env.wait_for_nodes(*names(tenants), within=30)


async def digest_of_hold(env: Environment, count: int) -> str:
    """Wait until this many deletions are held; return the digest that approves them."""

    async def held() -> str:
        condition = await env.condition("DeletionHeld")
        match = re.search(rf"\b{count} nodes, ([0-9a-f]{{16}})$", condition.get("message", ""))
        return match[1] if match and condition["status"] == "True" else ""

    return await eventually(held, every=0.05)


async def tenants_of(env: Environment) -> dict[str, Object]:
    """Return all nodes and managed ConfigMaps, by name."""
    settings = await env.client.list(CONFIG_MAPS, env.namespace, labels="lynq.sh/managed=true")
    objects = await env.nodes() | {obj["metadata"]["name"]: obj for obj in settings.items}
    return {name: obj["metadata"]["uid"] for name, obj in objects.items()}


async def test_rows_that_return_after_a_restart_delete_no_other_tenant(env: Environment) -> None:
    tenants = rows(15)
    async with running_operator(env):
        await create_hub(env, tenants)
        await env.wait_for_status(ready=15)
        before = await tenants_of(env)
        assert len(before) == 30
        env.set_rows()
        await digest_of_hold(env, 15)
    async with running_operator(env):
        env.set_rows(*tenants[:5])
        await digest_of_hold(env, 10)

        async def unchanged() -> bool:
            return await tenants_of(env) == before

        await stays(unchanged, seconds=2.5, every=0.1)
        env.set_rows(*tenants)
        await env.wait_for_condition("DeletionHeld", "False")
        assert await unchanged()


async def remaining(env: Environment) -> list[str]:
    """Return the names of the nodes that are not being deleted."""
    nodes = await env.nodes()
    return [name for name, node in nodes.items() if "deletionTimestamp" not in node["metadata"]]


async def delete_one_by_one(env: Environment, tenants: Rows) -> None:
    """Delete the rows in single transactions until deletions are held."""
    for uid, *_ in tenants:
        with closing(sqlite3.connect(env.directory / "rows.db")) as connection, connection:
            connection.execute("DELETE FROM tenants WHERE uid = ?", (uid,))
        await asyncio.sleep(0.01)
        if (await env.condition("DeletionHeld")).get("status") == "True":
            return


async def test_rows_that_vanish_one_by_one_are_held_at_the_limit(env: Environment) -> None:
    tenants = rows(100)
    env.timing = replace(QUICK, min_read_interval=timedelta(milliseconds=20))
    async with env.run_controllers():
        await create_hub(env, tenants)
        await delete_one_by_one(env, tenants)
        await env.wait_for_condition("DeletionHeld", "True")
        left = await remaining(env)
        assert len(left) >= 70
        # Nodes that were deleted before the hold may still have their finalizer.
        await env.wait_for_nodes(*left)
        env.set_rows()
        await env.nodes_stay(*left, seconds=1.5)
    async with env.run_controllers():
        await digest_of_hold(env, len(left))
        await env.nodes_stay(*left, seconds=1.5)


async def test_deletions_before_a_restart_count(env: Environment) -> None:
    tenants = rows(20)
    async with env.run_controllers():
        await create_hub(env, tenants)
        env.set_rows(*tenants[:12])
        await env.wait_for_nodes(*names(tenants[:12]))
    async with env.run_controllers():
        env.set_rows(*tenants[:9])
        # 8 and 3 of 20 are more than 10, and more than 30 %.
        condition = await env.wait_for_condition("DeletionHeld", "True")
        assert "8 more were deleted within 10m" in condition["message"]
        await env.nodes_stay(*names(tenants[:12]), seconds=1.5)


async def test_deletions_start_at_zero_when_the_window_has_passed(env: Environment) -> None:
    tenants = rows(12)
    async with env.run_controllers():
        await create_hub(env, tenants, maxCount=4, window="1s")
        env.set_rows(*tenants[:8])
        await env.wait_for_nodes(*names(tenants[:8]))
        await asyncio.sleep(4)
        env.set_rows(*tenants[:4])
        await env.wait_for_nodes(*names(tenants[:4]))
        assert (await env.condition("DeletionHeld"))["status"] == "False"


async def test_spent_approval_that_is_set_again_releases_nothing(env: Environment) -> None:
    tenants = rows(12)
    async with env.run_controllers():
        await create_hub(env, tenants)
        env.set_rows()
        digest = await digest_of_hold(env, 12)
        await env.annotate("hub", approve_deletion=digest)
        await env.wait_for_nodes()

        async def approval_removed() -> bool:
            annotations = (await env.get(HUBS, "hub"))["metadata"].get("annotations", {})
            return APPROVAL not in annotations

        await eventually(approval_removed)
    # Git restores the approval, and the same tenants come back and vanish again.
    await env.annotate("hub", approve_deletion=digest)
    async with env.run_controllers():
        env.set_rows(*tenants)
        await env.wait_for_nodes(*names(tenants))
        env.set_rows()
        another = await digest_of_hold(env, 12)
        assert another != digest
        await env.nodes_stay(*names(tenants), seconds=1.5)
        await env.annotate("hub", approve_deletion=another)
        await env.wait_for_nodes()
