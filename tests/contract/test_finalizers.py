"""Deletion of objects with finalizers."""

import pytest

from contract.manifests import HOLD, config_map, exists
from lynq.api import LynqNode
from lynq.kube import Client, errors
from lynq.kube.resource import CONFIG_MAPS, resource_of

NODES = resource_of(LynqNode.definition)
RELEASE = {"metadata": {"finalizers": None}}


async def test_object_without_finalizers_is_removed_at_once(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace))
    assert await client.delete(CONFIG_MAPS, "a", namespace)
    assert not await exists(client, CONFIG_MAPS, "a", namespace)


async def test_finalizer_delays_the_removal(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace, finalizers=[HOLD]))
    assert not await client.delete(CONFIG_MAPS, "a", namespace)
    deleted = await client.get(CONFIG_MAPS, "a", namespace)
    metadata = deleted["metadata"]
    assert metadata["deletionTimestamp"] >= metadata["creationTimestamp"]
    assert metadata["deletionGracePeriodSeconds"] == 0
    assert metadata["uid"] == created["metadata"]["uid"]
    assert metadata["resourceVersion"] != created["metadata"]["resourceVersion"]


async def test_removal_of_the_last_finalizer_removes_the_object(
    client: Client, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, finalizers=[HOLD, f"{HOLD}-2"]))
    await client.delete(CONFIG_MAPS, "a", namespace)
    await client.patch(CONFIG_MAPS, "a", {"metadata": {"finalizers": [HOLD]}}, namespace)
    assert await exists(client, CONFIG_MAPS, "a", namespace)
    removed = await client.patch(CONFIG_MAPS, "a", RELEASE, namespace)
    assert "finalizers" not in removed["metadata"]
    assert not await exists(client, CONFIG_MAPS, "a", namespace)


async def test_removal_of_finalizers_before_the_deletion_keeps_the_object(
    client: Client, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, finalizers=[HOLD]))
    await client.patch(CONFIG_MAPS, "a", RELEASE, namespace)
    assert await exists(client, CONFIG_MAPS, "a", namespace)
    assert await client.delete(CONFIG_MAPS, "a", namespace)


async def test_second_deletion_changes_nothing(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, finalizers=[HOLD]))
    await client.delete(CONFIG_MAPS, "a", namespace)
    first = await client.get(CONFIG_MAPS, "a", namespace)
    assert not await client.delete(CONFIG_MAPS, "a", namespace)
    assert await client.get(CONFIG_MAPS, "a", namespace) == first


async def test_deleted_object_gets_no_new_finalizers(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, finalizers=[HOLD]))
    await client.delete(CONFIG_MAPS, "a", namespace)
    patch = {"metadata": {"finalizers": [HOLD, f"{HOLD}-2"]}}
    with pytest.raises(errors.Invalid) as caught:
        await client.patch(CONFIG_MAPS, "a", patch, namespace)
    causes = {(cause.field, cause.reason) for cause in caught.value.causes}
    assert causes == {("metadata.finalizers", "FieldValueForbidden")}


async def test_deleted_object_can_be_changed(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, finalizers=[HOLD]))
    await client.delete(CONFIG_MAPS, "a", namespace)
    patched = await client.patch(CONFIG_MAPS, "a", {"data": {"k": "1"}}, namespace)
    assert patched["data"] == {"k": "1"}
    applied = await client.apply(
        CONFIG_MAPS, config_map(namespace, data={"k": "1", "j": "2"}), manager="lynq"
    )
    assert applied["data"] == {"k": "1", "j": "2"}
    assert applied["metadata"]["deletionTimestamp"] == patched["metadata"]["deletionTimestamp"]


async def test_deletion_cannot_be_undone(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, finalizers=[HOLD]))
    await client.delete(CONFIG_MAPS, "a", namespace)
    patch = {"metadata": {"deletionTimestamp": None}, "data": {"k": "1"}}
    patched = await client.patch(CONFIG_MAPS, "a", patch, namespace)
    assert patched["metadata"]["deletionTimestamp"]


async def test_name_of_an_object_being_deleted_is_taken(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, finalizers=[HOLD]))
    await client.delete(CONFIG_MAPS, "a", namespace)
    with pytest.raises(errors.AlreadyExists):
        await client.create(CONFIG_MAPS, config_map(namespace))


async def test_deletion_of_an_absent_object_is_not_found(client: Client, namespace: str) -> None:
    with pytest.raises(errors.NotFound) as caught:
        await client.delete(CONFIG_MAPS, "a", namespace)
    details = caught.value.status.details
    assert (details.kind, details.name) == ("configmaps", "a")


async def test_dry_run_deletes_nothing(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace))
    assert await client.delete(CONFIG_MAPS, "a", namespace, dry_run=True)
    assert await client.get(CONFIG_MAPS, "a", namespace) == created


@pytest.mark.usefixtures("crds")
async def test_deletion_increments_the_generation(client: Client, namespace: str) -> None:
    metadata = {"name": "a", "namespace": namespace, "finalizers": [HOLD]}
    spec = {"uid": "a", "templateRef": "web"}
    await client.create(NODES, {"metadata": metadata, "spec": spec})
    await client.delete(NODES, "a", namespace)
    assert (await client.get(NODES, "a", namespace))["metadata"]["generation"] == 2
