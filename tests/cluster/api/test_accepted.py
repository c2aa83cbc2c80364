"""Objects that the API server accepts, and the objects that it stores."""

from typing import Any

import msgspec
import pytest

from cluster.api.objects import (
    GOOD,
    MISSING,
    SERVER,
    Object,
    changed,
    condition,
    form,
    hub,
    node,
    resource_of,
    resource_status,
)
from lynq.api import LynqForm, LynqHub, LynqNode, ResourceLists, TResource
from lynq.kube import Client

pytestmark = pytest.mark.usefixtures("crds")

LISTS = [field.encode_name for field in msgspec.structs.fields(ResourceLists)]
KEY = {"name": "client", "key": "tls.key"}
TLS = {
    "mode": "verify-ca",
    "caRef": {"kind": "ConfigMap", "name": "ca", "key": "ca.crt"},
    "certRef": {"name": "client", "key": "tls.crt"},
    "keyRef": KEY,
}
ONE_PER_LIST = {name: [{"id": name, "spec": {"kind": "Any"}}] for name in LISTS}
HUNDREDS = [
    {"id": f"part-{number}", "spec": {"data": {"text": "x" * 1000}}} for number in range(800)
]

ACCEPTED: dict[str, Object] = {
    "a hub on MySQL": hub("mysql"),
    "a hub on PostgreSQL": hub("postgresql"),
    "a hub on SQLite": hub("sqlite"),
    "TLS with a client certificate": changed(hub(), "spec.source.mysql.tls", TLS),
    "TLS with defaults": changed(hub("postgresql"), "spec.source.postgresql.tls", {}),
    "blocks of two engines": changed(hub("sqlite"), "spec.source.mysql", SERVER),
    "a disabled guard": changed(hub(), "spec.deletionGuard", {"disabled": True}),
    "a form without resources": changed(form(), "spec.deployments", MISSING),
    "a form with all sixteen lists": changed(form(), "spec", {"hubId": "h"} | ONE_PER_LIST),
    "a form with 800 resources": changed(form(), "spec.manifests", HUNDREDS),
    "one id in two lists, for the operator to reject": changed(
        form(), "spec.jobs", [{"id": "web", "spec": {}}]
    ),
    "a hub's name of 253 characters": changed(form(), "spec.hubId", "h" * 253),
    "a namespace pattern": changed(form(), "spec.allowedNamespaces", ["tenant-*", "*", "shop"]),
    "a service account": changed(form(), "spec.serviceAccountName", "tenants.writer"),
    "a node with a duplicate id, as in the Go operator": changed(
        node(), "spec.jobs", [{"id": "a", "spec": {}}] * 2
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
async def test_object_is_accepted(client: Client, name: str) -> None:
    obj = ACCEPTED[name]
    await client.create(resource_of(obj), obj, "default", dry_run=True)


async def test_hub_gets_its_defaults(client: Client) -> None:
    stored = await client.create(resource_of(hub()), hub(), "default", dry_run=True)
    assert stored["spec"] == {
        "source": {
            "type": "mysql",
            "syncInterval": "30s",
            "changes": "Poll",
            "mysql": SERVER | {"port": 3306, "connectTimeout": "5s", "queryTimeout": "60s"},
        },
        "valueMappings": hub()["spec"]["valueMappings"],
        "deletionGuard": {
            "maxCount": 10,
            "maxPercent": 30,
            "window": "10m",
            "confirmAfter": "5s",
        },
    }


async def test_nested_blocks_get_their_own_defaults(client: Client) -> None:
    with_tls = changed(hub("postgresql"), "spec.source.postgresql.tls", {"caRef": KEY})
    stored = await client.create(resource_of(with_tls), with_tls, "default", dry_run=True)
    block = stored["spec"]["source"]["postgresql"]
    assert block["port"] == 5432
    assert block["tls"] == {"mode": "verify-full", "caRef": {"kind": "Secret"} | KEY}


@pytest.mark.parametrize("list_name", LISTS)
async def test_resource_gets_its_defaults_in_every_list(client: Client, list_name: str) -> None:
    minimal = changed(form(), f"spec.{list_name}", [{"id": "a", "spec": {}}])
    stored = await client.create(resource_of(minimal), minimal, "default", dry_run=True)
    assert stored["spec"][list_name] == [
        {
            "id": "a",
            "spec": {},
            "skipOnDependencyFailure": True,
            "creationPolicy": "WhenNeeded",
            "deletionPolicy": "Delete",
            "conflictPolicy": "Stuck",
            "waitForReady": True,
            "timeoutSeconds": 300,
            "patchStrategy": "apply",
        }
    ]


async def test_rollout_gets_its_defaults(client: Client) -> None:
    limited = changed(form(), "spec.rollout", {})
    stored = await client.create(resource_of(limited), limited, "default", dry_run=True)
    assert stored["spec"]["rollout"] == {"maxSkew": 0, "progressDeadlineSeconds": 600}


@pytest.mark.parametrize("kind", [LynqHub, LynqForm, LynqNode])
async def test_defaults_of_types_and_api_server_match(
    client: Client, kind: type[LynqHub] | type[LynqForm] | type[LynqNode]
) -> None:
    sent = GOOD[kind.definition.kind]()
    stored = await client.create(resource_of(sent), sent, "default", dry_run=True, into=kind)
    assert stored.spec == msgspec.convert(sent, type=kind).spec


async def test_encoded_types_are_accepted(client: Client) -> None:
    ours = msgspec.convert(node(), type=LynqNode)
    stored = await client.create(resource_of(node()), ours, "default", dry_run=True, into=LynqNode)
    assert stored.spec == ours.spec


async def test_unknown_fields_are_dropped(client: Client) -> None:
    odd = changed(changed(hub(), "spec.colour", "red"), "spec.source.mysql.charset", "latin1")
    stored = await client.create(resource_of(odd), odd, "default", dry_run=True)
    assert "colour" not in stored["spec"]
    assert "charset" not in stored["spec"]["source"]["mysql"]


BODY: dict[str, Any] = {
    "apiVersion": "{{ .version }}",
    "kind": "Deployment",
    "metadata": {"labels": {"a/b": "{{ .uid }}"}, "unknown": [[1, "{{ .x }}"], None]},
    "spec": {
        "replicas": "{{ .replicas | int }}",
        "paused": "{{ .paused | bool }}",
        "float": 1.5,
        "empty": {},
        "nothing": None,
        "text": "{{- range $i := list 1 2 }}\n {{ $i }} {{ end -}}",
    },
    "status": {"anything": True},
}


@pytest.mark.parametrize("make", [form, node])
async def test_manifests_are_stored_unchanged(client: Client, make: Any) -> None:
    sent = changed(make(), "spec.deployments.0.spec", BODY)
    stored = await client.create(resource_of(sent), sent, "default", dry_run=True)
    assert stored["spec"]["deployments"][0]["spec"] == BODY
    assert msgspec.convert(stored["spec"]["deployments"][0], type=TResource).spec == BODY


@pytest.mark.parametrize("kind", GOOD)
async def test_status_is_written_only_through_the_subresource(
    client: Client, namespace: str, kind: str
) -> None:
    with_status = changed(GOOD[kind](), "status.observedGeneration", 7)
    created = await client.create(resource_of(with_status), with_status, namespace)
    assert "status" not in created

    replaced = await client.replace(
        resource_of(created), changed(created, "status.observedGeneration", 7)
    )
    assert "status" not in replaced

    written = await client.replace(
        resource_of(created),
        changed(changed(created, "status.observedGeneration", 7), "spec.paused", value=True),
        subresource="status",
    )
    assert written["status"]["observedGeneration"] == 7
    assert "paused" not in written["spec"]
    assert written["metadata"]["generation"] == created["metadata"]["generation"]


async def test_status_lists_renamed_resource_twice_while_the_old_object_is_deleted(
    client: Client, namespace: str
) -> None:
    stored = await client.create(resource_of(node()), node(), namespace)
    both = [resource_status(name="old", state="Deleting"), resource_status(name="new")]
    written = await client.replace(
        resource_of(stored), changed(stored, "status.resources", both), subresource="status"
    )
    assert [entry["name"] for entry in written["status"]["resources"]] == ["old", "new"]


async def test_two_managers_can_each_own_a_condition(client: Client, namespace: str) -> None:
    await client.create(resource_of(hub()), hub(), namespace)
    mine = {"apiVersion": hub()["apiVersion"], "kind": "LynqHub"}
    metadata = {"name": "tenants", "namespace": namespace}
    for manager, kind in (("lynq-operator", "Ready"), ("someone", "Reviewed")):
        await client.apply(
            resource_of(hub()),
            mine | {"metadata": metadata, "status": {"conditions": [condition(kind)]}},
            manager=manager,
            subresource="status",
        )
    stored = await client.get(resource_of(hub()), "tenants", namespace)
    assert {item["type"] for item in stored["status"]["conditions"]} == {"Ready", "Reviewed"}
