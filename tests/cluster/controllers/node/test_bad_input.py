"""Resources that cannot be written: each says why, and nothing else of the node suffers."""

import uuid
from typing import Any

import pytest

from cluster.controllers.node.making import (
    NODE,
    another_namespace,
    becomes,
    entry,
    is_told,
    make_node,
    of_kind,
    plan_is,
    told,
    want,
)
from cluster.controllers.operating import (
    node_is_ready,
    node_says,
    operating,
    resource_is,
)
from cluster.controllers.stage import Object, Stage
from cluster.local.manifests import deployment
from gadgets import gadgets
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
async def test_a_resource_that_cannot_be_written_says_why(stage: Stage, case: str) -> None:
    lists, reason, words = BAD[case]
    lists = dict(lists)
    config_maps = lists.pop("configMaps", [])
    async with operating(stage):
        await make_node(stage, entry("good"), *config_maps, **lists)
        found = await resource_is(stage, NODE, "bad", "Failed")
        assert found["reason"] == reason
        for word in words:
            assert word in found["message"]
        await node_says(stage, NODE, "Ready", "False", "ResourcesFailed")
        await becomes(stage, "good", plan_is("pro"))
        await resource_is(stage, NODE, "good", "Ready")
        assert (await is_told(stage, reason, about=NODE)).startswith("Warning: ")

        # Corrected, all is well.
        empty: dict[str, Any] = {name: [] for name in lists}
        await want(stage, entry("good"), **empty)
        await node_is_ready(stage, NODE)
        assert await told(stage, reason) == 1


async def test_a_kind_that_is_installed_later_is_found(stage: Stage) -> None:
    group = f"g{uuid.uuid4().hex[:8]}.example.com"
    gadget = {"apiVersion": f"{group}/v1", "kind": "Gadget", "spec": {"size": 1}}
    async with operating(stage):
        await make_node(stage, entry("good"), manifests=[of_kind("gadget", gadget)])
        await resource_is(stage, NODE, "gadget", "Failed")
        async with gadgets(stage.client, group) as resource:
            await becomes(
                stage, "gadget", lambda obj: obj["spec"] == {"size": 1}, resource, within=40
            )
            await node_is_ready(stage, NODE, within=40)


async def test_a_namespace_that_does_not_exist_is_named_and_used_when_it_does(
    stage: Stage,
) -> None:
    name = f"late-{uuid.uuid4().hex[:10]}"
    async with operating(stage, namespaces=()):
        await make_node(stage, entry("far", targetNamespace=name), entry("near"))
        found = await resource_is(stage, NODE, "far", "Failed")
        assert f'the namespace "{name}" does not exist' in found["message"]
        await resource_is(stage, NODE, "near", "Ready")
        await stage.client.create(NAMESPACES, {"metadata": {"name": name}})
        try:
            await node_is_ready(stage, NODE, within=40)
        finally:
            await stage.client.delete(NAMESPACES, name)


async def test_a_namespace_that_is_going_is_named(stage: Stage) -> None:
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    async with another_namespace(stage) as name:
        await stage.client.create(CONFIG_MAPS, held, name)
        await stage.client.delete(NAMESPACES, name)
        async with operating(stage, namespaces=()):
            await make_node(stage, entry("far", targetNamespace=name), entry("near"))
            found = await resource_is(stage, NODE, "far", "Failed")
            assert f'the namespace "{name}" is being deleted' in found["message"]
            await resource_is(stage, NODE, "near", "Ready")
        await stage.client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, name)


async def test_a_typo_takes_nobody_down(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"), entry("other"))
        await node_is_ready(stage, NODE)
        uid = (await stage.get(CONFIG_MAPS, "settings"))["metadata"]["uid"]
        await want(stage, entry("settings", "{{ .nothing }}"), entry("other", "new"))
        node = await node_says(stage, NODE, "Ready", "False", "ResourcesFailed")
        await becomes(stage, "other", plan_is("new"))
        found = await stage.get(CONFIG_MAPS, "settings")
        assert found["metadata"]["uid"] == uid
        assert found["data"] == {"plan": "pro"}
        keys: Any = node["status"]["appliedResources"]
        assert f"ConfigMap/{stage.namespace}/settings@settings" in keys
