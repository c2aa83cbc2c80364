"""Namespaces, absent, active and terminating."""

import pytest

from contract.manifests import HOLD, Object, config_map, exists, wait_until_removed
from lynq.kube import Client, errors
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES, SECRETS
from waiting import eventually

RELEASE = {"metadata": {"finalizers": None}}


async def terminate(client: Client, namespace: str) -> None:
    """Delete a namespace that a held ConfigMap keeps, and wait until the others are removed."""
    await client.create(CONFIG_MAPS, config_map(namespace, "held", finalizers=[HOLD]))
    await client.create(CONFIG_MAPS, config_map(namespace, "free"))
    assert not await client.delete(NAMESPACES, namespace)
    await wait_until_removed(client, "free", namespace)


async def release(client: Client, namespace: str) -> None:
    await client.patch(CONFIG_MAPS, "held", RELEASE, namespace)
    await wait_until_removed(client, namespace, None, NAMESPACES)


async def write(client: Client, verb: str, manifest: Object) -> None:
    if verb == "create":
        await client.create(CONFIG_MAPS, manifest)
    else:
        await client.apply(CONFIG_MAPS, manifest, manager="lynq")


async def test_new_namespace_is_active(client: Client, namespace: str) -> None:
    obj = await client.get(NAMESPACES, namespace)
    assert obj["spec"] == {"finalizers": ["kubernetes"]}
    assert obj["status"] == {"phase": "Active"}
    assert obj["metadata"]["labels"] == {"kubernetes.io/metadata.name": namespace}


async def test_namespace_is_removed_with_its_objects(client: Client, other_namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(other_namespace))
    await client.create(SECRETS, {"metadata": {"name": "a"}}, other_namespace)
    assert not await client.delete(NAMESPACES, other_namespace)
    await wait_until_removed(client, other_namespace, None, NAMESPACES)
    assert not await exists(client, CONFIG_MAPS, "a", other_namespace)
    assert not await exists(client, SECRETS, "a", other_namespace)


async def test_namespace_waits_for_the_finalizers_of_its_objects(
    client: Client, other_namespace: str
) -> None:
    await terminate(client, other_namespace)

    async def is_terminating() -> bool:
        obj = await client.get(NAMESPACES, other_namespace)
        return bool(obj["metadata"]["deletionTimestamp"]) and (
            obj["status"]["phase"] == "Terminating"
        )

    await eventually(is_terminating)
    held = await client.get(CONFIG_MAPS, "held", other_namespace)
    assert held["metadata"]["deletionTimestamp"]
    await release(client, other_namespace)


@pytest.mark.parametrize("verb", ["create", "apply"])
async def test_terminating_namespace_accepts_no_new_object(
    client: Client, other_namespace: str, verb: str
) -> None:
    await terminate(client, other_namespace)
    manifest = config_map(other_namespace, "new")
    with pytest.raises(errors.Forbidden) as caught:
        await write(client, verb, manifest)
    causes = [(cause.reason, cause.field) for cause in caught.value.causes]
    assert causes == [("NamespaceTerminating", "metadata.namespace")]
    assert caught.value.status.details.name == "new"
    await release(client, other_namespace)


async def test_object_of_a_terminating_namespace_can_be_changed(
    client: Client, other_namespace: str
) -> None:
    await terminate(client, other_namespace)
    manifest = config_map(other_namespace, "held", {"k": "1"})
    assert (await client.apply(CONFIG_MAPS, manifest, manager="lynq"))["data"] == {"k": "1"}
    await release(client, other_namespace)


@pytest.mark.parametrize("verb", ["create", "apply"])
async def test_object_of_an_absent_namespace_is_not_found(client: Client, verb: str) -> None:
    manifest = config_map("test-absent")
    with pytest.raises(errors.NotFound) as caught:
        await write(client, verb, manifest)
    details = caught.value.status.details
    assert (details.kind, details.name) == ("namespaces", "test-absent")


async def test_absent_namespace_has_no_objects(client: Client) -> None:
    assert (await client.list(CONFIG_MAPS, "test-absent")).items == []
