"""A database server that stops, or takes the reader's rights away: nothing is deleted."""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import databases
from cluster.controllers.operating import node_is_ready, operating
from cluster.controllers.stage import Stage
from databases import Server, in_mariadb
from lynq.kube.resource import SECRETS

READER = "'reader'@'%'"
TABLE = "fault_rows"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    # With an option of its own: this one is stopped.
    with databases.mariadb("--skip-name-resolve") as ours:
        yield ours


@pytest.fixture
async def table(server: Server) -> AsyncIterator[str]:
    """Fifteen rows, and an account that may read them."""
    rows = ", ".join(f"('t{number:02}', '1', 'pro')" for number in range(15))
    await in_mariadb(
        server,
        f"CREATE TABLE {TABLE} (uid VARCHAR(63), active VARCHAR(5), plan VARCHAR(63))",
        f"INSERT INTO {TABLE} VALUES {rows}",
        f"CREATE USER {READER} IDENTIFIED BY 'reader-secret'",
        f"GRANT SELECT ON {server.database}.{TABLE} TO {READER}",
    )
    yield TABLE
    await in_mariadb(server, f"DROP TABLE {TABLE}", f"DROP USER {READER}")


async def tenants(stage: Stage, server: Server, table: str) -> dict[str, Any]:
    """Have a ready node for each row; return the nodes."""
    data = {"password": base64.b64encode(b"reader-secret").decode()}
    metadata = {"name": "login", "namespace": stage.namespace}
    await stage.client.create(SECRETS, {"metadata": metadata, "data": data})
    block = {
        "host": server.host,
        "port": server.port,
        "username": "reader",
        "passwordRef": {"name": "login", "key": "password"},
        "database": server.database,
        "table": table,
    }
    await stage.hub(source={"type": "mysql", "sqlite": None, "mysql": block, "syncInterval": "1s"})
    await stage.form()
    for number in range(15):
        await node_is_ready(stage, f"t{number:02}-web", within=60)
    return await stage.nodes()


async def unharmed(stage: Stage, before: dict[str, Any]) -> str:
    """Wait until the hub says that it cannot read, and see that no node was touched."""
    condition = await stage.has_condition("Ready", "False")
    await asyncio.sleep(2)
    assert await stage.nodes() == before
    message = str(condition["message"])
    assert "reader-secret" not in message
    return message


async def test_a_server_that_stops_takes_nothing_along(
    stage: Stage, server: Server, table: str
) -> None:
    async with operating(stage):
        before = await tenants(stage, server, table)
        server.stop()
        try:
            await unharmed(stage, before)
        finally:
            server.start()
        await stage.has_condition("Ready", "True")
        await in_mariadb(server, f"INSERT INTO {table} VALUES ('new', '1', 'pro')")
        await node_is_ready(stage, "new-web")


async def test_rights_that_are_taken_away_take_nothing_along(
    stage: Stage, server: Server, table: str
) -> None:
    async with operating(stage):
        before = await tenants(stage, server, table)
        grant = f"SELECT ON {server.database}.{table}"
        await in_mariadb(server, f"REVOKE {grant} FROM {READER}")
        assert "user" in await unharmed(stage, before)
        await in_mariadb(server, f"GRANT {grant} TO {READER}")
        await stage.has_condition("Ready", "True")


async def test_a_table_emptied_and_filled_in_two_steps_takes_nothing_along(
    stage: Stage, server: Server, table: str
) -> None:
    async with operating(stage):
        before = await tenants(stage, server, table)
        await in_mariadb(server, f"CREATE TABLE kept AS SELECT * FROM {table}")
        await in_mariadb(server, f"DELETE FROM {table}")
        await stage.has_condition("DeletionHeld", "True")
        # Half of it is not all of it yet.
        half = f"INSERT INTO {table} SELECT * FROM kept WHERE uid < 't03'"
        await in_mariadb(server, half)
        await asyncio.sleep(2)
        assert await stage.nodes() == before
        await in_mariadb(server, f"INSERT INTO {table} SELECT * FROM kept WHERE uid >= 't03'")
        await stage.has_condition("DeletionHeld", "False")
        assert await stage.nodes() == before
        await in_mariadb(server, "DROP TABLE kept")
