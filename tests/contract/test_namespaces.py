"""Namespaces, absent, active and terminating."""

import uuid
from collections.abc import AsyncIterator

import pytest

from contract.manifests import HOLD, Object, config_map, exists, wait_until_removed
from lynq.kube import Client, errors
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES, SECRETS


@pytest.fixture(scope="module")
async def terminating(client: Client) -> AsyncIterator[str]:
    """A Namespace that a ConfigMap with a finalizer keeps, and whose other objects are removed."""
    name = f"terminating-{uuid.uuid4().hex[:10]}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    await client.create(CONFIG_MAPS, config_map(name, "held", finalizers=[HOLD]))
    await client.create(CONFIG_MAPS, config_map(name, "free"))
    assert not await client.delete(NAMESPACES, name)
    await wait_until_removed(client, "free", name)
    yield name
    await client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, name)
    await wait_until_removed(client, name, None, NAMESPACES)


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
    client: Client, terminating: str
) -> None:
    obj = await client.get(NAMESPACES, terminating)
    assert obj["metadata"]["deletionTimestamp"]
    assert obj["status"]["phase"] == "Terminating"
    held = await client.get(CONFIG_MAPS, "held", terminating)
    assert held["metadata"]["deletionTimestamp"]


@pytest.mark.parametrize("verb", ["create", "apply"])
async def test_terminating_namespace_accepts_no_new_object(
    client: Client, terminating: str, verb: str
) -> None:
    with pytest.raises(errors.Forbidden) as caught:
        await write(client, verb, config_map(terminating, "new"))
    causes = [(cause.reason, cause.field) for cause in caught.value.causes]
    assert causes == [("NamespaceTerminating", "metadata.namespace")]
    assert caught.value.status.details.name == "new"


async def test_object_of_a_terminating_namespace_can_be_changed(
    client: Client, terminating: str
) -> None:
    manifest = config_map(terminating, "held", {"k": "1"})
    assert (await client.apply(CONFIG_MAPS, manifest, manager="lynq"))["data"] == {"k": "1"}


@pytest.mark.parametrize("verb", ["create", "apply"])
async def test_object_of_an_absent_namespace_is_not_found(client: Client, verb: str) -> None:
    with pytest.raises(errors.NotFound) as caught:
        await write(client, verb, config_map("test-absent"))
    details = caught.value.status.details
    assert (details.kind, details.name) == ("namespaces", "test-absent")


async def test_absent_namespace_has_no_objects(client: Client) -> None:
    assert (await client.list(CONFIG_MAPS, "test-absent")).items == []
