"""The Go operator's nodes, taken over as they run: nothing is deleted, nothing made anew."""

import uuid
from typing import Any

import pytest

from cluster.controllers.node.making import (
    NODE,
    another_namespace,
    becomes,
    delete_node,
    entry,
    exists,
    labels,
    make_node,
    of_kind,
    plan_is,
    told,
    want,
)
from cluster.controllers.operating import is_gone, node_is_ready, operating
from cluster.controllers.stage import NODES, Object, Stage
from cluster.local.manifests import deployment
from gadgets import gadgets
from lynq.core.node.desired_object import applied_hash
from lynq.kube import Resource
from lynq.kube.resource import CONFIG_MAPS, DEPLOYMENTS

BUDGETS = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)
POLICIES = Resource("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", namespaced=True)
SCALERS = Resource(
    "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", namespaced=True
)
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"}
LEFT: tuple[tuple[Resource, Object], ...] = (
    (BUDGETS, {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}),
    (POLICIES, {"podSelector": {}}),
    (SCALERS, {"maxReplicas": 3, "scaleTargetRef": TARGET}),
)


async def made_by_go(stage: Stage, node: Object, resource: Resource, obj: Object) -> Object:
    """Apply an object as the Go operator does: tied, hashed, without our label."""
    given = obj.get("metadata", {})
    place = given.get("namespace", stage.namespace)
    metadata: Object = {"namespace": place, **given}
    marks = {"lynq.sh/deletion-policy": "Delete"} | given.get("annotations", {})
    metadata["annotations"] = marks
    if place == stage.namespace and marks["lynq.sh/deletion-policy"] == "Delete":
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
            "lynq.sh/node-namespace": stage.namespace,
        }
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    whole = {**kind, **obj, "metadata": metadata}
    stamps = {
        "lynq.sh/applied-hash": applied_hash(whole),
        "lynq.sh/apply-start-time": "2026-01-01T00:00:00.000000000Z",
    }
    metadata["annotations"] = marks | stamps
    return await stage.client.apply(resource, whole, manager="lynq-operator")


async def status_of_go(stage: Stage, *keys: str) -> None:
    patch = {"status": {"appliedResources": list(keys), "observedGeneration": 1}}
    await stage.client.patch(NODES, NODE, patch, stage.namespace, subresource="status")


def named(name: str, **parts: Any) -> Object:
    return {"metadata": {"name": name}, **parts}


async def test_what_runs_goes_on_running(stage: Stage) -> None:
    app = deployment("app", replicas=1)
    node = await make_node(
        stage,
        entry("settings"),
        entry("kept", deletionPolicy="Retain"),
        deployments=[of_kind("app", app)],
    )
    plan = {"data": {"plan": "pro"}}
    retained = {"lynq.sh/deletion-policy": "Retain"}
    before = [
        await made_by_go(stage, node, CONFIG_MAPS, named("settings", **plan)),
        await made_by_go(
            stage,
            node,
            CONFIG_MAPS,
            {"metadata": {"name": "kept", "annotations": retained}, **plan},
        ),
        await made_by_go(stage, node, DEPLOYMENTS, named("app", spec=app["spec"])),
    ]
    place = stage.namespace
    await status_of_go(
        stage,
        f"ConfigMap/{place}/settings@settings",
        f"ConfigMap/{place}/kept@kept",
        f"Deployment/{place}/app@app",
    )
    async with operating(stage):
        await node_is_ready(stage, NODE)
        await stage.settles()
        after = [
            await stage.get(CONFIG_MAPS, "settings"),
            await stage.get(CONFIG_MAPS, "kept"),
            await stage.get(DEPLOYMENTS, "app"),
        ]
        for old, new in zip(before, after, strict=True):
            assert new["metadata"]["uid"] == old["metadata"]["uid"]
            assert labels(new)["lynq.sh/managed"] == "true"
        assert after[2]["spec"] == before[2]["spec"]
        assert stage.traffic.count("delete") == 0
        assert await told(stage, "ResourceConflict") == 0
        assert await told(stage, "ForceApply") == 0

        await want(stage, entry("settings", "new"), entry("kept", deletionPolicy="Retain"))
        await becomes(stage, "settings", plan_is("new"))


async def test_what_the_go_operator_leaked_is_cleaned_up(stage: Stage) -> None:
    """It looked for them as v1, found none, and let them be."""
    group = f"g{uuid.uuid4().hex[:8]}.example.com"
    async with gadgets(stage.client, group) as gadget:
        node = await make_node(stage, entry("settings"))
        left = (*LEFT, (gadget, {"size": 1}))
        for resource, spec in left:
            await made_by_go(stage, node, resource, named("old", spec=spec))
        theirs = {"metadata": {"name": "theirs", "namespace": stage.namespace}, "spec": LEFT[1][1]}
        await stage.client.create(POLICIES, theirs)
        place = stage.namespace
        keys = [f"{resource.kind}/{place}/old@{resource.plural}" for resource, _ in left]
        await status_of_go(stage, *keys, f"NetworkPolicy/{place}/theirs@x", "no key at all")
        async with operating(stage):
            await node_is_ready(stage, NODE)
            for resource, _ in left:
                await is_gone(stage, resource, "old")
            assert await exists(stage, "theirs", POLICIES)
            assert await told(stage, "OrphanedResourceDeleted") == len(left)


async def test_a_namespace_that_was_kept_as_a_template_is_found(stage: Stage) -> None:
    async with another_namespace(stage) as other:
        node = await make_node(stage, entry("settings"), plan=other)
        far = {"metadata": {"name": "far", "namespace": other}, "data": {"a": "b"}}
        await made_by_go(stage, node, CONFIG_MAPS, far)
        await status_of_go(stage, "ConfigMap/{{ .plan }}/far@far")
        async with operating(stage, namespaces=()):
            await node_is_ready(stage, NODE)
            await stage.settles()
            found = await stage.client.list(CONFIG_MAPS, other)
            assert "far" not in [each["metadata"]["name"] for each in found.items]


async def test_a_node_that_is_deleted_right_after_the_swap_leaves_nothing(stage: Stage) -> None:
    node = await make_node(stage, entry("settings"))
    finalizers = ["lynqnode.operator.lynq.sh/finalizer"]
    await stage.change(NODES, NODE, {"metadata": {"finalizers": finalizers}})
    plan = {"data": {"plan": "pro"}}
    await made_by_go(stage, node, CONFIG_MAPS, named("settings", **plan))
    await made_by_go(stage, node, CONFIG_MAPS, named("left", **plan))
    await status_of_go(stage, f"ConfigMap/{stage.namespace}/left@left")
    await delete_node(stage)
    async with operating(stage):
        await is_gone(stage, NODES, NODE)
        assert not await exists(stage, "settings")
        assert not await exists(stage, "left")


@pytest.mark.parametrize("data", ["old", "pro"], ids=["disputed", "as wanted"])
async def test_an_orphan_of_the_go_operator_is_adopted(stage: Stage, data: str) -> None:
    """It carries no label of ours, so no cache shows it; its marks were put on by an Update."""
    marks = {"lynq.sh/orphaned-at": "2026-01-01T00:00:00Z", "lynq.sh/deletion-policy": "Retain"}
    orphan = {
        "metadata": {
            "name": "kept",
            "labels": {"lynq.sh/orphaned": "true"},
            "annotations": marks | {"lynq.sh/orphaned-reason": "RemovedFromTemplate"},
        },
        "data": {"plan": data},
    }
    old = await stage.client.create(CONFIG_MAPS, orphan, stage.namespace, manager="manager")
    async with operating(stage):
        await make_node(stage, entry("kept", deletionPolicy="Retain"))
        await node_is_ready(stage, NODE)
        found = await becomes(stage, "kept", plan_is("pro"))
        assert found["metadata"]["uid"] == old["metadata"]["uid"]
        assert "lynq.sh/orphaned" not in labels(found)
