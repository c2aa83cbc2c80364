"""The Status of a rejected request, in the fields that `lynq.kube.errors` reads."""

import asyncio
from typing import Any

import pytest

from built_in_resources import DEPLOYMENTS, SERVICES
from contract.manifests import config_map, container, deployment, service
from lynq.api import LynqNode
from lynq.kube import Client, PartialObject, Resource, errors
from lynq.kube.errors import ApiError
from lynq.kube.resource import CONFIG_MAPS, SECRETS, resource_of
from waiting import eventually

NODES = resource_of(LynqNode.definition)


def body(error: ApiError) -> tuple[int, str, str, str, str]:
    """Return code and reason, and kind, group and name of the details."""
    details = error.status.details
    return error.code, error.status.reason, details.kind, details.group, details.name


def causes(error: ApiError) -> set[tuple[str, str]]:
    """Return field and reason of each cause; built-in kinds list some twice."""
    return {(cause.field, cause.reason) for cause in error.causes}


async def test_absent_object_is_named(client: Client, namespace: str) -> None:
    with pytest.raises(errors.NotFound) as caught:
        await client.get(DEPLOYMENTS, "a", namespace)
    assert body(caught.value) == (404, "NotFound", "deployments", "apps", "a")
    assert caught.value.status.message == 'deployments.apps "a" not found'
    assert caught.value.proves_absence


async def test_absent_object_is_named_to_a_reader_of_metadata(
    client: Client, namespace: str
) -> None:
    with pytest.raises(errors.NotFound) as caught:
        await client.get(CONFIG_MAPS, "a", namespace, into=PartialObject)
    assert body(caught.value) == (404, "NotFound", "configmaps", "", "a")


@pytest.mark.parametrize("group", ["", "apps", "example.com"])
async def test_unserved_kind_names_no_object(client: Client, namespace: str, group: str) -> None:
    nothing = Resource(group, "v1", "Nothing", "nothings", namespaced=True)
    with pytest.raises(errors.NotFound) as caught:
        await client.get(nothing, "a", namespace)
    assert caught.value.status.details.name == ""
    assert not caught.value.proves_absence


async def test_second_create_already_exists(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace))
    with pytest.raises(errors.AlreadyExists) as caught:
        await client.create(CONFIG_MAPS, config_map(namespace))
    assert body(caught.value) == (409, "AlreadyExists", "configmaps", "", "a")
    assert caught.value.status.message == 'configmaps "a" already exists'


async def test_conflict_names_the_object(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace))
    await client.patch(CONFIG_MAPS, "a", {"data": {"k": "1"}}, namespace)
    with pytest.raises(errors.Conflict) as caught:
        await client.replace(CONFIG_MAPS, created | {"data": {"k": "2"}})
    assert body(caught.value) == (409, "Conflict", "configmaps", "", "a")
    assert caught.value.causes == []


async def test_invalid_name_is_named(client: Client, namespace: str) -> None:
    with pytest.raises(errors.Invalid) as caught:
        await client.create(CONFIG_MAPS, config_map(namespace, "A_b"))
    assert body(caught.value) == (422, "Invalid", "ConfigMap", "", "A_b")
    assert causes(caught.value) == {("metadata.name", "FieldValueInvalid")}


async def test_invalid_label_is_named(client: Client, namespace: str) -> None:
    with pytest.raises(errors.Invalid) as caught:
        await client.create(CONFIG_MAPS, config_map(namespace, labels={"tier": "a b"}))
    assert causes(caught.value) == {("metadata.labels", "FieldValueInvalid")}


async def test_invalid_key_of_data_is_named(client: Client, namespace: str) -> None:
    with pytest.raises(errors.Invalid) as caught:
        await client.create(CONFIG_MAPS, config_map(namespace, data={"a b": "1"}))
    assert causes(caught.value) == {("data[a b]", "FieldValueInvalid")}


async def test_missing_field_is_named(client: Client, namespace: str) -> None:
    manifest = deployment(namespace, {"name": "web"})
    with pytest.raises(errors.Invalid) as caught:
        await client.apply(DEPLOYMENTS, manifest, manager="one")
    assert body(caught.value) == (422, "Invalid", "Deployment", "apps", "web")
    assert causes(caught.value) == {
        ("spec.template.spec.containers[0].image", "FieldValueRequired")
    }


async def test_immutable_selector_is_named(client: Client, namespace: str) -> None:
    await client.create(DEPLOYMENTS, deployment(namespace, container()))
    labels = {"app": "other"}
    patch = {
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}},
        }
    }
    with pytest.raises(errors.Invalid) as caught:
        await client.patch(DEPLOYMENTS, "web", patch, namespace)
    assert causes(caught.value) == {("spec.selector", "FieldValueInvalid")}


async def test_immutable_type_of_a_secret_is_named(client: Client, namespace: str) -> None:
    await client.create(SECRETS, {"metadata": {"name": "a"}}, namespace)
    with pytest.raises(errors.Invalid) as caught:
        await client.patch(SECRETS, "a", {"type": "example.com/other"}, namespace)
    assert causes(caught.value) == {("type", "FieldValueInvalid")}


async def test_immutable_object_keeps_its_data(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, data={"k": "1"}) | {"immutable": True})
    with pytest.raises(errors.Invalid) as caught:
        await client.patch(CONFIG_MAPS, "a", {"data": {"k": "2"}}, namespace)
    assert causes(caught.value) == {("data", "FieldValueForbidden")}


@pytest.mark.parametrize("value", [1, True, {"a": "b"}])
async def test_value_of_a_wrong_type_is_a_bad_request(
    client: Client, namespace: str, value: Any
) -> None:
    manifest = config_map(namespace)
    with pytest.raises(errors.BadRequest):
        await client.create(CONFIG_MAPS, manifest | {"data": {"k": value}})


async def test_applied_value_of_a_wrong_type_is_rejected(client: Client, namespace: str) -> None:
    manifest = config_map(namespace) | {"data": {"k": 1}}
    with pytest.raises(errors.InternalError) as caught:
        await client.apply(CONFIG_MAPS, manifest, manager="one")
    assert caught.value.retry_after is None


async def test_unknown_field_is_pruned(client: Client, namespace: str) -> None:
    created = await client.create(CONFIG_MAPS, config_map(namespace) | {"unknown": 1})
    assert "unknown" not in created


async def test_applied_unknown_field_is_rejected(client: Client, namespace: str) -> None:
    manifest = config_map(namespace) | {"unknown": 1}
    with pytest.raises(errors.InternalError) as caught:
        await client.apply(CONFIG_MAPS, manifest, manager="one")
    assert "field not declared in schema" in caught.value.status.message


async def test_body_of_another_namespace_is_a_bad_request(
    client: Client, namespace: str, other_namespace: str
) -> None:
    with pytest.raises(errors.BadRequest):
        await client.create(CONFIG_MAPS, config_map(other_namespace), namespace)


async def test_service_without_ports_is_invalid(client: Client, namespace: str) -> None:
    with pytest.raises(errors.Invalid) as caught:
        await client.apply(SERVICES, service(namespace), manager="one")
    assert causes(caught.value) == {("spec.ports", "FieldValueRequired")}


async def test_object_that_is_too_large_is_rejected(client: Client, namespace: str) -> None:
    with pytest.raises((errors.RequestTooLarge, errors.Invalid)):
        await client.create(CONFIG_MAPS, config_map(namespace, data={"k": "x" * 4 * 1024 * 1024}))


@pytest.mark.usefixtures("crds")
async def test_custom_object_is_validated_by_its_schema(client: Client, namespace: str) -> None:
    manifest = {"metadata": {"name": "a", "namespace": namespace}, "spec": {"uid": 1}}
    with pytest.raises(errors.Invalid) as caught:
        await client.create(NODES, manifest)
    assert body(caught.value) == (422, "Invalid", "LynqNode", NODES.group, "a")
    assert causes(caught.value) >= {
        ("spec.uid", "FieldValueTypeInvalid"),
        ("spec.templateRef", "FieldValueRequired"),
    }


@pytest.mark.parametrize("verb", ["get", "list", "create", "apply", "patch", "delete", "watch"])
async def test_denied_request_names_the_missing_right(
    denied_client: Client, namespace: str, verb: str
) -> None:
    async def send() -> None:
        match verb:
            case "get":
                await denied_client.get(DEPLOYMENTS, "web", namespace)
            case "list":
                await denied_client.list(DEPLOYMENTS, namespace)
            case "create":
                await denied_client.create(DEPLOYMENTS, deployment(namespace, container()))
            case "apply":
                manifest = deployment(namespace, container())
                await denied_client.apply(DEPLOYMENTS, manifest, manager="one")
            case "patch":
                await denied_client.patch(DEPLOYMENTS, "web", {}, namespace)
            case "delete":
                await denied_client.delete(DEPLOYMENTS, "web", namespace)
            case _:
                await anext(denied_client.watch(DEPLOYMENTS, namespace))

    with pytest.raises(errors.Forbidden) as caught:
        await send()
    granted = "patch" if verb == "apply" else verb
    assert caught.value.missing_right == f"grant the verb {granted} on deployments.apps"
    name = "" if verb in ("list", "create", "watch") else "web"
    assert body(caught.value) == (403, "Forbidden", "deployments", "apps", name)


async def test_throttled_request_says_when_to_retry(
    throttled_client: Client, namespace: str
) -> None:
    async def throttled() -> list[errors.TooManyRequests]:
        # A level without seats still executes one request at a time.
        path = CONFIG_MAPS.path(namespace, "throttled")
        requests = (throttled_client.raw(path) for _ in range(30))
        results = await asyncio.gather(*requests, return_exceptions=True)
        return [error for error in results if isinstance(error, errors.TooManyRequests)]

    for error in await eventually(throttled):
        assert (error.code, error.retry_after) == (429, 1)
