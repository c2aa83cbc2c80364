"""A database server that stops, or takes the reader's rights away: nothing is deleted."""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import databases
from cluster.controllers.environment import Environment
from cluster.controllers.running_operator import running_operator, wait_for_node_ready
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


async def tenants(env: Environment, server: Server, table: str) -> dict[str, Any]:
    """Have a ready node for each row; return the nodes."""
    data = {"password": base64.b64encode(b"reader-secret").decode()}
    metadata = {"name": "login", "namespace": env.namespace}
    await env.client.create(SECRETS, {"metadata": metadata, "data": data})
    block = {
        "host": server.host,
        "port": server.port,
        "username": "reader",
        "passwordRef": {"name": "login", "key": "password"},
        "database": server.database,
        "table": table,
    }
    await env.create_hub(
        source={"type": "mysql", "sqlite": None, "mysql": block, "syncInterval": "1s"}
    )
    await env.create_form()
    for number in range(15):
        await wait_for_node_ready(env, f"t{number:02}-web", within=60)
    return await env.nodes()


async def unharmed(env: Environment, before: dict[str, Any]) -> str:
    """Wait until the hub says that it cannot read, and see that no node was touched."""
    condition = await env.wait_for_condition("Ready", "False")
    await asyncio.sleep(2)
    assert await env.nodes() == before
    message = str(condition["message"])
    assert "reader-secret" not in message
    return message


async def test_stopped_server_deletes_nothing(env: Environment, server: Server, table: str) -> None:
    async with running_operator(env):
        before = await tenants(env, server, table)
        server.stop()
        try:
            await unharmed(env, before)
        finally:
            server.start()
        await env.wait_for_condition("Ready", "True")
        await in_mariadb(server, f"INSERT INTO {table} VALUES ('new', '1', 'pro')")
        await wait_for_node_ready(env, "new-web")


async def test_revoked_rights_delete_nothing(env: Environment, server: Server, table: str) -> None:
    async with running_operator(env):
        before = await tenants(env, server, table)
        grant = f"SELECT ON {server.database}.{table}"
        await in_mariadb(server, f"REVOKE {grant} FROM {READER}")
        assert "user" in await unharmed(env, before)
        await in_mariadb(server, f"GRANT {grant} TO {READER}")
        await env.wait_for_condition("Ready", "True")


async def test_table_refilled_in_two_steps_deletes_nothing(
    env: Environment, server: Server, table: str
) -> None:
    async with running_operator(env):
        before = await tenants(env, server, table)
        await in_mariadb(server, f"CREATE TABLE kept AS SELECT * FROM {table}")
        await in_mariadb(server, f"DELETE FROM {table}")
        await env.wait_for_condition("DeletionHeld", "True")
        # Half of it is not all of it yet.
        half = f"INSERT INTO {table} SELECT * FROM kept WHERE uid < 't03'"
        await in_mariadb(server, half)
        await asyncio.sleep(2)
        assert await env.nodes() == before
        await in_mariadb(server, f"INSERT INTO {table} SELECT * FROM kept WHERE uid >= 't03'")
        await env.wait_for_condition("DeletionHeld", "False")
        assert await env.nodes() == before
        await in_mariadb(server, "DROP TABLE kept")
