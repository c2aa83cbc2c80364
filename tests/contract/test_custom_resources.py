"""CustomResourceDefinitions and discovery."""

import uuid

import pytest

from contract.manifests import Object, exists, fields_of, wait_until_removed, widget
from custom_kind import served_custom_kind
from lynq.kube import Client, Discovery, Resource, errors
from lynq.kube.discovery import read_served
from lynq.kube.resource import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from waiting import eventually


async def test_schema_sets_defaults(client: Client, namespace: str, widgets: Resource) -> None:
    created = await client.create(widgets, widget(namespace))
    assert created["spec"] == {"size": 1, "color": "red"}
    removed = await client.patch(widgets, "a", {"spec": {"color": None}}, namespace)
    assert removed["spec"]["color"] == "red"


async def test_default_is_not_owned_by_its_applier(
    client: Client, namespace: str, widgets: Resource
) -> None:
    applied = await client.apply(widgets, widget(namespace), manager="one")
    assert applied["spec"]["color"] == "red"
    assert fields_of(applied, "one") == {"f:spec": {"f:size": {}}}


async def test_unknown_fields_are_pruned(client: Client, namespace: str, widgets: Resource) -> None:
    free = {"deep": {"unknown": [1]}}
    created = await client.create(widgets, widget(namespace, unknown=1, free=free))
    assert created["spec"] == {"size": 1, "color": "red", "free": free}


async def test_applied_unknown_field_is_an_error(
    client: Client, namespace: str, widgets: Resource
) -> None:
    with pytest.raises(errors.InternalError):
        await client.apply(widgets, widget(namespace, unknown=1), manager="one")


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ({"size": 0}, ("spec.size", "FieldValueInvalid")),
        ({"size": "one"}, ("spec.size", "FieldValueTypeInvalid")),
        ({"color": "green"}, ("spec.color", "FieldValueNotSupported")),
        ({"size": None}, ("spec.size", "FieldValueRequired")),
    ],
)
async def test_schema_is_validated(
    client: Client, namespace: str, widgets: Resource, spec: Object, cause: tuple[str, str]
) -> None:
    with pytest.raises(errors.Invalid) as caught:
        await client.create(widgets, widget(namespace, **spec))
    assert cause in {(each.field, each.reason) for each in caught.value.causes}
    details = caught.value.status.details
    assert (details.kind, details.group, details.name) == ("Widget", widgets.group, "a")


async def test_status_is_a_subresource(client: Client, namespace: str, widgets: Resource) -> None:
    created = await client.create(widgets, widget(namespace) | {"status": {"phase": "New"}})
    assert "status" not in created
    status = {"status": {"phase": "Ready"}, "spec": {"size": 2}}
    patched = await client.patch(widgets, "a", status, namespace, subresource="status")
    assert patched["status"] == {"phase": "Ready"}
    assert patched["spec"]["size"] == 1
    assert patched["metadata"]["generation"] == 1


async def test_list_map_is_merged_by_key(client: Client, namespace: str, widgets: Resource) -> None:
    first = widget(namespace, parts=[{"name": "x", "value": "1"}])
    second = widget(namespace, parts=[{"name": "y", "value": "1"}])
    await client.apply(widgets, first, manager="one")
    both = await client.apply(widgets, second, manager="two")
    assert [part["name"] for part in both["spec"]["parts"]] == ["x", "y"]
    assert fields_of(both, "two")["f:spec"]["f:parts"] == {
        'k:{"name":"y"}': {".": {}, "f:name": {}, "f:value": {}}
    }
    left = await client.apply(widgets, widget(namespace), manager="one")
    assert [part["name"] for part in left["spec"]["parts"]] == ["y"]


async def test_set_is_merged_by_value(client: Client, namespace: str, widgets: Resource) -> None:
    await client.apply(widgets, widget(namespace, tags=["x"]), manager="one")
    both = await client.apply(widgets, widget(namespace, tags=["y", "x"]), manager="two")
    assert sorted(both["spec"]["tags"]) == ["x", "y"]
    assert fields_of(both, "two")["f:spec"]["f:tags"] == {'v:"x"': {}, 'v:"y"': {}}
    left = await client.apply(widgets, widget(namespace), manager="two")
    assert left["spec"]["tags"] == ["x"]


async def test_other_list_is_atomic(client: Client, namespace: str, widgets: Resource) -> None:
    applied = await client.apply(widgets, widget(namespace, words=["x"]), manager="one")
    assert fields_of(applied, "one")["f:spec"]["f:words"] == {}
    with pytest.raises(errors.Conflict) as caught:
        await client.apply(widgets, widget(namespace, words=["x", "y"]), manager="two")
    assert [conflict.field for conflict in caught.value.fields] == [".spec.words"]


async def test_map_is_merged_by_key(client: Client, namespace: str, widgets: Resource) -> None:
    await client.apply(widgets, widget(namespace, labels={"x": "1"}), manager="one")
    both = await client.apply(widgets, widget(namespace, labels={"y": "1"}), manager="two")
    assert both["spec"]["labels"] == {"x": "1", "y": "1"}
    left = await client.apply(widgets, widget(namespace), manager="one")
    assert left["spec"]["labels"] == {"y": "1"}


async def test_free_object_is_owned_by_leaf(
    client: Client, namespace: str, widgets: Resource
) -> None:
    free = {"deep": {"a": 1}, "list": [1]}
    applied = await client.apply(widgets, widget(namespace, free=free), manager="one")
    assert fields_of(applied, "one")["f:spec"]["f:free"] == {
        "f:deep": {".": {}, "f:a": {}},
        "f:list": {},
    }


async def test_kind_is_served_until_its_definition_is_deleted(
    client: Client, namespace: str
) -> None:
    group = f"{namespace}.example.com"
    async with served_custom_kind(client, group) as gadgets:
        created = await client.create(gadgets, {"metadata": {"name": "a"}}, namespace)
        assert (created["apiVersion"], created["kind"]) == (f"{group}/v1", "Gadget")

        async def is_discovered() -> bool:
            return gadgets in ((await read_served(client)).get(f"{group}/v1") or ())

        await eventually(is_discovered)
    await wait_until_removed(client, f"gadgets.{group}", None, CUSTOM_RESOURCE_DEFINITIONS)

    async def is_unserved() -> bool:
        with pytest.raises(errors.NotFound) as caught:
            await client.get(gadgets, "a", namespace)
        return not caught.value.proves_absence

    await eventually(is_unserved)

    async def is_not_discovered() -> bool:
        return f"{group}/v1" not in await read_served(client)

    await eventually(is_not_discovered)


async def test_objects_are_removed_with_their_definition(client: Client, namespace: str) -> None:
    group = f"{namespace}.example.com"
    async with served_custom_kind(client, group) as gadgets:
        await client.create(gadgets, {"metadata": {"name": "a"}}, namespace)
    await wait_until_removed(client, f"gadgets.{group}", None, CUSTOM_RESOURCE_DEFINITIONS)
    async with served_custom_kind(client, group) as gadgets:
        assert not await exists(client, gadgets, "a", namespace)


@pytest.mark.parametrize(
    "resource",
    [
        CONFIG_MAPS,
        NAMESPACES,
        CUSTOM_RESOURCE_DEFINITIONS,
        Resource("apps", "v1", "Deployment", "deployments", namespaced=True),
        Resource("batch", "v1", "Job", "jobs", namespaced=True),
    ],
    ids=str,
)
async def test_built_in_kind_is_discovered(client: Client, resource: Resource) -> None:
    found = await Discovery(client).resource(resource.api_version, resource.kind)
    assert found == resource


async def test_versions_of_a_group_are_listed_by_their_priority(client: Client) -> None:
    group = f"{uuid.uuid4().hex[:10]}.example.com"
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": schema}
        for name in ("v1alpha1", "v1beta2", "v1", "v2beta1", "v2")
    ]
    definition = {
        "metadata": {"name": f"gears.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "gears", "kind": "Gear"},
            "versions": versions,
        },
    }
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)

    async def listed() -> bool:
        served = [each for each in await read_served(client) if each.startswith(group)]
        names = [each.removeprefix(f"{group}/") for each in served]
        return names == ["v2", "v1", "v2beta1", "v1beta2", "v1alpha1"]

    try:
        await eventually(listed, within=30)
    finally:
        await client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"gears.{group}")
