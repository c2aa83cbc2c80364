"""Resource versions, uids and generations, and the writes that are conditional on them."""

import pytest

from built_in_resources import DEPLOYMENTS
from contract.manifests import config_map, container, deployment
from lynq.api import LynqNode
from lynq.kube import Client, errors
from lynq.kube.requests import with_uid
from lynq.kube.resource import CONFIG_MAPS, resource_of

NODES = resource_of(LynqNode.definition)
ANOTHER_UID = "00000000-0000-4000-8000-000000000000"


async def test_each_change_has_a_higher_version(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace, data={"k": "1"}))
    patched = await client.patch(CONFIG_MAPS, "a", {"data": {"k": "2"}}, namespace)
    replaced = await client.replace(CONFIG_MAPS, config_map(namespace, data={"k": "3"}))
    versions = [int(obj["metadata"]["resourceVersion"]) for obj in (created, patched, replaced)]
    assert versions == sorted(set(versions))


async def test_write_without_effect_keeps_the_version(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace, data={"k": "1"}))
    patched = await client.patch(CONFIG_MAPS, "a", {"data": {"k": "1"}}, namespace)
    assert patched == created
    assert await client.replace(CONFIG_MAPS, patched) == created
    assert await client.get(CONFIG_MAPS, "a", namespace) == created


async def test_recreated_object_has_another_uid(client: Client, namespace: str) -> None:
    first = await client.create(CONFIG_MAPS, config_map(namespace))
    await client.delete(CONFIG_MAPS, "a", namespace)
    second = await client.create(CONFIG_MAPS, config_map(namespace))
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


async def test_uid_of_a_create_is_the_servers(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace, uid=ANOTHER_UID))
    assert created["metadata"]["uid"] != ANOTHER_UID


async def test_name_is_generated(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, {"metadata": {"generateName": "x-"}}, namespace)
    assert created["metadata"]["generateName"] == "x-"
    assert len(created["metadata"]["name"]) == len("x-12345")


async def test_replace_of_an_old_version_is_a_conflict(client: Client, namespace: str) -> None:
    old = await client.create(CONFIG_MAPS, config_map(namespace, data={"k": "1"}))
    await client.replace(CONFIG_MAPS, old | {"data": {"k": "2"}})
    with pytest.raises(errors.Conflict) as caught:
        await client.replace(CONFIG_MAPS, old | {"data": {"k": "3"}})
    status = caught.value.status
    assert (status.code, status.reason) == (409, "Conflict")
    assert (status.details.kind, status.details.name) == ("configmaps", "a")
    assert caught.value.fields == []


async def test_replace_without_a_version_overwrites(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, data={"k": "1"}, labels={"l": "1"}))
    replaced = await client.replace(CONFIG_MAPS, config_map(namespace, data={"j": "2"}))
    assert replaced["data"] == {"j": "2"}
    assert "labels" not in replaced["metadata"]


@pytest.mark.usefixtures("crds")
async def test_replace_of_a_custom_object_requires_a_version(
    client: Client, namespace: str
) -> None:
    manifest = {
        "metadata": {"name": "a", "namespace": namespace},
        "spec": {"uid": "a", "templateRef": "web"},
    }
    await client.create(NODES, manifest)
    with pytest.raises(errors.Invalid) as caught:
        await client.replace(NODES, manifest)
    assert [cause.field for cause in caught.value.causes] == ["metadata.resourceVersion"]


async def test_replace_of_an_absent_object_is_not_found(client: Client, namespace: str) -> None:
    with pytest.raises(errors.NotFound) as caught:
        await client.replace(CONFIG_MAPS, config_map(namespace))
    assert caught.value.proves_absence


async def test_replace_with_another_uid_is_a_conflict(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace))
    with pytest.raises(errors.Conflict):
        await client.replace(CONFIG_MAPS, config_map(namespace, uid=ANOTHER_UID))


async def test_patch_with_an_old_version_is_a_conflict(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace))
    version = created["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": version}, "data": {"k": "1"}}
    await client.patch(CONFIG_MAPS, "a", patch, namespace)
    with pytest.raises(errors.Conflict) as caught:
        await client.patch(CONFIG_MAPS, "a", patch, namespace)
    assert caught.value.fields == []


async def test_patch_with_another_uid_is_invalid(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace))
    patch = {"data": {"k": "1"}}
    with pytest.raises(errors.Invalid) as caught:
        await client.patch(CONFIG_MAPS, "a", with_uid(patch, ANOTHER_UID), namespace)
    assert {error.field for error in caught.value.fields} == {"metadata.uid"}
    own = with_uid(patch, created["metadata"]["uid"])
    assert (await client.patch(CONFIG_MAPS, "a", own, namespace))["data"] == {"k": "1"}


@pytest.mark.usefixtures("crds")
async def test_patch_of_a_custom_object_with_another_uid_is_invalid(
    client: Client, namespace: str
) -> None:
    manifest = {"metadata": {"name": "a"}, "spec": {"uid": "a", "templateRef": "web"}}
    await client.create(NODES, manifest, namespace)
    with pytest.raises(errors.Invalid) as caught:
        await client.patch(NODES, "a", with_uid({"spec": {"uid": "b"}}, ANOTHER_UID), namespace)
    assert {error.field for error in caught.value.fields} == {"metadata.uid"}


async def test_apply_with_another_uid_is_invalid(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace))
    manifest = config_map(namespace, data={"k": "1"}, uid=ANOTHER_UID)
    with pytest.raises(errors.Invalid) as caught:
        await client.apply(CONFIG_MAPS, manifest, manager="lynq")
    assert {error.field for error in caught.value.fields} == {"metadata.uid"}


async def test_version_is_checked_before_the_uid(client: Client, namespace: str) -> None:
    old = (await client.create(CONFIG_MAPS, config_map(namespace)))["metadata"]
    await client.delete(CONFIG_MAPS, "a", namespace)
    await client.create(CONFIG_MAPS, config_map(namespace))
    guard = {"uid": old["uid"], "resourceVersion": old["resourceVersion"]}
    with pytest.raises(errors.Conflict):
        await client.patch(CONFIG_MAPS, "a", {"metadata": guard, "data": {"k": "1"}}, namespace)
    manifest = config_map(namespace, data={"k": "1"}, **guard)
    with pytest.raises(errors.Conflict):
        await client.apply(CONFIG_MAPS, manifest, manager="lynq")


async def test_apply_with_a_uid_creates_nothing(client: Client, namespace: str) -> None:
    manifest = config_map(namespace, uid=ANOTHER_UID)
    with pytest.raises(errors.Conflict) as caught:
        await client.apply(CONFIG_MAPS, manifest, manager="lynq")
    assert caught.value.fields == []
    with pytest.raises(errors.NotFound):
        await client.get(CONFIG_MAPS, "a", namespace)


async def test_apply_with_an_old_version_is_a_conflict(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace))
    version = created["metadata"]["resourceVersion"]
    manifest = config_map(namespace, data={"k": "1"}, resourceVersion=version)
    await client.apply(CONFIG_MAPS, manifest, manager="lynq")
    manifest["data"]["k"] = "2"
    with pytest.raises(errors.Conflict) as caught:
        await client.apply(CONFIG_MAPS, manifest, manager="lynq")
    assert caught.value.fields == []


async def test_delete_with_another_uid_or_version_is_a_conflict(
    client: Client, namespace: str
) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace))
    metadata = created["metadata"]
    with pytest.raises(errors.Conflict) as caught:
        await client.delete(CONFIG_MAPS, "a", namespace, uid=ANOTHER_UID)
    assert caught.value.status.details.name == "a"
    with pytest.raises(errors.Conflict):
        await client.delete(CONFIG_MAPS, "a", namespace, resource_version="1")
    assert await client.delete(
        CONFIG_MAPS,
        "a",
        namespace,
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )


async def test_generation_counts_changes_of_the_spec(client: Client, namespace: str) -> None:
    async def generation_after(patch: dict[str, object]) -> int:
        patched = await client.patch(DEPLOYMENTS, "web", patch, namespace)
        return int(patched["metadata"]["generation"])

    created = await client.create(DEPLOYMENTS, deployment(namespace, container(), replicas=0))
    assert created["metadata"]["generation"] == 1
    assert await generation_after({"spec": {"minReadySeconds": 1}}) == 2
    assert await generation_after({"metadata": {"labels": {"tier": "one"}}}) == 2
    assert await generation_after({"spec": {"minReadySeconds": 2}}) == 3


@pytest.mark.usefixtures("crds")
async def test_generation_of_a_custom_object_counts_changes_of_the_spec(
    client: Client, namespace: str
) -> None:
    spec = {"uid": "a", "templateRef": "web"}
    created = await client.create(NODES, {"metadata": {"name": "a"}, "spec": spec}, namespace)
    assert created["metadata"]["generation"] == 1
    label = {"metadata": {"labels": {"tier": "one"}}}
    assert (await client.patch(NODES, "a", label, namespace))["metadata"]["generation"] == 1
    changed = await client.patch(NODES, "a", {"spec": {"uid": "b"}}, namespace)
    assert changed["metadata"]["generation"] == 2
    status = {"status": {"observedGeneration": 2}}
    patched = await client.patch(NODES, "a", status, namespace, subresource="status")
    assert patched["metadata"]["generation"] == 2


async def test_config_map_has_no_generation(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace))
    assert "generation" not in created["metadata"]
