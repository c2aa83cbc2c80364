"""Garbage collection of dependents by their owner references."""

from typing import Any

import pytest

from contract.manifests import (
    CLUSTER_ROLES,
    HOLD,
    JOBS,
    Object,
    config_map,
    exists,
    job,
    owner_reference,
    wait_until_removed,
)
from lynq.kube import Client
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES
from waiting import eventually, stays

BLOCKING = {"blockOwnerDeletion": True}


async def create(client: Client, namespace: str, name: str, *owners: Object, **meta: Any) -> Object:
    """Create a ConfigMap with these owner references."""
    manifest = config_map(namespace, name, ownerReferences=list(owners), **meta)
    return await client.create(CONFIG_MAPS, manifest)


async def owner_uids(client: Client, namespace: str, name: str) -> list[str]:
    metadata = (await client.get(CONFIG_MAPS, name, namespace))["metadata"]
    return [owner["uid"] for owner in metadata.get("ownerReferences", [])]


async def test_dependents_are_removed_after_their_owner(client: Client, namespace: str) -> None:
    owner = await create(client, namespace, "owner")
    dependent = await create(client, namespace, "dependent", owner_reference(owner))
    await create(client, namespace, "dependent-of-dependent", owner_reference(dependent))
    assert await client.delete(CONFIG_MAPS, "owner", namespace, propagation="Background")
    await wait_until_removed(client, "dependent", namespace)
    await wait_until_removed(client, "dependent-of-dependent", namespace)


async def test_background_is_the_default(client: Client, namespace: str) -> None:
    owner = await create(client, namespace, "owner")
    await create(client, namespace, "dependent", owner_reference(owner))
    assert await client.delete(CONFIG_MAPS, "owner", namespace)
    await wait_until_removed(client, "dependent", namespace)


async def test_job_without_a_propagation_policy_orphans(client: Client, namespace: str) -> None:
    owner = await client.create(JOBS, job(namespace))
    await create(client, namespace, "dependent", owner_reference(owner))
    await client.delete(JOBS, "web", namespace)
    await wait_until_removed(client, "web", namespace, JOBS)
    assert await owner_uids(client, namespace, "dependent") == []


async def test_owner_waits_for_blocking_dependents_in_the_foreground(
    client: Client, namespace: str
) -> None:
    owner = await create(client, namespace, "owner")
    reference = owner_reference(owner, **BLOCKING)
    await create(client, namespace, "dependent", reference, finalizers=[HOLD])
    assert not await client.delete(CONFIG_MAPS, "owner", namespace, propagation="Foreground")

    async def is_being_deleted() -> bool:
        dependent = await client.get(CONFIG_MAPS, "dependent", namespace)
        return "deletionTimestamp" in dependent["metadata"]

    await eventually(is_being_deleted, within=90)
    waiting = await client.get(CONFIG_MAPS, "owner", namespace)
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert waiting["metadata"]["deletionTimestamp"]

    await client.patch(CONFIG_MAPS, "dependent", {"metadata": {"finalizers": None}}, namespace)
    await wait_until_removed(client, "owner", namespace)


async def test_owner_does_not_wait_for_other_dependents_in_the_foreground(
    client: Client, namespace: str
) -> None:
    owner = await create(client, namespace, "owner")
    await create(client, namespace, "dependent", owner_reference(owner), finalizers=[HOLD])
    await client.delete(CONFIG_MAPS, "owner", namespace, propagation="Foreground")
    await wait_until_removed(client, "owner", namespace)
    dependent = await client.get(CONFIG_MAPS, "dependent", namespace)
    assert dependent["metadata"]["deletionTimestamp"]
    await client.patch(CONFIG_MAPS, "dependent", {"metadata": {"finalizers": None}}, namespace)


async def test_owner_without_dependents_is_removed_in_the_foreground(
    client: Client, namespace: str
) -> None:
    await create(client, namespace, "owner")
    assert not await client.delete(CONFIG_MAPS, "owner", namespace, propagation="Foreground")
    await wait_until_removed(client, "owner", namespace)


async def test_foreground_deletion_keeps_other_finalizers(client: Client, namespace: str) -> None:
    owner = await create(client, namespace, "owner", finalizers=[HOLD])
    await create(client, namespace, "dependent", owner_reference(owner, **BLOCKING))
    await client.delete(CONFIG_MAPS, "owner", namespace, propagation="Foreground")
    await wait_until_removed(client, "dependent", namespace)

    async def is_held() -> bool:
        metadata = (await client.get(CONFIG_MAPS, "owner", namespace))["metadata"]
        return bool(metadata["finalizers"] == [HOLD])

    await eventually(is_held, within=90)
    await client.patch(CONFIG_MAPS, "owner", {"metadata": {"finalizers": None}}, namespace)
    assert not await exists(client, CONFIG_MAPS, "owner", namespace)


async def test_foreground_deletion_passes_to_dependents(client: Client, namespace: str) -> None:
    owner = await create(client, namespace, "owner")
    dependent = await create(client, namespace, "dependent", owner_reference(owner, **BLOCKING))
    reference = owner_reference(dependent, **BLOCKING)
    await create(client, namespace, "leaf", reference, finalizers=[HOLD])
    await client.delete(CONFIG_MAPS, "owner", namespace, propagation="Foreground")

    async def reaches_the_leaf() -> bool:
        metadata = (await client.get(CONFIG_MAPS, "leaf", namespace))["metadata"]
        return "deletionTimestamp" in metadata

    await eventually(reaches_the_leaf, within=90)
    middle = await client.get(CONFIG_MAPS, "dependent", namespace)
    assert middle["metadata"]["finalizers"] == ["foregroundDeletion"]
    await client.patch(CONFIG_MAPS, "leaf", {"metadata": {"finalizers": None}}, namespace)
    await wait_until_removed(client, "owner", namespace)


async def test_orphaned_dependents_lose_their_owner(client: Client, namespace: str) -> None:
    owner = await create(client, namespace, "owner")
    await create(client, namespace, "dependent", owner_reference(owner, **BLOCKING))
    assert not await client.delete(CONFIG_MAPS, "owner", namespace, propagation="Orphan")
    await wait_until_removed(client, "owner", namespace)
    assert await owner_uids(client, namespace, "dependent") == []


async def test_later_policy_replaces_the_earlier_one(client: Client, namespace: str) -> None:
    owner = await create(client, namespace, "owner", finalizers=[HOLD])
    reference = owner_reference(owner, **BLOCKING)
    await create(client, namespace, "dependent", reference, finalizers=[HOLD])
    await client.delete(CONFIG_MAPS, "owner", namespace, propagation="Foreground")
    waiting = await client.get(CONFIG_MAPS, "owner", namespace)
    assert waiting["metadata"]["finalizers"] == [HOLD, "foregroundDeletion"]
    await client.delete(CONFIG_MAPS, "owner", namespace, propagation="Background")
    metadata = (await client.get(CONFIG_MAPS, "owner", namespace))["metadata"]
    assert metadata["finalizers"] == [HOLD]
    for name in ("owner", "dependent"):
        await client.patch(CONFIG_MAPS, name, {"metadata": {"finalizers": None}}, namespace)


async def test_dependent_of_an_absent_owner_is_removed(client: Client, namespace: str) -> None:
    owner = await create(client, namespace, "owner")
    await client.delete(CONFIG_MAPS, "owner", namespace)
    await create(client, namespace, "dependent", owner_reference(owner))
    await wait_until_removed(client, "dependent", namespace)


async def test_owner_is_identified_by_its_uid(client: Client, namespace: str) -> None:
    owner = await create(client, namespace, "owner")
    await client.delete(CONFIG_MAPS, "owner", namespace)
    await create(client, namespace, "owner")
    await create(client, namespace, "dependent", owner_reference(owner))
    await wait_until_removed(client, "dependent", namespace)


async def test_reference_to_an_absent_owner_removes_an_existing_object(
    client: Client, namespace: str
) -> None:
    owner = await create(client, namespace, "owner")
    await client.delete(CONFIG_MAPS, "owner", namespace)
    await create(client, namespace, "dependent")
    patch = {"metadata": {"ownerReferences": [owner_reference(owner)]}}
    await client.patch(CONFIG_MAPS, "dependent", patch, namespace)
    await wait_until_removed(client, "dependent", namespace)


async def test_owner_in_another_namespace_counts_as_absent(
    client: Client, namespace: str, other_namespace: str
) -> None:
    owner = await create(client, other_namespace, "owner")
    await create(client, namespace, "dependent", owner_reference(owner))
    await wait_until_removed(client, "dependent", namespace)
    assert await exists(client, CONFIG_MAPS, "owner", other_namespace)


async def test_cluster_scoped_owner_owns_objects_of_any_namespace(
    client: Client, namespace: str, other_namespace: str
) -> None:
    owner = await client.get(NAMESPACES, other_namespace)
    await create(client, namespace, "dependent", owner_reference(owner))
    await stays(lambda: exists(client, CONFIG_MAPS, "dependent", namespace), seconds=0.3)
    await client.delete(NAMESPACES, other_namespace)
    await wait_until_removed(client, other_namespace, None, NAMESPACES)
    await wait_until_removed(client, "dependent", namespace)


async def test_namespaced_owner_of_a_cluster_scoped_object_is_ignored(
    client: Client, namespace: str
) -> None:
    owner = await create(client, namespace, "owner")
    metadata = {"name": namespace, "ownerReferences": [owner_reference(owner)]}
    await client.create(CLUSTER_ROLES, {"metadata": metadata, "rules": []})
    await client.delete(CONFIG_MAPS, "owner", namespace)
    await stays(lambda: exists(client, CLUSTER_ROLES, namespace, None), seconds=0.5)
    await client.delete(CLUSTER_ROLES, namespace)


async def test_object_lives_as_long_as_one_of_its_owners(client: Client, namespace: str) -> None:
    first, second = [await create(client, namespace, name) for name in ("first", "second")]
    references = [owner_reference(first), owner_reference(second)]
    await create(client, namespace, "dependent", *references)
    await client.delete(CONFIG_MAPS, "first", namespace)

    async def has_one_owner() -> bool:
        uids = await owner_uids(client, namespace, "dependent")
        return uids == [second["metadata"]["uid"]]

    await eventually(has_one_owner, within=90)
    await client.delete(CONFIG_MAPS, "second", namespace)
    await wait_until_removed(client, "dependent", namespace)


async def test_object_with_another_owner_survives_a_foreground_deletion(
    client: Client, namespace: str
) -> None:
    first, second = [await create(client, namespace, name) for name in ("first", "second")]
    references = [owner_reference(first, **BLOCKING), owner_reference(second, **BLOCKING)]
    await create(client, namespace, "dependent", *references)
    await client.delete(CONFIG_MAPS, "first", namespace, propagation="Foreground")
    await wait_until_removed(client, "first", namespace)
    assert await owner_uids(client, namespace, "dependent") == [second["metadata"]["uid"]]


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_collected_object_waits_for_its_finalizers(
    client: Client, namespace: str, propagation: Any
) -> None:
    owner = await create(client, namespace, "owner")
    await create(client, namespace, "dependent", owner_reference(owner), finalizers=[HOLD])
    await client.delete(CONFIG_MAPS, "owner", namespace, propagation=propagation)

    async def is_being_deleted() -> bool:
        dependent = await client.get(CONFIG_MAPS, "dependent", namespace)
        return "deletionTimestamp" in dependent["metadata"]

    await eventually(is_being_deleted, within=90)
    await client.patch(CONFIG_MAPS, "dependent", {"metadata": {"finalizers": None}}, namespace)
    assert not await exists(client, CONFIG_MAPS, "dependent", namespace)
