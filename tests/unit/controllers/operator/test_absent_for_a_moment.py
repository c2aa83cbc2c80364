"""Rows and forms that are absent for a moment keep their nodes and all objects."""

import sqlite3
from contextlib import closing

import pytest

from built_in_resources import PERSISTENT_VOLUME_CLAIMS
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import FORMS, NODES, Environment, config_map
from operated.running_operator import running_operator
from waiting import eventually, stays


def execute(env: Environment, statement: str) -> None:
    with closing(sqlite3.connect(env.directory / "rows.db")) as connection, connection:
        connection.execute(statement)


async def create_tenant(env: Environment, changes: str = "Poll") -> None:
    """Create a tenant with a volume claim, and wait for its objects."""
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    source = {"syncInterval": "1s", "changes": changes}
    await env.create_hub(source=source, confirm_after="2s")
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    manifest = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": spec}
    claim = {"id": "claim", "nameTemplate": "{{ .uid }}-data", "spec": manifest}
    await env.create_form(persistentVolumeClaims=[claim], configMaps=[config_map()])
    await eventually(lambda: uids(env))


async def uids(env: Environment) -> set[str]:
    """Return the uids of node, ConfigMap and volume claim of a tenant; empty if one is missing."""
    objects = (
        (NODES, "acme-web"),
        (CONFIG_MAPS, "acme-settings"),
        (PERSISTENT_VOLUME_CLAIMS, "acme-data"),
    )
    try:
        return {(await env.get(resource, name))["metadata"]["uid"] for resource, name in objects}
    except NotFound:
        return set()


async def objects_stay(env: Environment, before: set[str], *, seconds: float) -> None:
    async def unchanged() -> bool:
        assert await uids(env) == before
        return True

    await stays(unchanged, seconds=seconds, every=0.1)


@pytest.mark.parametrize("changes", ["Poll", "Push"])
async def test_row_deleted_and_inserted_keeps_its_volume_claim(
    env: Environment, changes: str
) -> None:
    async with running_operator(env):
        await create_tenant(env, changes)
        before = await uids(env)
        execute(env, "DELETE FROM tenants WHERE uid = 'acme'")
        # At least one read without the row.
        await objects_stay(env, before, seconds=1.3)
        execute(env, "INSERT INTO tenants VALUES ('acme', 1, 'pro')")
        await objects_stay(env, before, seconds=2.5)


async def test_replaced_form_keeps_nodes_and_objects(env: Environment) -> None:
    async with running_operator(env):
        await create_tenant(env)
        before = await uids(env)
        form = await env.get(FORMS, "web")
        await env.client.delete(FORMS, "web", env.namespace)
        await env.wait_for_deletion(FORMS, "web")
        await objects_stay(env, before, seconds=0.5)
        await env.create_form(**form["spec"])
        await objects_stay(env, before, seconds=3)
        await env.wait_for_status(desired=2)
