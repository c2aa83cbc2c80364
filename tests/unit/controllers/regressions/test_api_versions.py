"""API versions that are no longer served, and one kind name in two API groups."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from custom_kind import served_custom_kind
from lynq.kube import Client, Resource
from lynq.kube.crd_install import install_crd
from lynq.kube.errors import NotFound
from lynq.kube.resource import CUSTOM_RESOURCE_DEFINITIONS
from operated.builders import (
    NODE,
    create_node,
    delete_node,
    entry,
    extra_namespace,
    manifest_entry,
    update_node,
)
from operated.environment import NODES, Environment, Object
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
)
from waiting import eventually


def _version(name: str, *, served: bool = True) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "name": name,
        "served": served,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": schema},
    }


@asynccontextmanager
async def widgets(client: Client) -> AsyncIterator[str]:
    """Serve the kind Widget in two versions; yield its group."""
    group = f"g{uuid.uuid4().hex[:8]}.example.com"
    definition: dict[str, Any] = {
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [_version("v1beta1"), _version("v1")],
        },
    }
    await install_crd(client, definition)
    try:
        yield group
    finally:
        await client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"widgets.{group}")


async def stop_serving_v1beta1(client: Client, group: str) -> None:
    """Stop serving the old version."""
    patch = {"spec": {"versions": [_version("v1beta1", served=False), _version("v1")]}}
    await client.patch(CUSTOM_RESOURCE_DEFINITIONS, f"widgets.{group}", patch)
    old = Resource(group, "v1beta1", "Widget", "widgets", namespaced=True)

    async def unserved() -> bool:
        try:
            await client.list(old, "default")
        except NotFound:
            return True
        return False

    await eventually(unserved, within=20)


async def wait_until_deleted(env: Environment, resource: Resource, namespace: str) -> None:
    async def deleted() -> bool:
        return not (await env.client.list(resource, namespace)).items

    # A failed deletion is retried after 30 s.
    await eventually(deleted, within=60, every=0.1)


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("removed_from", ["node", "form"])
async def test_object_of_unserved_version_is_deleted(
    env: Environment, removed_from: str, *, restarted: bool
) -> None:
    async with widgets(env.client) as group, extra_namespace(env) as other_namespace:
        v1 = Resource(group, "v1", "Widget", "widgets", namespaced=True)
        manifest = {"apiVersion": f"{group}/v1beta1", "kind": "Widget"}
        widget = manifest_entry("widget", manifest, targetNamespace=other_namespace)
        namespaces = (env.namespace, other_namespace)

        async def remove() -> None:
            if removed_from == "node":
                await delete_node(env)
                await wait_for_deletion(env, NODES, NODE, within=30)
            else:
                await update_node(env, entry("other"), manifests=[])
            await wait_until_deleted(env, v1, other_namespace)

        async with running_operator(env, namespaces=namespaces):
            await create_node(env, manifests=[widget])
            await wait_for_node_ready(env, NODE)
            assert len((await env.client.list(v1, other_namespace)).items) == 1
            if not restarted:
                await stop_serving_v1beta1(env.client, group)
                await remove()
        if restarted:
            await stop_serving_v1beta1(env.client, group)
            async with running_operator(env, namespaces=namespaces):
                await remove()


async def test_go_inventory_entry_resolves_to_group_of_its_object(
    env: Environment,
) -> None:
    suffix = uuid.uuid4().hex[:8]
    first, second = f"a{suffix}.example.com", f"b{suffix}.example.com"
    async with (
        served_custom_kind(env.client, first) as foreign,
        served_custom_kind(env.client, second) as owned,
        extra_namespace(env) as other_namespace,
    ):
        node = await create_node(env, entry("settings"))
        tracked = {"lynq.sh/node": NODE, "lynq.sh/node-namespace": env.namespace}
        for resource, labels in ((foreign, {}), (owned, tracked)):
            metadata = {"name": "thing", "namespace": other_namespace, "labels": labels}
            await env.client.create(resource, {"metadata": metadata})
        status = {"appliedResources": [f"Gadget/{other_namespace}/thing@old"]}
        patch = {"status": status}
        name = node["metadata"]["name"]
        await env.client.patch(NODES, name, patch, env.namespace, subresource="status")
        async with running_operator(env, namespaces=(env.namespace, other_namespace)):
            await wait_until_deleted(env, owned, other_namespace)
            await wait_for_node_ready(env, NODE)
            assert len((await env.client.list(foreign, other_namespace)).items) == 1
