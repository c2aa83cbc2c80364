"""Hubs on MariaDB and PostgreSQL: push channels and changing passwords."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import asyncpg
import pytest

import databases
from databases import Server
from lynq.kube.resource import SECRETS
from lynq.sources.postgresql.trigger import trigger_sql
from lynq.sources.query import Table
from operated.environment import HUBS, Environment
from waiting import eventually, stays

Execute = Callable[..., Awaitable[None]]
CREATE = "CREATE TABLE hub_rows (uid VARCHAR(63), active VARCHAR(5), plan VARCHAR(63))"


@pytest.fixture
async def in_mariadb(mariadb: Server) -> AsyncIterator[Execute]:
    execute = partial(databases.in_mariadb, mariadb)
    await execute(CREATE, "INSERT INTO hub_rows VALUES ('acme', '1', 'pro')")
    yield execute
    await execute("DROP TABLE hub_rows")


@pytest.fixture
async def in_postgresql(postgresql: Server) -> AsyncIterator[Execute]:
    execute = partial(databases.in_postgresql, postgresql)
    await execute(
        CREATE,
        "INSERT INTO hub_rows VALUES ('acme', 'true', 'pro')",
        trigger_sql(Table.named("hub_rows")),
    )
    yield execute
    await execute("DROP TABLE hub_rows", "DROP FUNCTION lynq_notify")


@pytest.fixture
def servers(
    mariadb: Server, in_mariadb: Execute, postgresql: Server, in_postgresql: Execute
) -> dict[str, Server]:
    """Both database servers with one row each."""
    del in_mariadb, in_postgresql
    return {"mysql": mariadb, "postgresql": postgresql}


ON_BOTH = pytest.mark.parametrize("engine", ["mysql", "postgresql"])


def encoded(password: str) -> dict[str, str]:
    return {"password": base64.b64encode(password.encode()).decode()}


async def create_login(env: Environment, password: str) -> None:
    metadata = {"name": "login", "namespace": env.namespace}
    await env.client.create(SECRETS, {"metadata": metadata, "data": encoded(password)})


def secret_verbs(env: Environment) -> list[str]:
    """Return the verbs of all requests for Secrets."""
    return [request.verb for request in env.requests.sent if "/secrets" in request.path]


def source(engine: str, server: Server, **parts: Any) -> dict[str, Any]:
    block = {
        "host": server.host,
        "port": server.port,
        "username": server.user,
        "passwordRef": {"name": "login", "key": "password"},
        "database": server.database,
        "table": "hub_rows",
    }
    return {"type": engine, "sqlite": None, engine: block | parts.pop("block", {})} | parts


async def test_mariadb_pushes_new_row(
    env: Environment, mariadb: Server, in_mariadb: Execute
) -> None:
    await create_login(env, mariadb.password)
    await env.create_hub(source=source("mysql", mariadb, changes="Push"))
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.wait_for_condition("PushConnected", "True")
        await in_mariadb("INSERT INTO hub_rows VALUES ('beta', '1', 'free')")
        # The sync interval is an hour.
        await env.wait_for_nodes("acme-web", "beta-web")


async def test_postgresql_pushes_new_row(
    env: Environment, postgresql: Server, in_postgresql: Execute
) -> None:
    await create_login(env, postgresql.password)
    await env.create_hub(source=source("postgresql", postgresql, changes="Push"))
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.wait_for_condition("PushConnected", "True")
        await in_postgresql("INSERT INTO hub_rows VALUES ('beta', 'yes', 'free')")
        await env.wait_for_nodes("acme-web", "beta-web")
        await in_postgresql("DELETE FROM hub_rows WHERE uid = 'acme'")
        await env.wait_for_nodes("beta-web")


async def test_sqlite_pushes_and_paused_hub_does_not_listen(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub(source={"changes": "Push"})
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.wait_for_condition("PushConnected", "True")
        env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
        await env.wait_for_nodes("acme-web", "beta-web")
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
        await env.wait_for_condition("Paused", "True")
        env.set_rows(("acme", 1, "pro"))
        await env.wait_until_idle()
        assert await env.node_names() == ["acme-web", "beta-web"]


async def test_table_without_trigger_is_polled_and_reported(
    env: Environment, postgresql: Server, in_postgresql: Execute
) -> None:
    await in_postgresql("CREATE TABLE silent AS SELECT * FROM hub_rows")
    await create_login(env, postgresql.password)
    silent = source(
        "postgresql", postgresql, changes="Push", block={"table": "silent"}, syncInterval="1s"
    )
    await env.create_hub(source=silent)
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        lost = await env.wait_for_condition("PushConnected", "False")
        assert lost["reason"] == "ChannelLost"
        await in_postgresql("INSERT INTO silent VALUES ('beta', 'yes', 'free')")
        await env.wait_for_nodes("acme-web", "beta-web")
    await in_postgresql("DROP TABLE silent")


async def test_changed_password_is_used_without_failed_read(
    env: Environment, postgresql: Server, in_postgresql: Execute
) -> None:
    await in_postgresql("CREATE USER reader PASSWORD 'first'", "GRANT SELECT ON hub_rows TO reader")
    await create_login(env, "first")
    spec = source("postgresql", postgresql, block={"username": "reader"}, syncInterval="1s")
    await env.create_hub(source=spec)
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        changed_at = datetime.now(UTC).isoformat()
        # A session that reads is in a transaction; it must not fail.
        idle = "usename = 'reader' AND state = 'idle'"
        await in_postgresql("ALTER USER reader PASSWORD 'second'")
        await env.patch(SECRETS, "login", {"data": encoded("second")})

        async def has_connected_again() -> bool:
            condition = f"{idle} AND backend_start > '{changed_at}'"
            found = f"EXISTS (SELECT FROM pg_stat_activity WHERE {condition})"
            try:
                await in_postgresql(f"DO $$ BEGIN ASSERT {found}; END $$")
            except asyncpg.AssertError:
                return False
            return True

        await eventually(has_connected_again)
        await in_postgresql(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {idle}",
            "INSERT INTO hub_rows VALUES ('beta', 'yes', 'free')",
        )
        await env.wait_for_nodes("acme-web", "beta-web")
        assert await env.events("DatabaseQueryFailed") == []
    await in_postgresql("DROP OWNED BY reader", "DROP USER reader")


async def test_wrong_password_is_reported_masked_and_recovers_after_correction(
    env: Environment, mariadb: Server, in_mariadb: Execute
) -> None:
    del in_mariadb
    await create_login(env, "not-the-passw0rd")
    await env.create_hub(source=source("mysql", mariadb))
    await env.create_form()

    async with env.run_controllers():
        failed = await env.wait_for_condition("Ready", "False")
        assert "passw0rd" not in failed["message"]
        await env.patch(SECRETS, "login", {"data": encoded(mariadb.password)})
        # Retries back off from one second; the hub needs no change.
        await env.wait_for_nodes("acme-web", within=20)
        await env.wait_for_condition("Ready", "True")


@pytest.mark.timing
async def test_idle_hub_with_password_sends_no_requests(
    env: Environment, postgresql: Server, in_postgresql: Execute
) -> None:
    await create_login(env, postgresql.password)
    await env.create_hub(source=source("postgresql", postgresql, syncInterval="1s"))
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.wait_until_idle()
        assert set(secret_verbs(env)) <= {"get"}
        env.requests.sent.clear()
        await stays(lambda: env.requests.sent == [], seconds=3.5)
        await in_postgresql("INSERT INTO hub_rows VALUES ('beta', 'yes', 'free')")
        await env.wait_for_nodes("acme-web", "beta-web")
        assert secret_verbs(env) == []


async def test_corrected_password_is_used_at_once(
    env: Environment, mariadb: Server, in_mariadb: Execute
) -> None:
    del in_mariadb
    await create_login(env, mariadb.password)
    await env.create_hub(source=source("mysql", mariadb))
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        # The sync interval is an hour: the change of the Secret starts the read.
        await env.patch(SECRETS, "login", {"data": encoded("not-the-passw0rd")})
        await env.wait_for_condition("Ready", "False")
        await env.patch(SECRETS, "login", {"data": encoded(mariadb.password)})
        await env.wait_for_condition("Ready", "True")


async def test_deleted_secret_fails_next_sync_and_changes_nothing(
    env: Environment, postgresql: Server, in_postgresql: Execute
) -> None:
    await create_login(env, postgresql.password)
    await env.create_hub(source=source("postgresql", postgresql, changes="Push"))
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.wait_for_condition("PushConnected", "True")
        await env.client.delete(SECRETS, "login", env.namespace)
        await env.wait_for_condition("Ready", "False")
        await in_postgresql("DELETE FROM hub_rows")
        await env.force_sync()

        failed = await env.wait_for_condition("Ready", "False")
        assert failed["reason"] == "DatabaseConnectionFailed"
        await env.wait_for_event("DatabaseQueryFailed", containing='Secret "login" not found')
        await env.wait_for_condition("PushConnected", "False")
        await env.wait_until_idle()
        assert await env.node_names() == ["acme-web"]

        await create_login(env, postgresql.password)
        # Retries back off from one second; the hub needs no change.
        await env.wait_for_nodes(within=20)
        await env.wait_for_condition("Ready", "True")
        await env.wait_for_condition("PushConnected", "True")


@ON_BOTH
async def test_wrong_password_fails_next_sync(
    env: Environment, engine: str, servers: dict[str, Server]
) -> None:
    await create_login(env, servers[engine].password)
    await env.create_hub(source=source(engine, servers[engine]))
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        # Pooled connections would stay valid for five minutes.
        await env.patch(SECRETS, "login", {"data": encoded("not-the-passw0rd")})
        await env.force_sync()
        failed = await env.wait_for_condition("Ready", "False")
        assert "passw0rd" not in failed["message"]
        await env.wait_for_event("DatabaseQueryFailed")
        assert await env.node_names() == ["acme-web"]


@ON_BOTH
async def test_missing_secret_key_is_an_empty_password_and_named(
    env: Environment, engine: str, servers: dict[str, Server]
) -> None:
    await create_login(env, servers[engine].password)
    await env.create_hub(source=source(engine, servers[engine]))

    async with env.run_controllers():
        await env.wait_for_condition("Ready", "True")
        await env.patch(SECRETS, "login", {"data": {"password": None}})
        await env.force_sync()
        failed = await env.wait_for_condition("Ready", "False")
        assert 'Secret "login" has no key "password"' in failed["message"]


async def test_user_without_password_needs_no_secret_key(
    env: Environment, mariadb: Server, in_mariadb: Execute
) -> None:
    await in_mariadb("CREATE USER keyless", "GRANT SELECT ON hub_rows TO keyless")
    await create_login(env, "unused")
    reference = {"name": "login", "key": "absent"}
    block = {"username": "keyless", "passwordRef": reference}
    await env.create_hub(source=source("mysql", mariadb, block=block))
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
    await in_mariadb("DROP USER keyless")


async def test_push_channel_reconnects_with_changed_password(
    env: Environment, postgresql: Server, in_postgresql: Execute
) -> None:
    await in_postgresql(
        "CREATE USER listener PASSWORD 'first'", "GRANT SELECT ON hub_rows TO listener"
    )
    await create_login(env, "first")
    await env.create_hub(
        source=source("postgresql", postgresql, block={"username": "listener"}, changes="Push")
    )
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.wait_for_condition("PushConnected", "True")
        await in_postgresql("ALTER USER listener PASSWORD 'second'")
        await env.patch(SECRETS, "login", {"data": encoded("second")})
        # All connections of the old password are terminated; the sync interval is an hour.
        await in_postgresql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'listener'"
        )
        await in_postgresql("INSERT INTO hub_rows VALUES ('beta', 'yes', 'free')")
        await env.wait_for_nodes("acme-web", "beta-web", within=20)
        await env.wait_for_condition("PushConnected", "True")
        await in_postgresql("INSERT INTO hub_rows VALUES ('corp', 'yes', 'free')")
        await env.wait_for_nodes("acme-web", "beta-web", "corp-web")
    await in_postgresql("DROP OWNED BY listener", "DROP USER listener")
