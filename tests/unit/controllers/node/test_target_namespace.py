"""targetNamespace, cluster-scoped objects, and node names too long for a label value."""

import hashlib
import uuid

from lynq.kube import Resource
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES
from operated.builders import (
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
from operated.environment import NODES, Environment
from operated.running_operator import (
    resource_status,
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually

ROLES = Resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)
LONG_NAME = "acme-" + "very-" * 14 + "long-web"


async def wait_for_deletion_in(
    env: Environment, resource: Resource, name: str, namespace: str | None
) -> None:
    async def deleted() -> bool:
        try:
            await env.client.get(resource, name, namespace)
        except NotFound:
            return True
        return False

    await eventually(deleted, within=20, every=0.05)


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

        # The node is found by the labels of the deleted object.
        await env.client.delete(CONFIG_MAPS, "settings", other)
        await wait_for_object(env, "settings", has_plan("pro"), namespace=other)
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        await wait_for_deletion_in(env, CONFIG_MAPS, "settings", other)


async def test_changed_target_namespace_moves_object(env: Environment) -> None:
    """The field is a template; the inventory holds its rendered value."""
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
        await wait_for_deletion_in(env, CONFIG_MAPS, "settings", first)


async def test_cluster_scoped_object_is_tracked_by_labels(env: Environment) -> None:
    name = f"lynq-{uuid.uuid4().hex[:10]}"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
    desired = manifest_entry("role", role, nameTemplate=name, targetNamespace="ignored-here")
    async with running_operator(env, namespaces=()):
        await create_node(env, manifests=[desired])
        node = await wait_for_node_ready(env, NODE)
        assert "namespace" not in resource_status(node, "role")
        obj = await env.client.get(ROLES, name)
        assert owner_uids(obj) == []
        assert labels(obj)["lynq.sh/node"] == NODE
        await update_node(env, manifests=[])
        await wait_for_deletion_in(env, ROLES, name, None)


async def test_namespace_of_form_is_created_first_and_deleted_last(env: Environment) -> None:
    name = f"tenant-{uuid.uuid4().hex[:10]}"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"labels": {"team": "shop"}}}
    async with running_operator(env, namespaces=()):
        await create_node(
            env,
            entry("settings", targetNamespace=name, dependIds=["space"]),
            namespaces=[manifest_entry("space", manifest, nameTemplate=name)],
        )
        await wait_for_node_ready(env, NODE)
        obj = await env.client.get(NAMESPACES, name)
        assert labels(obj)["team"] == "shop"
        assert labels(obj)["lynq.sh/node"] == NODE
        await delete_node(env)
        # The namespace controller is slow while other tests install and delete CRDs.
        await wait_for_deletion(env, NODES, NODE, within=120)
        await wait_for_deletion_in(env, NAMESPACES, name, None)


async def test_terminating_namespace_blocks_node_finalizer(env: Environment) -> None:
    name = f"tenant-{uuid.uuid4().hex[:10]}"
    manifest = {"apiVersion": "v1", "kind": "Namespace"}
    async with running_operator(env, namespaces=()):
        await create_node(env, namespaces=[manifest_entry("space", manifest, nameTemplate=name)])
        await wait_for_node_ready(env, NODE)
        held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
        await env.client.create(CONFIG_MAPS, held, name)
        await delete_node(env)
        resource = await wait_for_resource_state(env, NODE, "space", "Deleting", within=20)
        assert resource["name"] == name
        await env.client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, name)
        await wait_for_deletion(env, NODES, NODE, within=120)
        await wait_for_deletion_in(env, NAMESPACES, name, None)


async def test_objects_of_node_with_long_name_are_tracked_and_deleted(env: Environment) -> None:
    digest = hashlib.sha256(LONG_NAME.encode()).hexdigest()[:8]
    async with extra_namespace(env) as other:
        async with running_operator(env, namespaces=()):
            await create_node(
                env,
                entry("far", targetNamespace=other),
                entry("kept", deletionPolicy="Retain"),
                entry("near"),
                name=LONG_NAME,
            )
            await wait_for_node_ready(env, LONG_NAME)
            obj = await env.client.get(CONFIG_MAPS, "far", other)
            assert labels(obj)["lynq.sh/node"] == f"{LONG_NAME[:54]}-{digest}"
            assert annotations(obj)["lynq.sh/node-name"] == LONG_NAME
            await env.client.delete(CONFIG_MAPS, "far", other)
            await wait_for_object(env, "far", has_plan("pro"), namespace=other)
        async with running_operator(env, namespaces=()):
            await delete_node(env, LONG_NAME)
            await wait_for_deletion(env, NODES, LONG_NAME)
            await wait_for_deletion_in(env, CONFIG_MAPS, "far", other)
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
