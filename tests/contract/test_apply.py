"""Server-side apply: fields, their managers, and what leaves with them."""

from typing import Any

import pytest

from built_in_resources import DEPLOYMENTS, SERVICES
from contract.manifests import (
    HOLD,
    Object,
    config_map,
    container,
    deployment,
    fields_of,
    managers,
    owner_reference,
    service,
)
from lynq.api import LynqNode
from lynq.kube import Client, errors
from lynq.kube.resource import CONFIG_MAPS, SECRETS, resource_of

NODES = resource_of(LynqNode.definition)


async def apply(client: Client, manifest: Object, manager: str = "one", **options: Any) -> Object:
    """Apply a ConfigMap or Deployment."""
    resource = DEPLOYMENTS if manifest["kind"] == "Deployment" else CONFIG_MAPS
    return await client.apply(resource, manifest, manager=manager, **options)


def containers_of(obj: Object) -> list[Object]:
    containers: list[Object] = obj["spec"]["template"]["spec"]["containers"]
    return containers


def container_fields(obj: Object, manager: str) -> Object:
    fields: Object = fields_of(obj, manager)["f:spec"]["f:template"]["f:spec"]["f:containers"]
    return fields


async def test_apply_creates_an_object(client: Client, namespace: str) -> None:
    applied = await apply(client, config_map(namespace, data={"a": "1"}, labels={"l": "1"}))
    entry = applied["metadata"]["managedFields"][0]
    assert entry.pop("time") == applied["metadata"]["creationTimestamp"]
    assert entry == {
        "manager": "one",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:l": {}}}},
    }


async def test_field_that_leaves_the_manifest_is_removed(client: Client, namespace: str) -> None:
    await apply(client, config_map(namespace, data={"a": "1", "b": "1"}, labels={"l": "1"}))
    applied = await apply(client, config_map(namespace, data={"b": "2", "c": "1"}))
    assert applied["data"] == {"b": "2", "c": "1"}
    assert "labels" not in applied["metadata"]
    assert fields_of(applied, "one") == {"f:data": {"f:b": {}, "f:c": {}}}


async def test_last_field_takes_its_parent_along(client: Client, namespace: str) -> None:
    await apply(client, config_map(namespace, data={"a": "1"}))
    applied = await apply(client, config_map(namespace))
    assert "data" not in applied
    assert managers(applied) == []


async def test_empty_map_is_owned(client: Client, namespace: str) -> None:
    applied = await apply(client, config_map(namespace, data={}))
    assert "data" not in applied
    assert fields_of(applied, "one") == {"f:data": {}}


async def test_apply_without_changes_keeps_the_object(client: Client, namespace: str) -> None:
    first = await apply(client, config_map(namespace, data={"a": "1"}))
    assert await apply(client, config_map(namespace, data={"a": "1"})) == first


async def test_same_value_has_two_owners(client: Client, namespace: str) -> None:
    await apply(client, config_map(namespace, data={"a": "1"}), "one")
    shared = await apply(client, config_map(namespace, data={"a": "1"}), "two")
    assert sorted(managers(shared)) == [("one", "Apply"), ("two", "Apply")]
    assert fields_of(shared, "one") == fields_of(shared, "two") == {"f:data": {"f:a": {}}}


async def test_time_of_an_entry_is_that_of_its_last_change(client: Client, namespace: str) -> None:
    first = await apply(client, config_map(namespace, data={"a": "1"}), "one")
    shared = await apply(client, config_map(namespace, data={"a": "1"}), "two")
    # The second apply changed no value: its entry has no time, and stands first.
    assert managers(shared) == [("two", "Apply"), ("one", "Apply")]
    assert "time" not in shared["metadata"]["managedFields"][0]
    assert shared["metadata"]["managedFields"][1] == first["metadata"]["managedFields"][0]
    assert shared["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    changed = await apply(client, config_map(namespace, data={"a": "1", "b": "1"}), "two")
    assert managers(changed) == [("one", "Apply"), ("two", "Apply")]
    assert changed["metadata"]["managedFields"][1]["time"]


async def test_field_stays_until_its_last_owner_leaves(client: Client, namespace: str) -> None:
    await apply(client, config_map(namespace, data={"a": "1"}), "one")
    await apply(client, config_map(namespace, data={"a": "1"}), "two")
    left = await apply(client, config_map(namespace), "one")
    assert left["data"] == {"a": "1"}
    assert managers(left) == [("two", "Apply")]
    assert "data" not in await apply(client, config_map(namespace), "two")


async def test_other_value_is_a_conflict(client: Client, namespace: str) -> None:
    await apply(client, config_map(namespace, data={"a": "1", "b": "1"}), "one")
    with pytest.raises(errors.Conflict) as caught:
        await apply(client, config_map(namespace, data={"a": "2", "b": "1"}), "two")
    status = caught.value.status
    assert (status.reason, status.details.name, status.details.kind) == ("Conflict", "", "")
    assert status.message == 'Apply failed with 1 conflict: conflict with "one": .data.a'
    [cause] = caught.value.causes
    assert (cause.reason, cause.field) == ("FieldManagerConflict", ".data.a")
    assert cause.message == 'conflict with "one"'


async def test_conflict_names_every_field_and_manager(client: Client, namespace: str) -> None:
    await apply(client, config_map(namespace, data={"a": "1", "b": "1"}), "one")
    await apply(client, config_map(namespace, data={"b": "1"}, labels={"tier": "web"}), "two")
    manifest = config_map(namespace, data={"a": "2", "b": "2"}, labels={"tier": "db"})
    with pytest.raises(errors.Conflict) as caught:
        await apply(client, manifest, "three")
    # The API server names them by the second in which they applied.
    assert sorted((conflict.manager, conflict.field) for conflict in caught.value.fields) == [
        ("one", ".data.a"),
        ("one", ".data.b"),
        ("two", ".data.b"),
        ("two", ".metadata.labels.tier"),
    ]
    assert caught.value.status.message.startswith("Apply failed with 4 conflicts: ")


async def test_conflict_with_an_update_names_its_version(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, data={"a": "1"}), manager="edit")
    with pytest.raises(errors.Conflict) as caught:
        await apply(client, config_map(namespace, data={"a": "3"}))
    [cause] = caught.value.causes
    assert cause.message == 'conflict with "edit" using v1'
    assert [conflict.manager for conflict in caught.value.fields] == ["edit"]


async def test_conflict_changes_nothing(client: Client, namespace: str) -> None:
    first = await apply(client, config_map(namespace, data={"a": "1"}), "one")
    with pytest.raises(errors.Conflict):
        await apply(client, config_map(namespace, data={"a": "2", "b": "2"}), "two")
    assert await client.get(CONFIG_MAPS, "a", namespace) == first


async def test_force_takes_fields_from_their_owner(client: Client, namespace: str) -> None:
    await apply(client, config_map(namespace, data={"a": "1", "b": "1"}), "one")
    forced = await apply(client, config_map(namespace, data={"a": "2"}), "two", force=True)
    assert forced["data"] == {"a": "2", "b": "1"}
    assert fields_of(forced, "one") == {"f:data": {"f:b": {}}}
    assert fields_of(forced, "two") == {"f:data": {"f:a": {}}}


async def test_manager_whose_last_field_is_taken_has_no_entry(
    client: Client, namespace: str
) -> None:
    await apply(client, config_map(namespace, data={"a": "1"}), "one")
    forced = await apply(client, config_map(namespace, data={"a": "2"}), "two", force=True)
    assert managers(forced) == [("two", "Apply")]


async def test_taken_field_stays_when_its_former_owner_applies_without_it(
    client: Client, namespace: str
) -> None:
    await apply(client, config_map(namespace, data={"a": "1", "b": "1"}), "one")
    await apply(client, config_map(namespace, data={"a": "2"}), "two", force=True)
    assert (await apply(client, config_map(namespace), "one"))["data"] == {"a": "2"}


async def test_update_takes_a_field_from_its_applier(client: Client, namespace: str) -> None:
    await apply(client, config_map(namespace, data={"a": "1", "b": "1"}), "one")
    changes = {"data": {"a": "2"}}
    patched = await client.patch(CONFIG_MAPS, "a", changes, namespace, manager="edit")
    assert fields_of(patched, "one") == {"f:data": {"f:b": {}}}
    assert fields_of(patched, "edit", "Update") == {"f:data": {"f:a": {}}}


async def test_update_that_removes_a_field_takes_it_from_its_applier(
    client: Client, namespace: str
) -> None:
    await apply(client, config_map(namespace, data={"a": "1", "b": "1"}), "one")
    changes = {"data": {"a": None}}
    patched = await client.patch(CONFIG_MAPS, "a", changes, namespace, manager="edit")
    assert fields_of(patched, "one") == {"f:data": {"f:b": {}}}
    assert managers(patched) == [("one", "Apply")]
    assert (await apply(client, config_map(namespace, data={"a": "1"})))["data"] == {"a": "1"}


async def test_manager_conflicts_with_its_own_update(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, data={"a": "1"}), manager="one")
    with pytest.raises(errors.Conflict):
        await apply(client, config_map(namespace, data={"a": "2"}), "one")
    forced = await apply(client, config_map(namespace, data={"a": "2"}), "one", force=True)
    assert managers(forced) == [("one", "Apply"), ("one", "Update")]
    assert fields_of(forced, "one", "Update") == {"f:data": {}}


async def test_updated_field_outlives_its_apply(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, data={"a": "1"}), manager="edit")
    await apply(client, config_map(namespace, data={"a": "1"}))
    assert (await apply(client, config_map(namespace)))["data"] == {"a": "1"}


async def test_dry_run_shows_the_result_and_changes_nothing(client: Client, namespace: str) -> None:
    dry = await apply(client, config_map(namespace, data={"a": "1"}), dry_run=True)
    assert dry["metadata"]["uid"]
    assert managers(dry) == [("one", "Apply")]
    with pytest.raises(errors.NotFound):
        await client.get(CONFIG_MAPS, "a", namespace)
    first = await apply(client, config_map(namespace, data={"a": "1"}))
    dry = await apply(client, config_map(namespace, data={"a": "2"}), dry_run=True)
    assert dry["data"] == {"a": "2"}
    assert await client.get(CONFIG_MAPS, "a", namespace) == first


async def test_must_create_creates(client: Client, namespace: str) -> None:
    applied = await apply(client, config_map(namespace, data={"a": "1"}), must_create=True)
    assert applied["data"] == {"a": "1"}
    assert applied["metadata"]["resourceVersion"] != "1"


async def test_must_create_is_a_conflict_if_the_object_exists(
    client: Client, namespace: str
) -> None:
    first = await apply(client, config_map(namespace, data={"a": "1"}))
    with pytest.raises(errors.Conflict) as caught:
        await apply(client, config_map(namespace, data={"a": "1"}), must_create=True)
    assert caught.value.fields == []
    assert await client.get(CONFIG_MAPS, "a", namespace) == first


async def test_conflict_of_fields_is_reported_before_that_of_the_version(
    client: Client, namespace: str
) -> None:
    await apply(client, config_map(namespace, data={"a": "1"}), "one")
    for options in ({"must_create": True}, {}):
        manifest = config_map(namespace, data={"a": "2"}, resourceVersion="2")
        with pytest.raises(errors.Conflict) as caught:
            await apply(client, manifest, "two", **options)
        assert [conflict.field for conflict in caught.value.fields] == [".data.a"]


async def test_forced_apply_checks_the_version(client: Client, namespace: str) -> None:
    await apply(client, config_map(namespace, data={"a": "1"}), "one")
    manifest = config_map(namespace, data={"a": "2"}, resourceVersion="2")
    with pytest.raises(errors.Conflict) as caught:
        await apply(client, manifest, "two", force=True)
    assert caught.value.fields == []


async def test_version_of_an_apply_without_effect_is_checked(
    client: Client, namespace: str
) -> None:
    await apply(client, config_map(namespace, data={"a": "1"}))
    with pytest.raises(errors.Conflict):
        await apply(client, config_map(namespace, data={"a": "1"}, resourceVersion="2"))


async def test_defaults_have_no_owner(client: Client, namespace: str) -> None:
    applied = await apply(client, deployment(namespace, container()))
    assert applied["spec"]["strategy"]["type"] == "RollingUpdate"
    assert fields_of(applied, "one") == {
        "f:spec": {
            "f:paused": {},
            "f:selector": {},
            "f:template": {
                "f:metadata": {"f:labels": {"f:app": {}}},
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"web"}': {".": {}, "f:image": {}, "f:name": {}},
                    }
                },
            },
        }
    }


async def test_default_can_be_applied_without_conflict(client: Client, namespace: str) -> None:
    await apply(client, deployment(namespace, container()), "one")
    applied = await apply(client, deployment(namespace, container(), replicas=2), "two")
    assert applied["spec"]["replicas"] == 2


async def test_two_managers_own_two_containers(client: Client, namespace: str) -> None:
    await apply(client, deployment(namespace, container("web")), "one")
    both = await apply(client, deployment(namespace, container("sidecar")), "two")
    assert [item["name"] for item in containers_of(both)] == ["web", "sidecar"]
    assert list(container_fields(both, "two")) == ['k:{"name":"sidecar"}']
    template = {"template": {"metadata": {"labels": {"app": "web"}}}}
    left = await apply(client, deployment(namespace, **template), "two")
    assert [item["name"] for item in containers_of(left)] == ["web"]


async def test_variables_are_merged_by_name(client: Client, namespace: str) -> None:
    def with_env(**env: str) -> Object:
        variables = [{"name": name, "value": value} for name, value in env.items()]
        return deployment(namespace, container(env=variables))

    await apply(client, with_env(A="1", B="1"), "one")
    both = await apply(client, with_env(C="1"), "two")
    assert [item["name"] for item in containers_of(both)[0]["env"]] == ["A", "B", "C"]
    assert container_fields(both, "two")['k:{"name":"web"}']["f:env"] == {
        'k:{"name":"C"}': {".": {}, "f:name": {}, "f:value": {}}
    }
    fewer = await apply(client, with_env(B="2"), "one")
    assert containers_of(fewer)[0]["env"] == [
        {"name": "B", "value": "2"},
        {"name": "C", "value": "1"},
    ]
    with pytest.raises(errors.Conflict) as caught:
        await apply(client, with_env(B="3"), "two")
    assert [conflict.field for conflict in caught.value.fields] == [
        '.spec.template.spec.containers[name="web"].env[name="B"].value'
    ]


async def test_applied_order_of_list_items_wins(client: Client, namespace: str) -> None:
    def with_env(*names: str) -> Object:
        variables = [{"name": name, "value": "1"} for name in names]
        return deployment(namespace, container(env=variables))

    await apply(client, with_env("A", "B"))
    turned = await apply(client, with_env("B", "A"))
    assert [item["name"] for item in containers_of(turned)[0]["env"]] == ["B", "A"]


async def test_ports_are_merged_by_number_and_protocol(client: Client, namespace: str) -> None:
    udp = {"containerPort": 53, "protocol": "UDP"}
    await apply(client, deployment(namespace, container(ports=[{"containerPort": 53}])), "one")
    both = await apply(client, deployment(namespace, container(ports=[udp])), "two")
    ports = containers_of(both)[0]["ports"]
    assert [port["protocol"] for port in ports] == ["TCP", "UDP"]
    fields = container_fields(both, "one")['k:{"name":"web"}']["f:ports"]
    assert list(fields) == ['k:{"containerPort":53,"protocol":"TCP"}']


async def test_ports_of_a_service_are_merged(client: Client, namespace: str) -> None:
    first = service(namespace, {"port": 80, "name": "http"})
    second = service(namespace, {"port": 443, "name": "https"})
    await client.apply(SERVICES, first, manager="one")
    both = await client.apply(SERVICES, second, manager="two")
    assert [port["port"] for port in both["spec"]["ports"]] == [80, 443]
    assert fields_of(both, "two")["f:spec"]["f:ports"] == {
        'k:{"port":443,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}}
    }


async def test_duplicate_list_items_are_rejected(client: Client, namespace: str) -> None:
    with pytest.raises(errors.ApiError) as caught:
        await apply(client, deployment(namespace, container(), container()))
    assert caught.value.code in (400, 422, 500)


async def test_atomic_list_has_one_owner(client: Client, namespace: str) -> None:
    await apply(client, deployment(namespace, container(args=["a", "b"])), "one")
    with pytest.raises(errors.Conflict) as caught:
        await apply(client, deployment(namespace, container(args=["a", "c"])), "two")
    assert [conflict.field for conflict in caught.value.fields] == [
        '.spec.template.spec.containers[name="web"].args'
    ]
    forced = await apply(client, deployment(namespace, container(args=["c"])), "two", force=True)
    assert containers_of(forced)[0]["args"] == ["c"]


async def test_finalizers_are_a_set(client: Client, namespace: str) -> None:
    await apply(client, config_map(namespace, finalizers=[HOLD]), "one")
    both = await apply(client, config_map(namespace, finalizers=[f"{HOLD}-2"]), "two")
    assert sorted(both["metadata"]["finalizers"]) == [HOLD, f"{HOLD}-2"]
    assert fields_of(both, "one") == {"f:metadata": {"f:finalizers": {f'v:"{HOLD}"': {}}}}
    left = await apply(client, config_map(namespace), "one")
    assert left["metadata"]["finalizers"] == [f"{HOLD}-2"]
    await apply(client, config_map(namespace), "two")


async def test_owner_references_are_merged_by_uid(client: Client, namespace: str) -> None:
    owners = [await client.create(CONFIG_MAPS, config_map(namespace, name)) for name in "xy"]
    references = [owner_reference(owner) for owner in owners]
    await apply(client, config_map(namespace, ownerReferences=references[:1]), "one")
    both = await apply(client, config_map(namespace, ownerReferences=references[1:]), "two")
    assert both["metadata"]["ownerReferences"] == references
    uid = references[1]["uid"]
    assert fields_of(both, "two") == {
        "f:metadata": {"f:ownerReferences": {f'k:{{"uid":"{uid}"}}': {}}}
    }
    left = await apply(client, config_map(namespace), "one")
    assert left["metadata"]["ownerReferences"] == references[1:]


async def test_secret_data_is_owned_by_key(client: Client, namespace: str) -> None:
    manifest = {"metadata": {"name": "a", "namespace": namespace}, "data": {"k": "dg=="}}
    applied = await client.apply(SECRETS, manifest, manager="one")
    assert applied["type"] == "Opaque"
    assert fields_of(applied, "one") == {"f:data": {"f:k": {}}}


async def test_string_data_becomes_data(client: Client, namespace: str) -> None:
    manifest = {"metadata": {"name": "a", "namespace": namespace}, "stringData": {"k": "v"}}
    applied = await client.apply(SECRETS, manifest, manager="one")
    assert applied["data"] == {"k": "dg=="}
    assert "stringData" not in applied


async def test_selector_of_a_deployment_is_atomic(client: Client, namespace: str) -> None:
    applied = await apply(client, deployment(namespace, container()))
    assert fields_of(applied, "one")["f:spec"]["f:selector"] == {}


async def test_null_is_no_value(client: Client, namespace: str) -> None:
    manifest = config_map(namespace, data={"a": "1"}) | {"immutable": None}
    applied = await apply(client, manifest)
    assert "immutable" not in applied
    assert applied["data"] == {"a": "1"}


async def test_managers_cannot_be_applied(client: Client, namespace: str) -> None:
    manifest = config_map(namespace, managedFields=[{"manager": "x", "operation": "Apply"}])
    with pytest.raises(errors.BadRequest):
        await apply(client, manifest)


async def test_apply_increments_the_generation_if_the_spec_differs(
    client: Client, namespace: str
) -> None:
    async def generation(**spec: Any) -> int:
        applied = await apply(client, deployment(namespace, container(), **spec))
        return int(applied["metadata"]["generation"])

    assert await generation(replicas=0) == 1
    assert await generation(replicas=0) == 1
    assert await generation(replicas=0, minReadySeconds=1) == 2


async def test_status_is_not_applied_with_the_object(client: Client, namespace: str) -> None:
    manifest = deployment(namespace, container(), replicas=0) | {"status": {"replicas": 7}}
    applied = await apply(client, manifest)
    assert applied["status"].get("replicas") is None
    assert "f:status" not in fields_of(applied, "one")


@pytest.mark.usefixtures("crds")
async def test_status_is_applied_apart(client: Client, namespace: str) -> None:
    metadata = {"name": "a", "namespace": namespace}
    spec = {"uid": "a", "templateRef": "web"}
    await client.apply(NODES, {"metadata": metadata, "spec": spec}, manager="one")
    status = {"readyResources": 1}
    applied = await client.apply(
        NODES, {"metadata": metadata, "status": status}, manager="one", subresource="status"
    )
    assert applied["status"]["readyResources"] == 1
    assert applied["spec"] | spec == applied["spec"]
    assert fields_of(applied, "one", "Apply", "status") == {"f:status": {}}
    again = await client.apply(
        NODES, {"metadata": metadata, "spec": spec | {"uid": "b"}}, manager="one"
    )
    assert again["status"]["readyResources"] == 1


async def test_status_of_an_absent_object_is_not_found(client: Client, namespace: str) -> None:
    manifest = {"metadata": {"name": "a", "namespace": namespace}, "status": {}}
    with pytest.raises(errors.NotFound):
        await client.apply(DEPLOYMENTS, manifest, manager="one", subresource="status")


@pytest.mark.usefixtures("crds")
async def test_entries_of_a_custom_list_are_atomic_or_merged_by_schema(
    client: Client, namespace: str
) -> None:
    metadata = {"name": "a", "namespace": namespace}
    entry = {"id": "x", "nameTemplate": "x", "spec": {"apiVersion": "v1", "kind": "ConfigMap"}}
    spec = {"uid": "a", "templateRef": "web", "configMaps": [entry]}
    applied = await client.apply(NODES, {"metadata": metadata, "spec": spec}, manager="one")
    assert fields_of(applied, "one") == {
        "f:spec": {"f:configMaps": {}, "f:templateRef": {}, "f:uid": {}}
    }
