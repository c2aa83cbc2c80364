"""A Namespace of a node is deleted only when nothing in it has to stay."""

from typing import Any

from lynq.kube.resource import CONFIG_MAPS, NAMESPACES
from memory.api_server import MemoryApiServer
from operated.builders import (
    NODE,
    create_node,
    delete_node,
    entry,
    labels,
    manifest_entry,
    update_node,
    wait_for_event,
)
from operated.environment import NODES, Environment, Object
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from unit.controllers.node.test_target_namespace import wait_for_deletion_in
from waiting import eventually, stays

SPACE = "tenant-acme"
RETAIN = {"deletionPolicy": "Retain"}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace"}


def inside(resource_id: str, **parts: Any) -> Object:
    """Return an entry for a ConfigMap in the Namespace, without a dependency on it."""
    return entry(resource_id, targetNamespace=SPACE, **parts)


def space(name: str = SPACE, **parts: Any) -> Object:
    return manifest_entry("space", NAMESPACE, nameTemplate=name, **parts)


async def uid_of(env: Environment, name: str) -> str:
    obj = await env.client.get(CONFIG_MAPS, name, SPACE)
    return str(obj["metadata"]["uid"])


async def is_orphan(env: Environment) -> bool:
    return labels(await env.client.get(NAMESPACES, SPACE)).get("lynq.sh/orphaned") == "true"


async def test_namespace_with_a_retained_object_is_retained(env: Environment) -> None:
    async with running_operator(env, namespaces=()):
        kept = inside("kept", dependIds=["space"], **RETAIN)
        await create_node(env, kept, inside("gone"), namespaces=[space()])
        await wait_for_node_ready(env, NODE)
        uid = await uid_of(env, "kept")
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE, within=120)
        await wait_for_deletion_in(env, CONFIG_MAPS, "gone", SPACE)

        async def survives() -> bool:
            return await uid_of(env, "kept") == uid

        await stays(survives, seconds=30)
        assert await is_orphan(env)
        message = await wait_for_event(env, "ResourceRetained", about=NODE)
        assert "ConfigMap tenant-acme/kept" in message


async def test_namespace_keeps_an_object_that_was_retained_long_ago(env: Environment) -> None:
    """The object is in no inventory, and its kind need not be watched."""
    async with running_operator(env, namespaces=()):
        await create_node(env, inside("kept", **RETAIN), namespaces=[space()])
        await wait_for_node_ready(env, NODE)
        uid = await uid_of(env, "kept")
        await update_node(env, namespaces=[space()])

        async def retained() -> bool:
            obj = await env.client.get(CONFIG_MAPS, "kept", SPACE)
            return "lynq.sh/orphaned" in labels(obj)

        await eventually(retained, within=30)
    async with running_operator(env, namespaces=()):
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE, within=120)
        assert await uid_of(env, "kept") == uid
        assert await is_orphan(env)


async def test_renamed_namespace_entry_keeps_the_retained_object(env: Environment) -> None:
    async with running_operator(env, namespaces=()):
        await create_node(env, inside("kept", **RETAIN), namespaces=[space()])
        await wait_for_node_ready(env, NODE)
        uid = await uid_of(env, "kept")
        moved = entry("kept", targetNamespace="tenant-new", **RETAIN)
        await update_node(env, moved, namespaces=[space("tenant-new")])
        await eventually(lambda: is_orphan(env), within=60)
        assert await uid_of(env, "kept") == uid


async def test_namespace_with_an_adopted_object_is_retained(env: Environment) -> None:
    async with running_operator(env, namespaces=()):
        await create_node(env, namespaces=[space()])
        await wait_for_node_ready(env, NODE)
        foreign = {"metadata": {"name": "theirs"}, "data": {"keep": "me"}}
        await env.client.create(CONFIG_MAPS, foreign, SPACE)
        await update_node(env, inside("theirs"), namespaces=[space()])
        await wait_for_node_ready(env, NODE)
        uid = await uid_of(env, "theirs")
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE, within=120)
        assert await uid_of(env, "theirs") == uid
        assert await is_orphan(env)


async def test_namespace_waits_for_the_objects_of_another_node(env: Environment) -> None:
    async with running_operator(env, namespaces=()):
        await create_node(env, namespaces=[space()])
        await wait_for_node_ready(env, NODE)
        await create_node(env, inside("data"), name="acme-data")
        await wait_for_node_ready(env, "acme-data")
        uid = await uid_of(env, "data")
        await delete_node(env)
        status = await wait_for_resource_state(env, NODE, "space", "Deleting", within=60)
        assert "ConfigMap tenant-acme/data is gone, which belongs to LynqNode" in status["message"]

        async def survives() -> bool:
            return await uid_of(env, "data") == uid

        await stays(survives, seconds=60)
        # It goes when the last of them goes.
        await delete_node(env, "acme-data")
        await wait_for_deletion(env, NODES, "acme-data", within=120)
        await wait_for_deletion(env, NODES, NODE, within=300)
        await wait_for_deletion_in(env, NAMESPACES, SPACE, None)


async def test_namespace_waits_for_the_objects_of_a_protected_node(env: Environment) -> None:
    async with running_operator(env, namespaces=()):
        await create_node(env, namespaces=[space()])
        await wait_for_node_ready(env, NODE)
        protect = {"lynq.sh/protect": "true"}
        await create_node(env, inside("data"), name="acme-data", annotations=protect)
        await wait_for_node_ready(env, "acme-data")
        uid = await uid_of(env, "data")
        await delete_node(env, "acme-data")
        await delete_node(env)

        async def survives() -> bool:
            return await uid_of(env, "data") == uid

        await stays(survives, seconds=60)


async def test_namespace_is_kept_while_a_kind_cannot_be_read(
    env: Environment, api_server: MemoryApiServer
) -> None:
    async with running_operator(env, namespaces=()):
        await create_node(env, namespaces=[space()])
        await wait_for_node_ready(env, NODE)
        fault = api_server.fail("list", f"/namespaces/{SPACE}/secrets", times=1000, status=403)
        await delete_node(env)
        status = await wait_for_resource_state(env, NODE, "space", "Deleting", within=60)
        assert "the objects in it can be read" in status["message"]
        assert await env.client.get(NAMESPACES, SPACE)
        fault.times = 0
        await wait_for_deletion(env, NODES, NODE, within=300)


async def test_namespace_with_objects_that_go_is_deleted(env: Environment) -> None:
    async with running_operator(env, namespaces=()):
        await create_node(env, inside("one"), inside("two"), namespaces=[space()])
        await wait_for_node_ready(env, NODE)
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE, within=120)
        await wait_for_deletion_in(env, NAMESPACES, SPACE, None)


async def test_namespace_of_an_object_that_the_node_still_desires_waits(env: Environment) -> None:
    async with running_operator(env, namespaces=()):
        await create_node(env, inside("data"), namespaces=[space()])
        await wait_for_node_ready(env, NODE)
        uid = await uid_of(env, "data")
        await update_node(env, inside("data"), namespaces=[])
        node = await wait_for_resource_state(env, NODE, "space", "Deleting", within=60)
        assert "which this LynqNode desires" in node["message"]
        assert await uid_of(env, "data") == uid
