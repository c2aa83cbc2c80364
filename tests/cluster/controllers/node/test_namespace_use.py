"""A Namespace is deleted by the namespace controller only if nothing in it has to stay."""

import uuid

from built_in_resources import PERSISTENT_VOLUME_CLAIMS
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES
from operated.builders import (
    NODE,
    create_node,
    delete_node,
    entry,
    labels,
    manifest_entry,
    update_node,
)
from operated.environment import NODES, Environment, Object
from operated.manifests import claim
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually, stays


def a_space() -> tuple[str, Object]:
    """Return the name of a Namespace and its entry."""
    name = f"tenant-{uuid.uuid4().hex[:10]}"
    manifest = {"apiVersion": "v1", "kind": "Namespace"}
    return name, manifest_entry("space", manifest, nameTemplate=name)


async def test_volume_that_was_retained_before_a_restart_keeps_its_namespace(
    env: Environment,
) -> None:
    name, space = a_space()
    volume = manifest_entry(
        "volume",
        claim("volume"),
        targetNamespace=name,
        dependIds=["space"],
        deletionPolicy="Retain",
        waitForReady=False,
    )

    async def volume_uid() -> object:
        obj = await env.client.get(PERSISTENT_VOLUME_CLAIMS, "volume", name)
        return None if "deletionTimestamp" in obj["metadata"] else obj["metadata"]["uid"]

    async with running_operator(env, namespaces=()):
        await create_node(env, persistentVolumeClaims=[volume], namespaces=[space])
        await wait_for_node_ready(env, NODE)
        uid = await volume_uid()
        await update_node(env, persistentVolumeClaims=[], namespaces=[space])

        async def is_orphan() -> bool:
            obj = await env.client.get(PERSISTENT_VOLUME_CLAIMS, "volume", name)
            return "lynq.sh/orphaned" in labels(obj)

        await eventually(is_orphan, within=30)
    async with running_operator(env, namespaces=()):
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        assert "lynq.sh/orphaned" in labels(await env.client.get(NAMESPACES, name))

        async def survives() -> bool:
            return await volume_uid() == uid

        await stays(survives, seconds=1)


async def test_namespace_goes_with_the_last_object_of_another_node(env: Environment) -> None:
    name, space = a_space()
    async with running_operator(env, namespaces=()):
        await create_node(env, namespaces=[space])
        await wait_for_node_ready(env, NODE)
        await create_node(env, entry("data", targetNamespace=name), name="acme-data")
        await wait_for_node_ready(env, "acme-data")
        uid = (await env.client.get(CONFIG_MAPS, "data", name))["metadata"]["uid"]
        await delete_node(env)
        status = await wait_for_resource_state(env, NODE, "space", "Deleting", within=30)
        assert f"ConfigMap {name}/data is gone, which belongs to LynqNode" in status["message"]
        obj = await env.client.get(CONFIG_MAPS, "data", name)
        assert obj["metadata"]["uid"] == uid
        await delete_node(env, "acme-data")
        await wait_for_deletion(env, NODES, NODE, within=120)

        async def is_gone() -> bool:
            try:
                await env.client.get(NAMESPACES, name)
            except NotFound:
                return True
            return False

        await eventually(is_gone, within=60)
