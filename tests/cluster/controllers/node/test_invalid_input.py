"""Resources that cannot be applied: each reports its reason, and the others are applied."""

import uuid
from typing import Any

import pytest

from custom_kind import served_custom_kind
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES
from operated.builders import (
    NODE,
    create_node,
    entry,
    event_count,
    extra_namespace,
    has_plan,
    manifest_entry,
    update_node,
    wait_for_event,
    wait_for_object,
)
from operated.environment import Environment, Object
from operated.manifests import deployment
from operated.running_operator import (
    running_operator,
    wait_for_node_condition,
    wait_for_node_ready,
    wait_for_resource_state,
)

HALF = '{{ repeat 900000 "x" }}'
SERVICE = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}


def oversized_config_map() -> Object:
    desired = entry("bad")
    desired["spec"]["data"] = {"a": HALF, "b": HALF}
    return desired


def oversized_deployment() -> Object:
    manifest = deployment("bad")
    manifest["spec"]["template"]["spec"]["containers"][0]["args"] = [HALF, HALF]
    return manifest


def broken_template() -> Object:
    desired = entry("bad")
    desired["spec"]["data"] = {"text": "first line\n{{ .nothing }}"}
    return desired


def wrong_type() -> Object:
    desired = entry("bad")
    desired["spec"]["data"] = {"number": 5}
    return desired


BAD: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "unknown kind": (
        {"manifests": [manifest_entry("bad", {"apiVersion": "example.com/v1", "kind": "Nothing"})]},
        "ApplyFailed",
        ["example.com/v1 Nothing", "is the CRD installed?"],
    ),
    "unknown kind of an existing group": (
        {"manifests": [manifest_entry("bad", {"apiVersion": "apps/v1", "kind": "Deploymnt"})]},
        "ApplyFailed",
        ["apps/v1 Deploymnt", "Deployment"],
    ),
    "config map too large": (
        {"configMaps": [oversized_config_map()]},
        "ApplyFailed",
        ["larger than", "1 MiB"],
    ),
    "too large for etcd": (
        {"deployments": [manifest_entry("bad", oversized_deployment())]},
        "ApplyFailed",
        ["larger than", "1.5 MiB"],
    ),
    "template error": (
        {"configMaps": [broken_template()]},
        "TemplateRenderError",
        ["data.text", "line 2", "nothing"],
    ),
    "name over 63": (
        {"services": [manifest_entry("bad", SERVICE, nameTemplate="s" * 64)]},
        "ApplyFailed",
        ["metadata.name"],
    ),
    "invalid name": (
        {"configMaps": [entry("bad", nameTemplate="Not_A_Name")]},
        "ApplyFailed",
        ["metadata.name"],
    ),
    "wrong type": ({"configMaps": [wrong_type()]}, "ApplyFailed", []),
}


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.replace(" ", "-"))
async def test_invalid_resource_reports_reason_and_others_are_applied(
    env: Environment, case: str
) -> None:
    lists, reason, words = BAD[case]
    lists = dict(lists)
    config_maps = lists.pop("configMaps", [])
    async with running_operator(env):
        await create_node(env, entry("good"), *config_maps, **lists)
        resource = await wait_for_resource_state(env, NODE, "bad", "Failed")
        assert resource["reason"] == reason
        for word in words:
            assert word in resource["message"]
        await wait_for_node_condition(env, NODE, "Ready", "False", "ResourcesFailed")
        await wait_for_object(env, "good", has_plan("pro"))
        await wait_for_resource_state(env, NODE, "good", "Ready")
        assert (await wait_for_event(env, reason, about=NODE)).startswith("Warning: ")

        # The node recovers after correction.
        empty: dict[str, Any] = {name: [] for name in lists}
        await update_node(env, entry("good"), **empty)
        await wait_for_node_ready(env, NODE)
        assert await event_count(env, reason) == 1


async def test_kind_installed_later_is_discovered(env: Environment) -> None:
    group = f"g{uuid.uuid4().hex[:8]}.example.com"
    gadget = {"apiVersion": f"{group}/v1", "kind": "Gadget", "spec": {"size": 1}}
    async with running_operator(env):
        await create_node(env, entry("good"), manifests=[manifest_entry("gadget", gadget)])
        await wait_for_resource_state(env, NODE, "gadget", "Failed")
        async with served_custom_kind(env.client, group) as resource:
            await wait_for_object(
                env, "gadget", lambda obj: obj["spec"] == {"size": 1}, resource, within=40
            )
            await wait_for_node_ready(env, NODE, within=40)


async def test_missing_namespace_is_named_and_used_once_it_exists(
    env: Environment,
) -> None:
    name = f"late-{uuid.uuid4().hex[:10]}"
    async with running_operator(env, namespaces=()):
        await create_node(env, entry("far", targetNamespace=name), entry("near"))
        resource = await wait_for_resource_state(env, NODE, "far", "Failed")
        assert f'the namespace "{name}" does not exist' in resource["message"]
        await wait_for_resource_state(env, NODE, "near", "Ready")
        await env.client.create(NAMESPACES, {"metadata": {"name": name}})
        try:
            await wait_for_node_ready(env, NODE, within=40)
        finally:
            await env.client.delete(NAMESPACES, name)


async def test_terminating_namespace_is_named(env: Environment) -> None:
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    async with extra_namespace(env) as name:
        await env.client.create(CONFIG_MAPS, held, name)
        await env.client.delete(NAMESPACES, name)
        async with running_operator(env, namespaces=()):
            await create_node(env, entry("far", targetNamespace=name), entry("near"))
            resource = await wait_for_resource_state(env, NODE, "far", "Failed")
            assert f'the namespace "{name}" is being deleted' in resource["message"]
            await wait_for_resource_state(env, NODE, "near", "Ready")
        await env.client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, name)


async def test_template_error_leaves_existing_object_unchanged(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"), entry("other"))
        await wait_for_node_ready(env, NODE)
        uid = (await env.get(CONFIG_MAPS, "settings"))["metadata"]["uid"]
        await update_node(env, entry("settings", "{{ .nothing }}"), entry("other", "new"))
        node = await wait_for_node_condition(env, NODE, "Ready", "False", "ResourcesFailed")
        await wait_for_object(env, "other", has_plan("new"))
        obj = await env.get(CONFIG_MAPS, "settings")
        assert obj["metadata"]["uid"] == uid
        assert obj["data"] == {"plan": "pro"}
        keys: Any = node["status"]["appliedResources"]
        assert f"ConfigMap/{env.namespace}/settings@settings" in keys
