"""Standalone nodes that are not carried out, and objects that no form may write."""

from typing import Any

import pytest

from lynq.kube import Resource
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES
from operated.builders import (
    NODE,
    annotate,
    create_node,
    delete_node,
    entry,
    exists,
    manifest_entry,
    update_node,
)
from operated.environment import FORMS, NODES, Environment, Object
from operated.running_operator import (
    get_node,
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually, stays

CLASSES = Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
FAST: Object = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "x"}
NAMESPACE: Object = {"apiVersion": "v1", "kind": "Namespace"}
ENFORCE = "pod-security.kubernetes.io/enforce"
PROFILE: dict[str, Any] = {
    "allowed_cluster_kinds": ("Namespace",),
    "denied_namespace_labels": ("pod-security.kubernetes.io/*", "metrics"),
}


async def wait_for_waiting(env: Environment) -> str:
    """Wait until the node waits for a hub; return the message."""

    async def waiting() -> str:
        conditions = (await get_node(env, NODE)).get("status", {}).get("conditions", [])
        return next((str(c["message"]) for c in conditions if c["reason"] == "WaitingForHub"), "")

    return await eventually(waiting, within=30)


async def test_standalone_node_is_not_carried_out(env: Environment) -> None:
    async with running_operator(env, allows_standalone_nodes=False):
        await create_node(env, entry("settings"))
        assert "--allow-standalone-nodes=false" in await wait_for_waiting(env)

        async def absent() -> bool:
            return not await exists(env, "settings")

        await stays(absent, seconds=5)


async def test_row_of_a_hub_is_carried_out_without_standalone_nodes(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form()
    async with running_operator(env, allows_standalone_nodes=False):
        await wait_for_node_ready(env, NODE)
        env.set_rows()
        await env.force_sync()
        await env.wait_for_nodes()
        assert not await exists(env, "acme-settings")


async def test_deletion_of_standalone_node_completes_and_deletes_nothing(env: Environment) -> None:
    """What it had made while that was allowed is left to its owner references."""
    async with running_operator(env):
        await create_node(env, entry("settings", deletionPolicy="Retain"), entry("removed"))
        await wait_for_node_ready(env, NODE)
    before = await env.get(CONFIG_MAPS, "settings")
    async with running_operator(env, allows_standalone_nodes=False):
        await update_node(env, entry("settings", deletionPolicy="Retain"))
        await wait_for_waiting(env)
        assert await exists(env, "removed")
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        assert await env.get(CONFIG_MAPS, "settings") == before
        await env.wait_for_event("LynqNodeDeleted", containing="no object of the node was")
    assert not [request for request in env.requests.sent if request.verb == "delete"]


async def test_protected_standalone_node_keeps_its_finalizer(env: Environment) -> None:
    async with running_operator(env, allows_standalone_nodes=False):
        await create_node(env, entry("settings"), annotations={"lynq.sh/protect": "true"})
        await wait_for_waiting(env)
        await env.patch(
            NODES, NODE, {"metadata": {"finalizers": ["lynqnode.operator.lynq.sh/finalizer"]}}
        )
        await delete_node(env)

        async def kept() -> bool:
            return bool(await get_node(env, NODE))

        await stays(kept, seconds=5)
        await annotate(env, protect=None)
        await wait_for_deletion(env, NODES, NODE)


async def test_cluster_scoped_kind_that_is_not_listed_fails_its_resource(env: Environment) -> None:
    async with running_operator(env, namespaces=(), **PROFILE):
        await create_node(env, entry("settings"), manifests=[manifest_entry("fast", FAST)])
        resource = await wait_for_resource_state(env, NODE, "fast", "Failed")
        assert "StorageClass.storage.k8s.io is not in" in resource["message"]
        await wait_for_resource_state(env, NODE, "settings", "Ready")
        assert not (await env.client.list(CLASSES)).items


async def test_cluster_scoped_kind_is_written_where_the_form_lists_it(env: Environment) -> None:
    kinds = ["StorageClass.storage.k8s.io"]
    await env.create_form(allowedNamespaces=["tenant-*"])
    async with running_operator(env, namespaces=()):
        await create_node(env, manifests=[manifest_entry("fast", FAST)])
        resource = await wait_for_resource_state(env, NODE, "fast", "Failed")
        assert "add the kind to spec.allowedClusterKinds" in resource["message"]
        await env.patch(FORMS, "web", {"spec": {"allowedClusterKinds": kinds}})
        await annotate(env, force_reconcile="now")
        await wait_for_node_ready(env, NODE, within=60)


async def test_cluster_scoped_object_of_before_the_limit_is_deleted_with_its_row(
    env: Environment,
) -> None:
    async with running_operator(env, namespaces=()):
        await create_node(env, manifests=[manifest_entry("fast", FAST)])
        await wait_for_node_ready(env, NODE)
    async with running_operator(env, namespaces=(), **PROFILE):
        await wait_for_resource_state(env, NODE, "fast", "Failed")
        assert (await env.client.list(CLASSES)).items
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        assert not (await env.client.list(CLASSES)).items


@pytest.mark.parametrize(
    "parts",
    [
        {"labelsTemplate": {ENFORCE: "privileged"}},
        {"labelsTemplate": {"metrics": "enabled"}},
        {"patchStrategy": "replace"},
    ],
    ids=["pod security", "network policy", "replace"],
)
async def test_namespace_of_a_form_gets_no_denied_label(
    env: Environment, parts: dict[str, Any]
) -> None:
    async with running_operator(env, namespaces=(), **PROFILE):
        await create_node(
            env,
            namespaces=[
                manifest_entry("space", NAMESPACE, **parts),
                manifest_entry("plain", NAMESPACE),
            ],
        )
        resource = await wait_for_resource_state(env, NODE, "space", "Failed")
        assert "--denied-namespace-labels" in resource["message"]
        await wait_for_resource_state(env, NODE, "plain", "Ready")
        names = [obj["metadata"]["name"] for obj in (await env.client.list(NAMESPACES)).items]
        assert "space" not in names


async def test_label_of_a_rendered_manifest_is_denied(env: Environment) -> None:
    """Admission cannot see it: the kind is rendered for each node."""
    kind = {"apiVersion": "v1", "kind": "{{ .plan }}", "metadata": {"labels": {ENFORCE: "x"}}}
    async with running_operator(env, namespaces=(), **PROFILE):
        await create_node(env, manifests=[manifest_entry("space", kind)], plan="Namespace")
        resource = await wait_for_resource_state(env, NODE, "space", "Failed")
        assert ENFORCE in resource["message"]
