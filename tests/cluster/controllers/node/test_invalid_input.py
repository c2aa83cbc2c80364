"""Resources that cannot be written: each says why, and nothing else of the node suffers."""

import uuid
from typing import Any

import pytest

from cluster.controllers.environment import Environment, Object
from cluster.controllers.node.builders import (
    NODE,
    another_namespace,
    apply_node,
    becomes,
    entry,
    event_count,
    event_recorded,
    make_node,
    of_kind,
    plan_is,
)
from cluster.controllers.running_operator import (
    node_has_condition,
    node_is_ready,
    resource_is,
    running_operator,
)
from cluster.local.manifests import deployment
from custom_kind import served_custom_kind
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES

HALF = '{{ repeat 900000 "x" }}'
SERVICE = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}


def large() -> Object:
    made = entry("bad")
    made["spec"]["data"] = {"a": HALF, "b": HALF}
    return made


def huge() -> Object:
    manifest = deployment("bad")
    manifest["spec"]["template"]["spec"]["containers"][0]["args"] = [HALF, HALF]
    return manifest


def broken() -> Object:
    made = entry("bad")
    made["spec"]["data"] = {"text": "first line\n{{ .nothing }}"}
    return made


def misshapen() -> Object:
    made = entry("bad")
    made["spec"]["data"] = {"number": 5}
    return made


BAD: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "unknown kind": (
        {"manifests": [of_kind("bad", {"apiVersion": "example.com/v1", "kind": "Nothing"})]},
        "ApplyFailed",
        ["example.com/v1 Nothing", "is the CRD installed?"],
    ),
    "unknown kind of a known group": (
        {"manifests": [of_kind("bad", {"apiVersion": "apps/v1", "kind": "Deploymnt"})]},
        "ApplyFailed",
        ["apps/v1 Deploymnt", "Deployment"],
    ),
    "config map too large": ({"configMaps": [large()]}, "ApplyFailed", ["larger than", "1 MiB"]),
    "too large for the store": (
        {"deployments": [of_kind("bad", huge())]},
        "ApplyFailed",
        ["larger than", "1.5 MiB"],
    ),
    "template error": (
        {"configMaps": [broken()]},
        "TemplateRenderError",
        ["data.text", "line 2", "nothing"],
    ),
    "name over 63": (
        {"services": [of_kind("bad", SERVICE, nameTemplate="s" * 64)]},
        "ApplyFailed",
        ["metadata.name"],
    ),
    "name that is none": (
        {"configMaps": [entry("bad", nameTemplate="Not_A_Name")]},
        "ApplyFailed",
        ["metadata.name"],
    ),
    "wrong type": ({"configMaps": [misshapen()]}, "ApplyFailed", []),
}


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.replace(" ", "-"))
async def test_a_resource_that_cannot_be_written_says_why(env: Environment, case: str) -> None:
    lists, reason, words = BAD[case]
    lists = dict(lists)
    config_maps = lists.pop("configMaps", [])
    async with running_operator(env):
        await make_node(env, entry("good"), *config_maps, **lists)
        found = await resource_is(env, NODE, "bad", "Failed")
        assert found["reason"] == reason
        for word in words:
            assert word in found["message"]
        await node_has_condition(env, NODE, "Ready", "False", "ResourcesFailed")
        await becomes(env, "good", plan_is("pro"))
        await resource_is(env, NODE, "good", "Ready")
        assert (await event_recorded(env, reason, about=NODE)).startswith("Warning: ")

        # Corrected, all is well.
        empty: dict[str, Any] = {name: [] for name in lists}
        await apply_node(env, entry("good"), **empty)
        await node_is_ready(env, NODE)
        assert await event_count(env, reason) == 1


async def test_a_kind_that_is_installed_later_is_found(env: Environment) -> None:
    group = f"g{uuid.uuid4().hex[:8]}.example.com"
    gadget = {"apiVersion": f"{group}/v1", "kind": "Gadget", "spec": {"size": 1}}
    async with running_operator(env):
        await make_node(env, entry("good"), manifests=[of_kind("gadget", gadget)])
        await resource_is(env, NODE, "gadget", "Failed")
        async with served_custom_kind(env.client, group) as resource:
            await becomes(
                env, "gadget", lambda obj: obj["spec"] == {"size": 1}, resource, within=40
            )
            await node_is_ready(env, NODE, within=40)


async def test_a_namespace_that_does_not_exist_is_named_and_used_when_it_does(
    env: Environment,
) -> None:
    name = f"late-{uuid.uuid4().hex[:10]}"
    async with running_operator(env, namespaces=()):
        await make_node(env, entry("far", targetNamespace=name), entry("near"))
        found = await resource_is(env, NODE, "far", "Failed")
        assert f'the namespace "{name}" does not exist' in found["message"]
        await resource_is(env, NODE, "near", "Ready")
        await env.client.create(NAMESPACES, {"metadata": {"name": name}})
        try:
            await node_is_ready(env, NODE, within=40)
        finally:
            await env.client.delete(NAMESPACES, name)


async def test_a_namespace_that_is_going_is_named(env: Environment) -> None:
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    async with another_namespace(env) as name:
        await env.client.create(CONFIG_MAPS, held, name)
        await env.client.delete(NAMESPACES, name)
        async with running_operator(env, namespaces=()):
            await make_node(env, entry("far", targetNamespace=name), entry("near"))
            found = await resource_is(env, NODE, "far", "Failed")
            assert f'the namespace "{name}" is being deleted' in found["message"]
            await resource_is(env, NODE, "near", "Ready")
        await env.client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, name)


async def test_a_typo_takes_nobody_down(env: Environment) -> None:
    async with running_operator(env):
        await make_node(env, entry("settings"), entry("other"))
        await node_is_ready(env, NODE)
        uid = (await env.get(CONFIG_MAPS, "settings"))["metadata"]["uid"]
        await apply_node(env, entry("settings", "{{ .nothing }}"), entry("other", "new"))
        node = await node_has_condition(env, NODE, "Ready", "False", "ResourcesFailed")
        await becomes(env, "other", plan_is("new"))
        found = await env.get(CONFIG_MAPS, "settings")
        assert found["metadata"]["uid"] == uid
        assert found["data"] == {"plan": "pro"}
        keys: Any = node["status"]["appliedResources"]
        assert f"ConfigMap/{env.namespace}/settings@settings" in keys
