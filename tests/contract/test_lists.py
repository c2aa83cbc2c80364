"""Lists: selectors, pages, metadata only."""

import msgspec
import pytest

from contract.manifests import config_map
from lynq.kube import Client, PartialObject, errors
from lynq.kube.resource import CONFIG_MAPS

TIERS = {"one": "web", "two": "db", "three": "web", "four": ""}


@pytest.fixture
async def tiers(client: Client, namespace: str) -> None:
    """ConfigMaps with a label tier, and one without."""
    for name, tier in TIERS.items():
        await client.create(CONFIG_MAPS, config_map(namespace, name, labels={"tier": tier}))
    await client.create(CONFIG_MAPS, config_map(namespace, "five", labels={"other": "web"}))


@pytest.mark.usefixtures("tiers")
@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("tier=web", ["one", "three"]),
        ("tier==web", ["one", "three"]),
        ("tier!=web,other", ["five"]),
        ("tier!=web,tier", ["four", "two"]),
        ("tier in (web, db)", ["one", "three", "two"]),
        ("tier notin (web,db),tier", ["four"]),
        ("tier", ["four", "one", "three", "two"]),
        ("!tier,other", ["five"]),
        ("tier=", ["four"]),
        ("tier=web,other", []),
    ],
)
async def test_list_is_selected_by_labels(
    client: Client, namespace: str, selector: str, names: list[str]
) -> None:
    listing = await client.list(CONFIG_MAPS, namespace, labels=selector)
    assert [item["metadata"]["name"] for item in listing] == names


@pytest.mark.usefixtures("tiers")
@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("metadata.name=two", ["two"]),
        ("metadata.name=none", []),
        ("metadata.name!=two,metadata.name!=kube-root-ca.crt", ["five", "four", "one", "three"]),
    ],
)
async def test_list_is_selected_by_fields(
    client: Client, namespace: str, selector: str, names: list[str]
) -> None:
    listing = await client.list(CONFIG_MAPS, namespace, fields=selector)
    assert [item["metadata"]["name"] for item in listing] == names


@pytest.mark.usefixtures("tiers")
async def test_list_of_all_namespaces_is_selected_by_namespace(
    client: Client, namespace: str, other_namespace: str
) -> None:
    await client.create(CONFIG_MAPS, config_map(other_namespace, "one", labels={"tier": "web"}))
    everywhere = await client.list(CONFIG_MAPS, labels="tier=web")
    found = {(item["metadata"]["namespace"], item["metadata"]["name"]) for item in everywhere}
    assert {(namespace, "one"), (namespace, "three"), (other_namespace, "one")} <= found
    selector = f"metadata.namespace={other_namespace}"
    here = await client.list(CONFIG_MAPS, labels="tier=web", fields=selector)
    assert [item["metadata"]["namespace"] for item in here] == [other_namespace]


async def test_invalid_label_selector_is_a_bad_request(client: Client, namespace: str) -> None:
    with pytest.raises(errors.BadRequest):
        await client.list(CONFIG_MAPS, namespace, labels="tier=(")


async def test_unsupported_field_selector_is_a_bad_request(client: Client, namespace: str) -> None:
    with pytest.raises(errors.BadRequest, match="400 BadRequest"):
        await client.list(CONFIG_MAPS, namespace, fields="data.k=v")


async def test_items_of_a_list_have_no_kind(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace))
    listing = msgspec.json.decode(await client.raw(CONFIG_MAPS.path(namespace)))
    assert (listing["apiVersion"], listing["kind"]) == ("v1", "ConfigMapList")
    assert all("kind" not in item for item in listing["items"])


async def test_list_has_the_version_of_the_last_write(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace))
    listing = await client.list(CONFIG_MAPS, namespace)
    assert int(listing.resource_version) >= int(created["metadata"]["resourceVersion"])


@pytest.mark.usefixtures("tiers")
async def test_metadata_is_listed_without_the_rest(client: Client, namespace: str) -> None:
    headers = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    listing = msgspec.json.decode(await client.raw(CONFIG_MAPS.path(namespace), headers=headers))
    assert listing["apiVersion"] == "meta.k8s.io/v1"
    assert listing["kind"] == "PartialObjectMetadataList"
    assert {frozenset(item) for item in listing["items"]} in (
        {frozenset({"metadata"})},
        {frozenset({"metadata", "apiVersion", "kind"})},
    )
    items = await client.list(CONFIG_MAPS, namespace, into=PartialObject, labels="tier=db")
    assert [item.metadata.labels for item in items] == [{"tier": "db"}]


async def test_metadata_of_an_object_is_read_without_the_rest(
    client: Client, namespace: str
) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace, data={"k": "v"}))
    headers = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
    body = await client.raw(CONFIG_MAPS.path(namespace, "a"), headers=headers)
    assert msgspec.json.decode(body) == {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": created["metadata"],
    }


async def test_metadata_is_returned_by_writes(client: Client, namespace: str) -> None:
    manifest = config_map(namespace, data={"k": "v"})
    created = await client.create(CONFIG_MAPS, manifest, into=PartialObject)
    patched = await client.patch(CONFIG_MAPS, "a", {"data": None}, namespace, into=PartialObject)
    applied = await client.apply(CONFIG_MAPS, manifest, manager="lynq", into=PartialObject)
    replaced = await client.replace(CONFIG_MAPS, config_map(namespace), into=PartialObject)
    objects = (created, patched, applied, replaced)
    assert {obj.kind for obj in objects} == {"PartialObjectMetadata"}
    assert len({obj.metadata.resource_version for obj in objects}) == len(objects)


@pytest.mark.usefixtures("tiers")
async def test_pages_are_complete_and_in_order(client: Client, namespace: str) -> None:
    pages = [
        page
        async for page in client.pages(
            CONFIG_MAPS, namespace, labels="tier", page_size=3, into=PartialObject
        )
    ]
    names = [[item.metadata.name for item in page] for page in pages]
    assert names == [["four", "one", "three"], ["two"]]
    assert [bool(page.continuation) for page in pages] == [True, False]


@pytest.mark.usefixtures("tiers")
async def test_pages_show_one_version(client: Client, namespace: str) -> None:
    pages = client.pages(CONFIG_MAPS, namespace, labels="tier", page_size=3)
    first = await anext(aiter(pages))
    await client.create(CONFIG_MAPS, config_map(namespace, "zebra", labels={"tier": "web"}))
    await client.delete(CONFIG_MAPS, "two", namespace)
    second = await anext(aiter(pages))
    assert [item["metadata"]["name"] for item in second] == ["two"]
    assert second.resource_version == first.resource_version


async def test_invalid_continuation_is_a_bad_request(client: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    with pytest.raises(errors.BadRequest):
        await client.raw(f"{path}?limit=1&continue=invalid")
