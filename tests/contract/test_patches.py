"""Merge patches, JSON patches and replacements, and the fields that their manager owns."""

from typing import Any

import pytest

from built_in_resources import DEPLOYMENTS, SERVICES
from contract.manifests import config_map, container, deployment, fields_of, managers, service
from lynq.api import LynqNode
from lynq.kube import Client, Patch, errors
from lynq.kube.resource import CONFIG_MAPS, resource_of

NODES = resource_of(LynqNode.definition)


@pytest.mark.parametrize(
    ("patch", "data"),
    [
        ({"a": None}, {"b": "2"}),
        ({"c": "3"}, {"a": "1", "b": "2", "c": "3"}),
        ({"a": "3", "b": None}, {"a": "3"}),
        ({"c": None}, {"a": "1", "b": "2"}),
        ({}, {"a": "1", "b": "2"}),
    ],
)
async def test_merge_patch_merges_objects(
    client: Client, namespace: str, patch: dict[str, Any], data: dict[str, str]
) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, data={"a": "1", "b": "2"}))
    assert (await client.patch(CONFIG_MAPS, "a", {"data": patch}, namespace))["data"] == data


async def test_merge_patch_removes_a_field_by_null(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, data={"a": "1"}))
    assert "data" not in await client.patch(CONFIG_MAPS, "a", {"data": None}, namespace)


async def test_merge_patch_adds_missing_objects(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace))
    patch = {"metadata": {"annotations": {"k": "v", "gone": None}}}
    patched = await client.patch(CONFIG_MAPS, "a", patch, namespace)
    assert patched["metadata"]["annotations"] == {"k": "v"}


async def test_merge_patch_replaces_lists(client: Client, namespace: str) -> None:
    containers = [container("web"), container("sidecar")]
    await client.create(DEPLOYMENTS, deployment(namespace, *containers))
    patch = {"spec": {"template": {"spec": {"containers": [container("other")]}}}}
    patched = await client.patch(DEPLOYMENTS, "web", patch, namespace)
    names = [item["name"] for item in patched["spec"]["template"]["spec"]["containers"]]
    assert names == ["other"]


async def test_patch_of_an_absent_object_is_not_found(client: Client, namespace: str) -> None:
    with pytest.raises(errors.NotFound) as caught:
        await client.patch(CONFIG_MAPS, "a", {}, namespace)
    assert caught.value.proves_absence


async def test_patch_as_a_dry_run_changes_nothing(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace, data={"k": "1"}))
    changes = {"data": {"k": "2"}}
    patched = await client.patch(CONFIG_MAPS, "a", changes, namespace, dry_run=True)
    assert patched["data"] == {"k": "2"}
    assert patched["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert await client.get(CONFIG_MAPS, "a", namespace) == created


async def test_patch_changes_neither_name_nor_creation_time(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace))
    patch = {"metadata": {"creationTimestamp": "2000-01-01T00:00:00Z"}}
    patched = await client.patch(CONFIG_MAPS, "a", patch, namespace)
    assert patched["metadata"]["creationTimestamp"] == created["metadata"]["creationTimestamp"]
    with pytest.raises(errors.BadRequest):
        await client.patch(CONFIG_MAPS, "a", {"metadata": {"name": "b"}}, namespace)


@pytest.mark.parametrize(
    ("steps", "data"),
    [
        ([{"op": "add", "path": "/data/c", "value": "3"}], {"a": "1", "b/b": "2", "c": "3"}),
        ([{"op": "add", "path": "/data", "value": {"c": "3"}}], {"c": "3"}),
        ([{"op": "replace", "path": "/data/a", "value": "3"}], {"a": "3", "b/b": "2"}),
        # RFC 6902 requires the value to exist; the API server does not.
        ([{"op": "replace", "path": "/data/c", "value": "3"}], {"a": "1", "b/b": "2", "c": "3"}),
        ([{"op": "remove", "path": "/data/b~1b"}], {"a": "1"}),
        ([{"op": "move", "from": "/data/a", "path": "/data/c"}], {"b/b": "2", "c": "1"}),
        ([{"op": "copy", "from": "/data/a", "path": "/data/c"}], {"a": "1", "b/b": "2", "c": "1"}),
        (
            [
                {"op": "test", "path": "/data/a", "value": "1"},
                {"op": "remove", "path": "/data/a"},
            ],
            {"b/b": "2"},
        ),
    ],
    ids=["add", "add-object", "replace", "replace-absent", "remove", "move", "copy", "test"],
)
async def test_json_patch_carries_out_its_operations(
    client: Client, namespace: str, steps: list[dict[str, Any]], data: dict[str, str]
) -> None:
    stored = {"a": "1", "b~1b": "2"}
    await client.create(DEPLOYMENTS, deployment(namespace, container()))
    annotations = {key.replace("~1", "/"): value for key, value in stored.items()}
    await client.patch(DEPLOYMENTS, "web", {"metadata": {"annotations": annotations}}, namespace)
    moved = [
        {
            key: value.replace("/data", "/metadata/annotations")
            if key in ("path", "from")
            else value
            for key, value in step.items()
        }
        for step in steps
    ]
    patched = await client.patch(DEPLOYMENTS, "web", moved, namespace, kind=Patch.JSON)
    assert patched["metadata"]["annotations"] == data


async def test_json_patch_changes_lists_by_index(client: Client, namespace: str) -> None:
    args = ["a", "b"]
    await client.create(DEPLOYMENTS, deployment(namespace, container(args=args)))
    path = "/spec/template/spec/containers/0/args"
    steps = [
        {"op": "add", "path": f"{path}/1", "value": "between"},
        {"op": "add", "path": f"{path}/-", "value": "end"},
        {"op": "remove", "path": f"{path}/0"},
    ]
    patched = await client.patch(DEPLOYMENTS, "web", steps, namespace, kind=Patch.JSON)
    containers = patched["spec"]["template"]["spec"]["containers"]
    assert containers[0]["args"] == ["between", "b", "end"]


@pytest.mark.parametrize(
    "step",
    [
        {"op": "test", "path": "/data/k", "value": "2"},
        {"op": "test", "path": "/data/absent", "value": "2"},
        {"op": "remove", "path": "/data/absent"},
        {"op": "replace", "path": "/absent/k", "value": "2"},
        {"op": "add", "path": "/absent/k", "value": "2"},
    ],
    ids=["test", "test-absent", "remove", "replace", "add"],
)
async def test_json_patch_that_does_not_fit_is_invalid(
    client: Client, namespace: str, step: dict[str, Any]
) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace, data={"k": "1"}))
    steps = [{"op": "add", "path": "/data/j", "value": "1"}, step]
    with pytest.raises(errors.Invalid):
        await client.patch(CONFIG_MAPS, "a", steps, namespace, kind=Patch.JSON)
    assert await client.get(CONFIG_MAPS, "a", namespace) == created


async def test_writer_owns_what_it_changes(client: Client, namespace: str) -> None:
    manifest = config_map(namespace, data={"a": "1"}, labels={"tier": "web"})
    created = await client.create(CONFIG_MAPS, manifest, manager="one")
    assert managers(created) == [("one", "Update")]
    assert fields_of(created, "one", "Update") == {
        "f:data": {".": {}, "f:a": {}},
        "f:metadata": {"f:labels": {".": {}, "f:tier": {}}},
    }
    changes = {"data": {"a": "2", "b": "1"}}
    patched = await client.patch(CONFIG_MAPS, "a", changes, namespace, manager="two")
    assert fields_of(patched, "one", "Update") == {
        "f:data": {},
        "f:metadata": {"f:labels": {".": {}, "f:tier": {}}},
    }
    assert fields_of(patched, "two", "Update") == {"f:data": {"f:a": {}, "f:b": {}}}


async def test_writer_does_not_own_what_it_leaves_unchanged(client: Client, namespace: str) -> None:
    manifest = config_map(namespace, data={"a": "1", "b": "1"})
    await client.create(CONFIG_MAPS, manifest, manager="one")
    manifest["data"]["b"] = "2"
    replaced = await client.replace(CONFIG_MAPS, manifest, manager="two")
    assert fields_of(replaced, "two", "Update") == {"f:data": {"f:b": {}}}


async def test_manager_of_no_field_has_no_entry(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, data={"a": "1"}), manager="one")
    replaced = await client.replace(CONFIG_MAPS, config_map(namespace), manager="two")
    assert managers(replaced) == []


async def test_writes_of_one_manager_are_one_entry(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, data={"a": "1"}), manager="one")
    changes = {"data": {"a": None, "b": "1"}}
    patched = await client.patch(CONFIG_MAPS, "a", changes, namespace, manager="one")
    assert managers(patched) == [("one", "Update")]
    assert fields_of(patched, "one", "Update") == {"f:data": {".": {}, "f:b": {}}}


@pytest.mark.usefixtures("crds")
async def test_status_of_a_custom_object_is_written_apart(client: Client, namespace: str) -> None:
    spec = {"uid": "a", "templateRef": "web"}
    manifest = {"metadata": {"name": "a"}, "spec": spec, "status": {"readyResources": 1}}
    created = await client.create(NODES, manifest, namespace, manager="one")
    assert "status" not in created
    both: dict[str, Any] = {"spec": {"uid": "b"}, "status": {"readyResources": 2}}
    patched = await client.patch(NODES, "a", both, namespace, subresource="status", manager="two")
    assert patched["status"]["readyResources"] == 2
    assert patched["spec"]["uid"] == "a"
    assert fields_of(patched, "two", "Update", "status") == {"f:status": {}}
    both["status"]["readyResources"] = 3
    patched = await client.patch(NODES, "a", both, namespace)
    assert patched["status"]["readyResources"] == 2
    assert patched["spec"]["uid"] == "b"


async def test_status_of_a_built_in_object_is_written_apart(client: Client, namespace: str) -> None:
    def balanced(address: str) -> dict[str, Any]:
        return {"loadBalancer": {"ingress": [{"ip": address, "ipMode": "VIP"}]}}

    await client.create(SERVICES, service(namespace, {"port": 80}, type="LoadBalancer"))
    both = {"status": balanced("192.0.2.1"), "spec": {"sessionAffinity": "ClientIP"}}
    patched = await client.patch(SERVICES, "web", both, namespace, subresource="status")
    assert patched["status"] == balanced("192.0.2.1")
    assert patched["spec"]["sessionAffinity"] == "None"
    replaced = await client.replace(SERVICES, patched | {"status": {}})
    assert replaced["status"] == balanced("192.0.2.1")


@pytest.mark.usefixtures("crds")
async def test_labels_are_not_written_with_the_status(client: Client, namespace: str) -> None:
    spec = {"uid": "a", "templateRef": "web"}
    await client.create(NODES, {"metadata": {"name": "a"}, "spec": spec}, namespace)
    patch = {"metadata": {"labels": {"tier": "web"}}, "status": {"readyResources": 1}}
    patched = await client.patch(NODES, "a", patch, namespace, subresource="status")
    assert "labels" not in patched["metadata"]


async def test_list_of_managers_is_emptied_by_one_empty_entry(
    client: Client, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, data={"a": "1"}), manager="one")
    patch: dict[str, Any] = {"metadata": {"managedFields": [{}]}}
    patched = await client.patch(CONFIG_MAPS, "a", patch, namespace, manager="two")
    assert managers(patched) == []


async def test_list_of_managers_can_be_written(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace, data={"a": "1"}), manager="x")
    entry = created["metadata"]["managedFields"][0] | {"operation": "Apply"}
    version = created["metadata"]["resourceVersion"]
    patch = {"metadata": {"managedFields": [entry], "resourceVersion": version}}
    patched = await client.patch(CONFIG_MAPS, "a", patch, namespace, manager="x")
    assert managers(patched) == [("x", "Apply")]
    applied = await client.apply(CONFIG_MAPS, config_map(namespace), manager="x")
    assert "data" not in applied
