"""Objects in other namespaces and in none, and nodes whose names are too long for a label."""

import hashlib
import uuid

from cluster.controllers.environment import NODES, Environment
from cluster.controllers.node.builders import (
    NODE,
    annotations,
    create_node,
    delete_node,
    entry,
    extra_namespace,
    has_plan,
    labels,
    manifest_entry,
    owner_uids,
    update_node,
    wait_for_object,
)
from cluster.controllers.running_operator import (
    resource_status,
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from lynq.kube import Resource
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES
from waiting import eventually

ROLES = Resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)
LONG = "acme-" + "very-" * 14 + "long-web"


async def has_gone(env: Environment, resource: Resource, name: str, namespace: str | None) -> None:
    async def gone() -> bool:
        try:
            await env.client.get(resource, name, namespace)
        except NotFound:
            return True
        return False

    await eventually(gone, within=20, every=0.05)


async def test_object_in_another_namespace_is_tracked_by_labels(env: Environment) -> None:
    async with extra_namespace(env) as other, running_operator(env, namespaces=()):
        await create_node(env, entry("settings", targetNamespace=other), plan="pro")
        node = await wait_for_node_ready(env, NODE)
        assert resource_status(node, "settings")["namespace"] == other
        assert node["status"]["appliedResources"] == [f"ConfigMap/{other}/settings@settings"]
        obj = await env.client.get(CONFIG_MAPS, "settings", other)
        assert owner_uids(obj) == []
        assert labels(obj)["lynq.sh/node"] == NODE
        assert labels(obj)["lynq.sh/node-namespace"] == env.namespace

        # Seen by its labels when somebody takes it away.
        await env.client.delete(CONFIG_MAPS, "settings", other)
        await wait_for_object(env, "settings", has_plan("pro"), namespace=other)
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        await has_gone(env, CONFIG_MAPS, "settings", other)


async def test_changed_target_namespace_moves_object(env: Environment) -> None:
    """Its text is a template, rendered with the row: the inventory holds what came of it."""
    async with (
        extra_namespace(env) as first,
        extra_namespace(env) as second,
        running_operator(env, namespaces=()),
    ):
        desired = entry("settings", targetNamespace="{{ .plan }}")
        await create_node(env, desired, plan=first)
        await wait_for_node_ready(env, NODE)
        await wait_for_object(env, "settings", has_plan(first), namespace=first)
        patch = {"metadata": {"annotations": {"lynq.sh/extra": f'{{"plan": "{second}"}}'}}}
        await env.patch(NODES, NODE, patch)
        await wait_for_object(env, "settings", has_plan(second), namespace=second)
        await has_gone(env, CONFIG_MAPS, "settings", first)


async def test_cluster_scoped_object_is_tracked_by_labels(env: Environment) -> None:
    name = f"lynq-{uuid.uuid4().hex[:10]}"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
    desired = manifest_entry("role", role, nameTemplate=name, targetNamespace="ignored-here")
    async with running_operator(env, namespaces=()):
        await create_node(env, manifests=[desired])
        node = await wait_for_node_ready(env, NODE)
        assert resource_status(node, "role")["namespace"] == ""
        obj = await env.client.get(ROLES, name)
        assert owner_uids(obj) == []
        assert labels(obj)["lynq.sh/node"] == NODE
        await update_node(env, manifests=[])
        await has_gone(env, ROLES, name, None)


async def test_namespace_of_form_is_created_first_and_deleted_last(env: Environment) -> None:
    name = f"tenant-{uuid.uuid4().hex[:10]}"
    place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"labels": {"team": "shop"}}}
    async with running_operator(env, namespaces=()):
        await create_node(
            env,
            entry("settings", targetNamespace=name, dependIds=["place"]),
            namespaces=[manifest_entry("place", place, nameTemplate=name)],
        )
        await wait_for_node_ready(env, NODE)
        obj = await env.client.get(NAMESPACES, name)
        assert labels(obj)["team"] == "shop"
        assert labels(obj)["lynq.sh/node"] == NODE
        await delete_node(env)
        # The namespace controller takes its time while kinds come and go.
        await wait_for_deletion(env, NODES, NODE, within=120)
        await has_gone(env, NAMESPACES, name, None)


async def test_terminating_namespace_blocks_node_finalizer(env: Environment) -> None:
    name = f"tenant-{uuid.uuid4().hex[:10]}"
    place = {"apiVersion": "v1", "kind": "Namespace"}
    async with running_operator(env, namespaces=()):
        await create_node(env, namespaces=[manifest_entry("place", place, nameTemplate=name)])
        await wait_for_node_ready(env, NODE)
        held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
        await env.client.create(CONFIG_MAPS, held, name)
        await delete_node(env)
        resource = await wait_for_resource_state(env, NODE, "place", "Deleting", within=20)
        assert resource["name"] == name
        await env.client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, name)
        await wait_for_deletion(env, NODES, NODE, within=120)
        await has_gone(env, NAMESPACES, name, None)


async def test_objects_of_node_with_long_name_are_tracked_and_deleted(env: Environment) -> None:
    digest = hashlib.sha256(LONG.encode()).hexdigest()[:8]
    async with extra_namespace(env) as other:
        async with running_operator(env, namespaces=()):
            await create_node(
                env,
                entry("far", targetNamespace=other),
                entry("kept", deletionPolicy="Retain"),
                entry("near"),
                name=LONG,
            )
            await wait_for_node_ready(env, LONG)
            obj = await env.client.get(CONFIG_MAPS, "far", other)
            assert labels(obj)["lynq.sh/node"] == f"{LONG[:54]}-{digest}"
            assert annotations(obj)["lynq.sh/node-name"] == LONG
            await env.client.delete(CONFIG_MAPS, "far", other)
            await wait_for_object(env, "far", has_plan("pro"), namespace=other)
        async with running_operator(env, namespaces=()):
            await delete_node(env, LONG)
            await wait_for_deletion(env, NODES, LONG)
            await has_gone(env, CONFIG_MAPS, "far", other)
            await wait_for_deletion(env, CONFIG_MAPS, "near")
            kept = await env.get(CONFIG_MAPS, "kept")
            assert "lynq.sh/node-name" not in annotations(kept)
            assert labels(kept)["lynq.sh/orphaned"] == "true"


async def test_unwatched_target_namespace_is_reported(env: Environment) -> None:
    async with extra_namespace(env) as other, running_operator(env):
        await create_node(env, entry("far", targetNamespace=other), entry("near"))
        resource = await wait_for_resource_state(env, NODE, "far", "Failed")
        assert "--watch-namespaces" in resource["message"]
        await wait_for_object(env, "near", has_plan("pro"))
