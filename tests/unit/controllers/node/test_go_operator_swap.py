"""Takeover of nodes of the Go operator: nothing is deleted or re-created."""

import uuid
from typing import Any

import pytest

from built_in_resources import DEPLOYMENTS
from custom_kind import served_custom_kind
from lynq.core.node.desired_object import applied_hash
from lynq.kube import Resource
from lynq.kube.resource import CONFIG_MAPS
from operated.builders import (
    NODE,
    create_node,
    delete_node,
    entry,
    event_count,
    exists,
    extra_namespace,
    has_plan,
    labels,
    manifest_entry,
    update_node,
    wait_for_object,
)
from operated.environment import NODES, Environment, Object
from operated.manifests import deployment
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
)
from waiting import eventually

BUDGETS = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)
POLICIES = Resource("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", namespaced=True)
SCALERS = Resource(
    "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", namespaced=True
)
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"}
LEAKED: tuple[tuple[Resource, Object], ...] = (
    (BUDGETS, {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}),
    (POLICIES, {"podSelector": {}}),
    (SCALERS, {"maxReplicas": 3, "scaleTargetRef": TARGET}),
)


async def apply_as_go(env: Environment, node: Object, resource: Resource, obj: Object) -> Object:
    """Apply an object as the Go operator does: owned and hashed, without lynq.sh/managed."""
    base = obj.get("metadata", {})
    namespace = base.get("namespace", env.namespace)
    metadata: Object = {"namespace": namespace, **base}
    policy = {"lynq.sh/deletion-policy": "Delete"} | base.get("annotations", {})
    metadata["annotations"] = policy
    if namespace == env.namespace and policy["lynq.sh/deletion-policy"] == "Delete":
        owner = {
            "apiVersion": "operator.lynq.sh/v1",
            "kind": "LynqNode",
            "name": NODE,
            "uid": node["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        metadata["ownerReferences"] = [owner]
    else:
        metadata["labels"] = {
            "lynq.sh/node": NODE,
            "lynq.sh/node-namespace": env.namespace,
        }
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    whole = {**kind, **obj, "metadata": metadata}
    stamps = {
        "lynq.sh/applied-hash": applied_hash(whole),
        "lynq.sh/apply-start-time": "2026-01-01T00:00:00.000000000Z",
    }
    metadata["annotations"] = policy | stamps
    return await env.client.apply(resource, whole, manager="lynq-operator")


async def set_go_status(env: Environment, *keys: str) -> None:
    patch = {"status": {"appliedResources": list(keys), "observedGeneration": 1}}
    await env.client.patch(NODES, NODE, patch, env.namespace, subresource="status")


def named(name: str, **parts: Any) -> Object:
    return {"metadata": {"name": name}, **parts}


async def test_running_objects_are_taken_over_unchanged(env: Environment) -> None:
    app = deployment("app", replicas=1)
    node = await create_node(
        env,
        entry("settings"),
        entry("kept", deletionPolicy="Retain"),
        deployments=[manifest_entry("app", app)],
    )
    plan = {"data": {"plan": "pro"}}
    retained = {"lynq.sh/deletion-policy": "Retain"}
    before = [
        await apply_as_go(env, node, CONFIG_MAPS, named("settings", **plan)),
        await apply_as_go(
            env,
            node,
            CONFIG_MAPS,
            {"metadata": {"name": "kept", "annotations": retained}, **plan},
        ),
        await apply_as_go(env, node, DEPLOYMENTS, named("app", spec=app["spec"])),
    ]
    namespace = env.namespace
    await set_go_status(
        env,
        f"ConfigMap/{namespace}/settings@settings",
        f"ConfigMap/{namespace}/kept@kept",
        f"Deployment/{namespace}/app@app",
    )
    async with running_operator(env):
        await wait_for_node_ready(env, NODE)
        await env.wait_until_idle()
        after = [
            await env.get(CONFIG_MAPS, "settings"),
            await env.get(CONFIG_MAPS, "kept"),
            await env.get(DEPLOYMENTS, "app"),
        ]
        for old, new in zip(before, after, strict=True):
            assert new["metadata"]["uid"] == old["metadata"]["uid"]
            assert labels(new)["lynq.sh/managed"] == "true"
        assert after[2]["spec"] == before[2]["spec"]
        assert env.requests.count("delete") == 0
        assert await event_count(env, "ResourceConflict") == 0
        assert await event_count(env, "ForceApply") == 0

        await update_node(env, entry("settings", "new"), entry("kept", deletionPolicy="Retain"))
        await wait_for_object(env, "settings", has_plan("new"))


async def test_objects_leaked_by_go_operator_are_pruned(env: Environment) -> None:
    """The Go operator searched for them as v1 only and never found them."""
    group = f"g{uuid.uuid4().hex[:8]}.example.com"
    async with served_custom_kind(env.client, group) as gadget:
        node = await create_node(env, entry("settings"))
        leaked = (*LEAKED, (gadget, {"size": 1}))
        for resource, spec in leaked:
            await apply_as_go(env, node, resource, named("old", spec=spec))
        foreign = {"metadata": {"name": "theirs", "namespace": env.namespace}, "spec": LEAKED[1][1]}
        await env.client.create(POLICIES, foreign)
        namespace = env.namespace
        keys = [f"{resource.kind}/{namespace}/old@{resource.plural}" for resource, _ in leaked]
        await set_go_status(env, *keys, f"NetworkPolicy/{namespace}/theirs@x", "no key at all")
        async with running_operator(env):
            await wait_for_node_ready(env, NODE)
            for resource, _ in leaked:
                await wait_for_deletion(env, resource, "old")
            assert await exists(env, "theirs", POLICIES)

            async def is_reported() -> bool:
                return await event_count(env, "OrphanedResourceDeleted") == len(leaked)

            await eventually(is_reported)
            await env.wait_until_idle()
            assert await is_reported()


async def test_object_in_templated_namespace_is_pruned(env: Environment) -> None:
    async with extra_namespace(env) as other:
        node = await create_node(env, entry("settings"), plan=other)
        far = {"metadata": {"name": "far", "namespace": other}, "data": {"a": "b"}}
        await apply_as_go(env, node, CONFIG_MAPS, far)
        await set_go_status(env, "ConfigMap/{{ .plan }}/far@far")
        async with running_operator(env, namespaces=()):
            await wait_for_node_ready(env, NODE)
            await env.wait_until_idle()
            listed = await env.client.list(CONFIG_MAPS, other)
            assert "far" not in [obj["metadata"]["name"] for obj in listed.items]


async def test_node_deleted_right_after_swap_leaves_no_objects(
    env: Environment,
) -> None:
    node = await create_node(env, entry("settings"))
    finalizers = ["lynqnode.operator.lynq.sh/finalizer"]
    await env.patch(NODES, NODE, {"metadata": {"finalizers": finalizers}})
    plan = {"data": {"plan": "pro"}}
    await apply_as_go(env, node, CONFIG_MAPS, named("settings", **plan))
    await apply_as_go(env, node, CONFIG_MAPS, named("removed", **plan))
    await set_go_status(env, f"ConfigMap/{env.namespace}/removed@removed")
    await delete_node(env)
    async with running_operator(env):
        await wait_for_deletion(env, NODES, NODE)
        assert not await exists(env, "settings")
        assert not await exists(env, "removed")


@pytest.mark.parametrize("data", ["old", "pro"], ids=["different", "equal"])
async def test_orphan_of_go_operator_is_adopted(env: Environment, data: str) -> None:
    """The orphan is not in the cache, and its markers belong to an Update manager."""
    markers = {"lynq.sh/orphaned-at": "2026-01-01T00:00:00Z", "lynq.sh/deletion-policy": "Retain"}
    orphan = {
        "metadata": {
            "name": "kept",
            "labels": {"lynq.sh/orphaned": "true"},
            "annotations": markers | {"lynq.sh/orphaned-reason": "RemovedFromTemplate"},
        },
        "data": {"plan": data},
    }
    old = await env.client.create(CONFIG_MAPS, orphan, env.namespace, manager="manager")
    async with running_operator(env):
        await create_node(env, entry("kept", deletionPolicy="Retain"))
        await wait_for_node_ready(env, NODE)
        obj = await wait_for_object(env, "kept", has_plan("pro"))
        assert obj["metadata"]["uid"] == old["metadata"]["uid"]
        assert "lynq.sh/orphaned" not in labels(obj)
