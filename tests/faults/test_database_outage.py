"""A stopped database server or revoked rights delete nothing."""

import base64
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest

import databases
from databases import Server, in_mariadb
from lynq.kube.resource import SECRETS
from operated.environment import Environment
from operated.running_operator import running_operator, wait_for_node_ready
from waiting import stays

READER = "'reader'@'%'"
TABLE = "fault_rows"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    # The option makes it a separate server, because the test stops it.
    with databases.mariadb("--skip-name-resolve") as ours:
        yield ours


@pytest.fixture
async def table(server: Server) -> AsyncIterator[str]:
    """A table with fifteen rows and an account that may read it."""
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


async def create_tenants(env: Environment, server: Server, table: str) -> dict[str, Any]:
    """Create a ready node for each row; return the nodes."""
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


async def nodes_are(env: Environment, expected: dict[str, Any]) -> bool:
    return await env.nodes() == expected


async def nodes_survive_read_failure(env: Environment, before: dict[str, Any]) -> str:
    """Wait for a failed read, check that no node changes, and return the condition message."""
    condition = await env.wait_for_condition("Ready", "False")
    await stays(partial(nodes_are, env, before), seconds=2, every=0.1)
    message = str(condition["message"])
    assert "reader-secret" not in message
    return message


async def test_stopped_server_deletes_nothing(env: Environment, server: Server, table: str) -> None:
    async with running_operator(env):
        before = await create_tenants(env, server, table)
        server.stop()
        try:
            await nodes_survive_read_failure(env, before)
        finally:
            server.start()
        await env.wait_for_condition("Ready", "True")
        await in_mariadb(server, f"INSERT INTO {table} VALUES ('new', '1', 'pro')")
        await wait_for_node_ready(env, "new-web")


async def test_revoked_rights_delete_nothing(env: Environment, server: Server, table: str) -> None:
    async with running_operator(env):
        before = await create_tenants(env, server, table)
        grant = f"SELECT ON {server.database}.{table}"
        await in_mariadb(server, f"REVOKE {grant} FROM {READER}")
        assert "user" in await nodes_survive_read_failure(env, before)
        await in_mariadb(server, f"GRANT {grant} TO {READER}")
        await env.wait_for_condition("Ready", "True")


async def test_table_refilled_in_two_steps_deletes_nothing(
    env: Environment, server: Server, table: str
) -> None:
    async with running_operator(env):
        before = await create_tenants(env, server, table)
        await in_mariadb(server, f"CREATE TABLE kept AS SELECT * FROM {table}")
        await in_mariadb(server, f"DELETE FROM {table}")
        await env.wait_for_condition("DeletionHeld", "True")
        # A partly refilled table keeps the hold.
        half = f"INSERT INTO {table} SELECT * FROM kept WHERE uid < 't03'"
        await in_mariadb(server, half)
        await stays(partial(nodes_are, env, before), seconds=2, every=0.1)
        await in_mariadb(server, f"INSERT INTO {table} SELECT * FROM kept WHERE uid >= 't03'")
        await env.wait_for_condition("DeletionHeld", "False")
        assert await env.nodes() == before
        await in_mariadb(server, "DROP TABLE kept")
