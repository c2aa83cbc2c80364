"""Hubs on MariaDB and PostgreSQL: push, and passwords that change."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import pytest

import databases
from cluster.controllers.stage import HUBS, Stage
from databases import Server
from lynq.kube.resource import SECRETS
from lynq.sources.push.trigger import trigger_sql
from lynq.sources.query import Table

Execute = Callable[..., Awaitable[None]]
CREATE = "CREATE TABLE hub_rows (uid VARCHAR(63), active VARCHAR(5), plan VARCHAR(63))"


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Server]:
    with databases.mariadb("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1") as server:
        yield server


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Server]:
    with databases.postgresql() as server:
        yield server


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


async def secret(stage: Stage, password: str) -> None:
    data = {"password": base64.b64encode(password.encode()).decode()}
    metadata = {"name": "login", "namespace": stage.namespace}
    await stage.client.create(SECRETS, {"metadata": metadata, "data": data})


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


async def test_mariadb_pushes_a_new_row(stage: Stage, mariadb: Server, in_mariadb: Execute) -> None:
    await secret(stage, mariadb.password)
    await stage.hub(source=source("mysql", mariadb, changes="Push"))
    await stage.form()

    async with stage.operator():
        await stage.has_nodes("acme-web")
        await stage.has_condition("PushConnected", "True")
        await in_mariadb("INSERT INTO hub_rows VALUES ('beta', '1', 'free')")
        # The interval is an hour.
        await stage.has_nodes("acme-web", "beta-web")


async def test_postgresql_pushes_a_new_row(
    stage: Stage, postgresql: Server, in_postgresql: Execute
) -> None:
    await secret(stage, postgresql.password)
    await stage.hub(source=source("postgresql", postgresql, changes="Push"))
    await stage.form()

    async with stage.operator():
        await stage.has_nodes("acme-web")
        await stage.has_condition("PushConnected", "True")
        await in_postgresql("INSERT INTO hub_rows VALUES ('beta', 'yes', 'free')")
        await stage.has_nodes("acme-web", "beta-web")
        await in_postgresql("DELETE FROM hub_rows WHERE uid = 'acme'")
        await stage.has_nodes("beta-web")
        await stage.settles()
        # The Secret is read when the source is opened, not with every read.
        asked = [request.path for request in stage.traffic.sent if request.verb == "get"]
        assert sum("/secrets/" in path for path in asked) == 1


async def test_sqlite_pushes_and_a_paused_hub_does_not_listen(stage: Stage) -> None:
    stage.rows(("acme", 1, "pro"))
    await stage.hub(source={"changes": "Push"})
    await stage.form()

    async with stage.operator():
        await stage.has_nodes("acme-web")
        await stage.has_condition("PushConnected", "True")
        stage.rows(("acme", 1, "pro"), ("beta", 1, "pro"))
        await stage.has_nodes("acme-web", "beta-web")
        await stage.change(HUBS, "hub", {"spec": {"paused": True}})
        await stage.has_condition("Paused", "True")
        stage.rows(("acme", 1, "pro"))
        await stage.settles()
        assert await stage.names() == ["acme-web", "beta-web"]


async def test_a_table_without_trigger_is_polled_and_says_so(
    stage: Stage, postgresql: Server, in_postgresql: Execute
) -> None:
    await in_postgresql("CREATE TABLE quiet AS SELECT * FROM hub_rows")
    await secret(stage, postgresql.password)
    quiet = source(
        "postgresql", postgresql, changes="Push", block={"table": "quiet"}, syncInterval="1s"
    )
    await stage.hub(source=quiet)
    await stage.form()

    async with stage.operator():
        await stage.has_nodes("acme-web")
        lost = await stage.has_condition("PushConnected", "False")
        assert lost["reason"] == "ChannelLost"
        await in_postgresql("INSERT INTO quiet VALUES ('beta', 'yes', 'free')")
        await stage.has_nodes("acme-web", "beta-web")
    await in_postgresql("DROP TABLE quiet")


async def test_a_changed_password_is_picked_up_without_a_failed_read(
    stage: Stage, postgresql: Server, in_postgresql: Execute
) -> None:
    await in_postgresql("CREATE USER reader PASSWORD 'first'", "GRANT SELECT ON hub_rows TO reader")
    await secret(stage, "first")
    spec = source("postgresql", postgresql, block={"username": "reader"}, syncInterval="1s")
    await stage.hub(source=spec)
    await stage.form()

    async with stage.operator():
        await stage.has_nodes("acme-web")
        await in_postgresql("ALTER USER reader PASSWORD 'second'")
        changed = {"data": {"password": base64.b64encode(b"second").decode()}}
        await stage.change(SECRETS, "login", changed)
        await in_postgresql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'",
            "INSERT INTO hub_rows VALUES ('beta', 'yes', 'free')",
        )
        await stage.has_nodes("acme-web", "beta-web")
        assert await stage.events("DatabaseQueryFailed") == []
    await in_postgresql("DROP OWNED BY reader", "DROP USER reader")


async def test_a_wrong_password_is_told_without_it_and_corrected_in_the_secret(
    stage: Stage, mariadb: Server, in_mariadb: Execute
) -> None:
    del in_mariadb
    await secret(stage, "not-the-passw0rd")
    await stage.hub(source=source("mysql", mariadb))
    await stage.form()

    async with stage.operator():
        failed = await stage.has_condition("Ready", "False")
        assert "passw0rd" not in failed["message"]
        changed = {"data": {"password": base64.b64encode(mariadb.password.encode()).decode()}}
        await stage.change(SECRETS, "login", changed)
        # Retries grow from one second; nobody has to touch the hub.
        await stage.has_nodes("acme-web", within=20)
        await stage.has_condition("Ready", "True")
