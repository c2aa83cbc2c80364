import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from built_in_resources import DEPLOYMENTS, SERVICE_ACCOUNTS, SERVICES
from lynq.api import Metadata
from lynq.api.wire import Wire
from lynq.kube import (
    Client,
    EventType,
    PartialObject,
    Patch,
    Propagation,
    Resource,
    WatchEvent,
    errors,
)
from lynq.kube.errors import FieldConflict
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES, SECRETS
from waiting import eventually


class ConfigMap(Wire, frozen=True):
    metadata: Metadata
    api_version: str = "v1"
    kind: str = "ConfigMap"
    data: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it


def config_map(namespace: str, name: str = "a", **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


def deployment(namespace: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    container = {"name": "web", "image": "web:1"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": template, **spec},
    }


async def test_second_create_is_already_exists(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace, k="v"), manager="me")
    assert created["data"] == {"k": "v"}
    assert created["metadata"]["managedFields"][0]["manager"] == "me"
    with pytest.raises(errors.AlreadyExists) as caught:
        await client.create(CONFIG_MAPS, config_map(namespace))
    assert caught.value.status.details.name == "a"
    assert str(caught.value).endswith("configmaps 'a': 409 AlreadyExists")


async def test_generate_name_is_supported(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, {"metadata": {"generateName": "x-"}}, namespace)
    assert created["metadata"]["name"].startswith("x-")


async def test_structs_are_encoded_and_decoded(client: Client, namespace: str) -> None:
    metadata = Metadata(name="a", namespace=namespace, labels={"tier": "one"})
    created = await client.create(
        CONFIG_MAPS, ConfigMap(metadata=metadata, data={"k": "v"}), into=ConfigMap
    )
    assert created.data == {"k": "v"}
    assert created.metadata.labels == {"tier": "one"}
    assert created.metadata.creation_timestamp is not None
    assert await client.get(CONFIG_MAPS, "a", namespace, into=ConfigMap) == created


async def test_partial_object_has_metadata_only(client: Client, namespace: str) -> None:
    applied = await client.apply(
        CONFIG_MAPS, config_map(namespace, k="v"), manager="lynq", into=PartialObject
    )
    assert applied.kind == "PartialObjectMetadata"
    got = await client.get(CONFIG_MAPS, "a", namespace, into=PartialObject)
    assert got.metadata.uid == applied.metadata.uid
    listed = await client.list(CONFIG_MAPS, namespace, into=PartialObject, fields="metadata.name=a")
    assert [item.metadata.key for item in listed] == [got.metadata.key]
    assert b"f:data" in bytes(listed.items[0].metadata.managed_fields[0].fields_v1)
    patched = await client.patch(
        CONFIG_MAPS, "a", {"data": {"k": "w"}}, namespace, into=PartialObject
    )
    assert patched.metadata.resource_version > got.metadata.resource_version


async def test_missing_object_is_not_found(client: Client, namespace: str) -> None:
    with pytest.raises(errors.NotFound, match="configmaps/gone: 404 NotFound"):
        await client.get(CONFIG_MAPS, "gone", namespace)
    with pytest.raises(errors.NotFound):
        await client.patch(CONFIG_MAPS, "gone", {}, namespace)
    with pytest.raises(errors.NotFound):
        await client.delete(CONFIG_MAPS, "gone", namespace)


async def test_apply_creates_updates_and_removes_fields(client: Client, namespace: str) -> None:
    first = await client.apply(CONFIG_MAPS, config_map(namespace, a="1", b="1"), manager="lynq")
    assert first["data"] == {"a": "1", "b": "1"}
    second = await client.apply(CONFIG_MAPS, config_map(namespace, a="2"), manager="lynq")
    assert second["data"] == {"a": "2"}
    again = await client.apply(CONFIG_MAPS, config_map(namespace, a="2"), manager="lynq")
    assert again["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


async def test_apply_conflict_names_manager_and_field_until_forced(
    client: Client, namespace: str
) -> None:
    await client.apply(DEPLOYMENTS, deployment(namespace, replicas=1), manager="someone")
    mine = deployment(namespace, replicas=0)
    with pytest.raises(errors.Conflict) as caught:
        await client.apply(DEPLOYMENTS, mine, manager="lynq")
    assert caught.value.fields == [FieldConflict("someone", ".spec.replicas")]
    assert ".spec.replicas is managed by 'someone'" in str(caught.value)
    forced = await client.apply(DEPLOYMENTS, mine, manager="lynq", force=True)
    assert forced["spec"]["replicas"] == 0


async def test_conflict_with_an_update_names_its_manager(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAPS, config_map(namespace, k="1"), manager="lynq")
    await client.patch(CONFIG_MAPS, "a", {"data": {"k": "2"}}, namespace, manager="kubectl-edit")
    with pytest.raises(errors.Conflict) as caught:
        await client.apply(CONFIG_MAPS, config_map(namespace, k="1"), manager="lynq")
    assert caught.value.fields == [FieldConflict("kubectl-edit", ".data.k")]


async def test_dry_run_changes_nothing(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace), dry_run=True)
    assert created["metadata"]["uid"]
    applied = await client.apply(
        CONFIG_MAPS, config_map(namespace, k="v"), manager="lynq", dry_run=True
    )
    assert applied["data"] == {"k": "v"}
    with pytest.raises(errors.NotFound):
        await client.get(CONFIG_MAPS, "a", namespace)
    await client.create(CONFIG_MAPS, config_map(namespace))
    await client.delete(CONFIG_MAPS, "a", namespace, dry_run=True)
    await client.get(CONFIG_MAPS, "a", namespace)


async def test_merge_patch_removes_fields_by_null(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, a="1", b="1"))
    patched = await client.patch(CONFIG_MAPS, "a", {"data": {"a": None, "c": "1"}}, namespace)
    assert patched["data"] == {"b": "1", "c": "1"}


async def test_json_patch_test_operation_guards_the_patch(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, a="1"))
    steps = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "2"},
    ]
    patched = await client.patch(CONFIG_MAPS, "a", steps, namespace, kind=Patch.JSON)
    assert patched["data"] == {"a": "2"}
    with pytest.raises(errors.Invalid):
        await client.patch(CONFIG_MAPS, "a", steps, namespace, kind=Patch.JSON)


async def test_replace_of_an_old_version_is_a_conflict(client: Client, namespace: str) -> None:
    old = await client.create(CONFIG_MAPS, config_map(namespace, k="1"))
    new = await client.replace(CONFIG_MAPS, old | {"data": {"k": "2"}}, manager="me")
    assert new["data"] == {"k": "2"}
    with pytest.raises(errors.Conflict) as caught:
        await client.replace(CONFIG_MAPS, old | {"data": {"k": "3"}})
    assert caught.value.fields == []


async def test_status_subresource_is_separate(client: Client, namespace: str) -> None:
    def balanced(address: str) -> dict[str, Any]:
        return {"loadBalancer": {"ingress": [{"ip": address, "ipMode": "VIP"}]}}

    identity = {"name": "web", "namespace": namespace}
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    await client.create(SERVICES, {"metadata": identity, "spec": spec})
    both = {"status": balanced("192.0.2.1"), "spec": {"type": "ClusterIP"}}
    patched = await client.patch(SERVICES, "web", both, namespace, subresource="status")
    assert patched["status"] == balanced("192.0.2.1")
    assert patched["spec"]["type"] == "LoadBalancer"

    patched["status"] = balanced("192.0.2.2")
    replaced = await client.replace(SERVICES, patched, subresource="status")
    assert replaced["status"] == balanced("192.0.2.2")

    desired = {"metadata": identity, "status": balanced("192.0.2.3")}
    applied = await client.apply(
        SERVICES, desired, manager="lynq", force=True, subresource="status"
    )
    assert applied["status"] == balanced("192.0.2.3")


async def test_delete_checks_its_preconditions(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace), into=PartialObject)
    metadata = created.metadata
    with pytest.raises(errors.Conflict):
        await client.delete(CONFIG_MAPS, "a", namespace, uid="another")
    with pytest.raises(errors.Conflict):
        await client.delete(CONFIG_MAPS, "a", namespace, resource_version="1")
    assert await client.delete(
        CONFIG_MAPS,
        "a",
        namespace,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )
    with pytest.raises(errors.NotFound):
        await client.get(CONFIG_MAPS, "a", namespace)


@pytest.mark.parametrize("resource", [CONFIG_MAPS, SERVICES, SERVICE_ACCOUNTS])
async def test_delete_returns_whether_the_object_is_removed(
    client: Client, namespace: str, resource: Resource
) -> None:
    spec = {"spec": {"ports": [{"port": 80}]}} if resource is SERVICES else {}
    await client.create(resource, {"metadata": {"name": "free", "namespace": namespace}, **spec})
    kept = {"name": "kept", "namespace": namespace, "finalizers": ["lynq.sh/test"]}
    await client.create(resource, {"metadata": kept, **spec})

    assert await client.delete(resource, "free", namespace) is True
    assert await client.delete(resource, "kept", namespace) is False
    await client.patch(resource, "kept", {"metadata": {"finalizers": None}}, namespace)
    with pytest.raises(errors.NotFound):
        await client.get(resource, "kept", namespace)


async def test_deletion_propagation_policies(client: Client, namespace: str) -> None:
    async def owned(owner: str, name: str) -> None:
        created = await client.create(CONFIG_MAPS, config_map(namespace, owner), into=PartialObject)
        reference = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner,
            "uid": created.metadata.uid,
            "blockOwnerDeletion": True,
        }
        child = config_map(namespace, name)
        child["metadata"] |= {"ownerReferences": [reference]}
        await client.create(CONFIG_MAPS, child)

    async def delete(name: str, propagation: Propagation) -> None:
        """Delete an object and wait until it is removed."""
        since = (await client.list(CONFIG_MAPS, namespace, into=PartialObject)).resource_version
        await client.delete(CONFIG_MAPS, name, namespace, propagation=propagation)
        only = f"metadata.name={name}"
        watch = client.watch(CONFIG_MAPS, namespace, since=since, fields=only, into=PartialObject)
        async with asyncio.timeout(30), aclosing(watch) as events:
            async for event in events:
                if isinstance(event, WatchEvent) and event.type is EventType.DELETED:
                    return

    await owned("one", "of-one")
    await delete("one", "Foreground")
    with pytest.raises(errors.NotFound):
        await client.get(CONFIG_MAPS, "of-one", namespace)

    await owned("two", "of-two")
    await delete("two", "Orphan")
    left = await client.get(CONFIG_MAPS, "of-two", namespace, into=PartialObject)
    assert left.metadata.owner_references == []


async def test_invalid_secret_is_reported_without_its_value(client: Client, namespace: str) -> None:
    secret = {
        "metadata": {"name": "db", "labels": {"password": "hunter2 !"}},
        "type": "kubernetes.io/tls",
        "stringData": {"hunter2/": "x"},
    }
    with pytest.raises(errors.Invalid) as caught:
        await client.create(SECRETS, secret, namespace)
    error = caught.value
    assert "hunter2 !" in error.status.message
    assert "metadata.labels" in {item.field for item in error.fields}
    assert "hunter2 !" not in f"{error} {error!r} {error.status!r} {error.causes!r}"


async def test_lists_are_paged_and_complete(client: Client, namespace: str) -> None:
    for number in range(7):
        obj = config_map(namespace, f"page-{number}")
        obj["metadata"]["labels"] = {"even": str(number % 2 == 0).lower()}
        await client.create(CONFIG_MAPS, obj)
    pages = client.pages(CONFIG_MAPS, namespace, labels="even", page_size=3)
    assert [len(page) async for page in pages] == [3, 3, 1]
    listing = await client.list(CONFIG_MAPS, namespace, labels="even=true", page_size=2)
    assert [item["metadata"]["name"] for item in listing] == [f"page-{n}" for n in (0, 2, 4, 6)]

    async def has_version_of_whole_list() -> bool:
        # Other writers advance the version of the cluster, so one comparison may come too late.
        paged = await client.list(CONFIG_MAPS, namespace, labels="even=true", page_size=2)
        whole = await client.list(CONFIG_MAPS, namespace)
        return paged.resource_version == whole.resource_version

    await eventually(has_version_of_whole_list)
    assert {(item["apiVersion"], item["kind"]) for item in listing} == {("v1", "ConfigMap")}


async def test_cluster_scoped_objects_need_no_namespace(client: Client, namespace: str) -> None:
    obj = await client.get(NAMESPACES, namespace, into=PartialObject)
    assert obj.metadata.name == namespace
    listed = await client.list(NAMESPACES, into=PartialObject, fields=f"metadata.name={namespace}")
    assert len(listed) == 1


async def test_raw_reads_any_path(client: Client) -> None:
    assert b"gitVersion" in await client.raw("/version")
    assert await client.raw("/readyz") == b"ok"


async def test_object_that_is_too_large_is_rejected(client: Client, namespace: str) -> None:
    with pytest.raises((errors.RequestTooLarge, errors.Invalid)):
        await client.create(CONFIG_MAPS, config_map(namespace, k="x" * 4 * 1024 * 1024))
