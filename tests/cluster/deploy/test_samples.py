"""The samples work unchanged except for address and password of the database."""

from collections.abc import Iterator
from contextlib import ExitStack

import asyncmy
import asyncpg
import pytest

import databases
from cluster.deploy.installation import Starter
from cluster.deploy.tenants import Tenancy
from databases import Server
from deploy.manifests import Object, loaded
from lynq.kube.resource import SECRETS

CREATE = "CREATE TABLE tenants (id VARCHAR(63), active VARCHAR(5), plan VARCHAR(63))"


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    with ExitStack() as stack:
        yield {
            "mysql": stack.enter_context(databases.mariadb()),
            "postgresql": stack.enter_context(databases.postgresql()),
        }


async def execute(engine: str, server: Server, *statements: str) -> None:
    login = {
        "host": server.host,
        "port": server.port,
        "user": server.user,
        "password": server.password,
        "database": server.database,
    }
    if engine == "mysql":
        connection = await asyncmy.connect(**login, autocommit=True)
        async with connection, connection.cursor() as cursor:
            for statement in statements:
                await cursor.execute(statement)
        return
    connection = await asyncpg.connect(**login)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def with_server(objects: list[Object], engine: str, server: Server) -> list[Object]:
    """Set address and credentials of the database."""
    secret, hub = objects
    secret["stringData"]["password"] = server.password
    hub["spec"]["source"][engine].update(
        host=server.host, port=server.port, username=server.user, database=server.database
    )
    return objects


@pytest.mark.parametrize("engine", ["mysql", "postgresql"])
async def test_row_of_database_server_becomes_tenant_with_every_policy(
    default: list[Object],
    starter: Starter,
    tenancy: Tenancy,
    servers: dict[str, Server],
    engine: str,
) -> None:
    server = servers[engine]
    row = f"INSERT INTO tenants VALUES ('{tenancy.uid}', '1', 'basic')"
    await execute(engine, server, "DROP TABLE IF EXISTS tenants", CREATE, row)
    with starter.running(default):
        for obj in with_server(loaded(f"samples/hub-{engine}.yaml"), engine, server):
            await tenancy.apply(obj)
        await tenancy.apply_sample("form-policies")
        await tenancy.wait_for_ready("policies")
        await execute(engine, server, "UPDATE tenants SET active = '0'")
        await tenancy.force_sync()
        await tenancy.wait_for_deletion("policies")
    # Its deletionPolicy is Retain.
    name = f"{tenancy.uid}-password"
    kept = await tenancy.installer.client.get(SECRETS, name, tenancy.namespace)
    assert kept["metadata"]["labels"]["lynq.sh/orphaned"] == "true"
