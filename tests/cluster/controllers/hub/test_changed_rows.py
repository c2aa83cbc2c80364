"""Rows that were changed in a way that nothing asked for hold their tenants."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest

import databases
from cluster.controllers.hub.test_databases import create_login, source
from databases import Server
from operated.environment import Environment

Execute = Callable[..., Awaitable[None]]

ROWS = tuple((uid, 1, "pro") for uid in ("acme", "beta", "corp", "dent"))
NODES = tuple(f"{uid}-web" for uid, *_ in ROWS)


@asynccontextmanager
async def running_tenants(env: Environment, confirm_after: str = "1s") -> AsyncIterator[None]:
    """Run the controllers with a node for each row."""
    env.set_rows(*ROWS)
    await env.create_hub(deletionGuard={"confirmAfter": confirm_after})
    await env.create_form()
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        # The first read has no node yet, whose inactive rows it would report.
        await env.force_sync()
        await env.wait_until_idle()
        yield


async def read(env: Environment, *rows: tuple[str | None, object, str]) -> None:
    env.set_rows(*rows)
    await env.force_sync()


async def wait_for_hold(env: Environment, *names: str, reason: str = "UnidentifiableRows") -> str:
    """Wait until exactly these nodes are held; return the digest that approves them."""
    condition = await env.wait_for_condition("DeletionHeld", "True")
    assert condition["reason"] == reason
    held = (await env.status())["heldDeletions"]
    assert held["nodes"] == list(names)
    return str(held["digest"])


async def approve(env: Environment, digest: str) -> None:
    await env.annotate("hub", approve_deletion=digest)


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_tenant_stays_when_its_spoilt_row_is_deleted(
    env: Environment, *, is_restarted: bool
) -> None:
    async with running_tenants(env):
        await read(env, (None, 1, "pro"), *ROWS[1:])
        await wait_for_hold(env, "acme-web")
        if not is_restarted:
            await read(env, *ROWS[1:])
            await env.nodes_stay(*NODES, seconds=3)
            await wait_for_hold(env, "acme-web")
    if is_restarted:
        env.set_rows(*ROWS[1:])
    async with env.run_controllers():
        await env.nodes_stay(*NODES, seconds=3)
        await wait_for_hold(env, "acme-web")
        # Removals of others go on.
        await read(env, *ROWS[2:])
        await env.wait_for_nodes("acme-web", *NODES[2:])
        await read(env, ROWS[0], *ROWS[2:])
        await env.wait_for_condition("DeletionHeld", "False")
        await env.nodes_stay("acme-web", *NODES[2:], seconds=2)


async def test_tenant_whose_spoilt_row_was_deleted_goes_when_it_is_approved(
    env: Environment,
) -> None:
    async with running_tenants(env):
        await read(env, (None, 1, "pro"), *ROWS[1:])
        await wait_for_hold(env, "acme-web")
        await read(env, *ROWS[1:])
        await env.wait_until_idle()
        await approve(env, await wait_for_hold(env, "acme-web"))
        await env.wait_for_nodes(*NODES[1:])
        await env.wait_for_condition("DeletionHeld", "False")
        # An approved deletion does not count against the limits.
        assert "periods" not in (await env.status()).get("deletionGuard", {})


async def test_uid_overwritten_by_that_of_an_equal_row_deletes_no_tenant(env: Environment) -> None:
    async with running_tenants(env):
        await read(env, ROWS[3], ROWS[3], ROWS[3], ROWS[3])
        await wait_for_hold(env, *NODES[:3])
        await env.nodes_stay(*NODES, seconds=3)
        await read(env, *ROWS)
        await env.wait_for_condition("DeletionHeld", "False")


@pytest.mark.parametrize("rows", [(), tuple((uid, 0, "pro") for uid, *_ in ROWS)])
async def test_emptied_table_deletes_no_tenant_until_it_is_approved(
    env: Environment, rows: tuple[tuple[str, int, str], ...]
) -> None:
    async with running_tenants(env):
        await read(env, *rows)
        condition = await env.wait_for_condition("DeletionHeld", "True")
        assert condition["reason"] == "DeletionGuardExceeded"
        assert "no active row was read at all" in condition["message"]
        await env.nodes_stay(*NODES, seconds=3)
        # A partly refilled table keeps the hold.
        await read(env, *ROWS[1:])
        await env.wait_until_idle()
        await wait_for_hold(env, "acme-web", reason="DeletionGuardExceeded")
        await env.nodes_stay(*NODES, seconds=2)
        await read(env, *rows)
        await env.wait_until_idle()
        await approve(env, await wait_for_hold(env, *NODES, reason="DeletionGuardExceeded"))
        await env.wait_for_nodes()


async def test_last_tenant_goes_without_approval(env: Environment) -> None:
    async with running_tenants(env):
        await read(env, ROWS[0])
        await env.wait_for_nodes("acme-web")
        await read(env)
        await env.wait_for_nodes()


@pytest.mark.parametrize("activate", ["1\r", "true ", "Y"])
async def test_tenant_stays_when_its_activate_text_is_spoilt(
    env: Environment, activate: str
) -> None:
    async with running_tenants(env):
        await read(env, ("acme", activate, "gold"), *ROWS[1:])
        await wait_for_hold(env, "acme-web")
        await env.wait_for_event("RowRejected", containing="InvalidActivate")
        assert (await env.status())["rejectedRows"]["count"] == 1
        await env.nodes_stay(*NODES, seconds=2)
        # The row is deleted to be loaded again.
        await read(env, *ROWS[1:])
        await env.nodes_stay(*NODES, seconds=3)
        await wait_for_hold(env, "acme-web")
        await read(env, *ROWS)
        await env.wait_for_condition("DeletionHeld", "False")
        await read(env, ("acme", "0", "pro"), *ROWS[1:])
        await env.wait_for_nodes(*NODES[1:])


async def test_text_that_is_no_word_for_no_needs_a_second_read(env: Environment) -> None:
    async with running_tenants(env, confirm_after="3s"):
        await read(env, ("acme", "archived", "pro"), *ROWS[1:])
        await env.nodes_stay(*NODES, seconds=2)
        await env.wait_for_nodes(*NODES[1:])


@pytest.fixture
async def in_mariadb(mariadb: Server) -> AsyncIterator[Execute]:
    execute = partial(databases.in_mariadb, mariadb)
    await execute(
        "CREATE TABLE hub_rows (uid VARCHAR(63), active VARCHAR(8), plan VARCHAR(63))",
        *(f"INSERT INTO hub_rows VALUES ('{uid}', '1', '{plan}')" for uid, _, plan in ROWS),
    )
    yield execute
    await execute("DROP TABLE hub_rows")


@pytest.mark.parametrize("changes", ["Poll", "Push"])
async def test_rows_of_mariadb_that_are_spoilt_delete_no_tenant(
    env: Environment, mariadb: Server, in_mariadb: Execute, changes: str
) -> None:
    await create_login(env, mariadb.password)
    database = source("mysql", mariadb, changes=changes, syncInterval="1s")
    await env.create_hub(source=database, deletionGuard={"confirmAfter": "1s"})
    await env.create_form()
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        await env.wait_until_idle()
        await in_mariadb(
            "UPDATE hub_rows SET active = CONCAT('1', CHAR(13)) WHERE uid = 'acme'",
            "UPDATE hub_rows SET uid = 'dent' WHERE uid = 'beta'",
            "UPDATE hub_rows SET uid = UPPER(uid) WHERE uid = 'corp'",
        )
        await env.wait_until_idle()
        await wait_for_hold(env, *NODES[:3])
        await in_mariadb("DELETE FROM hub_rows")
        await env.nodes_stay(*NODES, seconds=4)
        await in_mariadb("INSERT INTO hub_rows VALUES ('dent', '1', 'pro')")
        await env.wait_until_idle()
        await env.nodes_stay(*NODES, seconds=2)
        await in_mariadb(
            *(f"INSERT INTO hub_rows VALUES ('{uid}', '1', 'pro')" for uid, *_ in ROWS[:3])
        )
        await env.wait_for_condition("DeletionHeld", "False")
        await env.nodes_stay(*NODES, seconds=2)
