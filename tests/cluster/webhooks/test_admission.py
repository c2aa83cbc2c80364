"""The webhooks through kubectl and a real API server."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from cluster.webhooks.admission import BAD, FORMS, HUBS, NODES, Admission, form, hub
from lynq.api import HubSpec, LynqNode, NodeSpec, NodeStatus, ResourceState, ResourceStatus
from lynq.kube.errors import Forbidden, KubeError

Kubectl = Callable[..., Awaitable[str]]
Apply = Callable[[Any], Awaitable[str]]


@pytest.fixture
def run_kubectl(kubectl: Callable[..., str]) -> Kubectl:
    """Kubectl in a thread, because the event loop serves the webhooks meanwhile."""
    return partial(asyncio.to_thread, kubectl)


@pytest.fixture
def apply(admitting: Admission, run_kubectl: Kubectl, tmp_path: Path) -> Apply:
    """Run `kubectl apply` for an object; returns its output."""

    async def apply(obj: Any) -> str:
        path = tmp_path / "object.json"
        path.write_text(json.dumps(admitting.in_namespace(obj)))
        return await run_kubectl("apply", "-f", str(path))

    return apply


def nodes(count: int, resources: int) -> list[LynqNode]:
    status = NodeStatus(
        resources=tuple(
            ResourceStatus(id=f"r{number}", kind="Secret", name="x", state=ResourceState.READY)
            for number in range(resources)
        )
    )
    spec = NodeSpec(uid="acme", template_ref="web")
    return [LynqNode(spec=spec, status=status) for _ in range(count)]


async def test_valid_objects_are_stored_without_warnings(
    apply: Apply, admitting: Admission
) -> None:
    assert await apply(hub()) == "lynqhub.operator.lynq.sh/shop created\n"
    admitting.caches.spec = convert(hub()["spec"], HubSpec)
    assert await apply(form()) == "lynqform.operator.lynq.sh/web created\n"


async def test_invalid_objects_are_denied_with_the_path(apply: Apply) -> None:
    output = await apply(form(name=BAD))
    assert 'Error from server (Forbidden): error when creating "' in output
    assert output.endswith(
        'object.json": admission webhook "vlynqform.kb.io" denied the request: '
        'spec.configMaps[0].nameTemplate: line 1: function "nope" not defined\n'
    )
    output = await apply(hub(uid=""))
    assert 'admission webhook "vlynqhub.kb.io" denied the request: ' in output
    assert "spec.valueMappings.uid: required" in output


async def test_dependency_cycle_is_denied(apply: Apply) -> None:
    invalid = form(dependIds=["b"])
    invalid["spec"]["configMaps"].append(
        {**invalid["spec"]["configMaps"][0], "id": "b", "dependIds": ["a"]}
    )
    assert "circular dependency detected: a -> b -> a" in await apply(invalid)


async def test_kubectl_prints_warnings(apply: Apply, admitting: Admission) -> None:
    mappings = {"uid": "id", "activate": "on", "hostOrUrl": "url"}
    output = await apply(hub(valueMappings=mappings))
    assert "Warning: spec.valueMappings.hostOrUrl: deprecated" in output
    assert "lynqhub.operator.lynq.sh/shop created" in output
    admitting.caches.spec = convert(hub()["spec"], HubSpec)
    output = await apply(form(name="{{ .planet }}", targetNamespace="{{ .höhe }}"))
    assert "Warning: spec.configMaps[0].nameTemplate: the hub does not map .planet" in output
    assert "does not map .h\\xf6he" in output


async def test_kubectl_prints_warnings_of_silent_mistakes(apply: Apply) -> None:
    long_name = hub()
    long_name["metadata"]["name"] = "h" * 64
    assert "Warning: metadata.name: has 64 characters" in await apply(long_name)
    output = await apply(form(labelsTemplate={"lynq.sh/node": "x"}))
    assert 'Warning: spec.hubId: LynqHub "shop" not found' in output
    assert "Warning: spec.configMaps[0].labelsTemplate[lynq.sh/node]: the prefix" in output


async def test_empty_fields_get_their_defaults(admitting: Admission) -> None:
    empty = hub()
    empty["spec"]["source"] |= {"syncInterval": ""}
    empty["spec"]["source"]["mysql"]["port"] = 0
    stored = await admitting.client.create(HUBS, admitting.in_namespace(empty))
    source = stored["spec"]["source"]
    assert (source["syncInterval"], source["mysql"]["port"]) == ("30s", 3306)
    written = admitting.in_namespace(form(creationPolicy="", timeoutSeconds=0))
    (resource,) = (await admitting.client.create(FORMS, written))["spec"]["configMaps"]
    assert (resource["creationPolicy"], resource["timeoutSeconds"]) == ("WhenNeeded", 300)


async def test_spec_updates_are_validated_and_label_updates_are_not(admitting: Admission) -> None:
    client, namespace = admitting.client, admitting.namespace
    await client.create(FORMS, admitting.in_namespace(form()))
    with pytest.raises(Forbidden) as raised:
        await client.replace(
            FORMS, admitting.in_namespace(form(name=BAD)) | _version(await _web(admitting))
        )
    assert (raised.value.status.code, raised.value.status.reason) == (403, "Forbidden")
    await client.patch(FORMS, "web", {"metadata": {"labels": {"a": "b"}}}, namespace)


async def test_stored_invalid_hub_can_be_labeled_paused_and_deleted(
    admission: Admission,
) -> None:
    client, namespace = admission.client, admission.namespace
    invalid = hub(uid="")
    invalid["metadata"]["finalizers"] = ["lynq.sh/hub-finalizer"]
    await client.create(HUBS, admission.in_namespace(invalid))
    async with admission.replica() as server, admission.configured(server):
        await client.patch(HUBS, "shop", {"metadata": {"labels": {"a": "b"}}}, namespace)
        await client.patch(
            HUBS, "shop", {"status": {"desired": 1}}, namespace, subresource="status"
        )
        await client.patch(HUBS, "shop", {"spec": {"paused": True}}, namespace)
        with pytest.raises(Forbidden):
            await client.patch(
                HUBS, "shop", {"spec": {"source": {"syncInterval": "9s"}}}, namespace
            )
        assert not await client.delete(HUBS, "shop", namespace)
        await client.patch(HUBS, "shop", {"metadata": {"finalizers": None}}, namespace)
        with pytest.raises(KubeError):
            await client.get(HUBS, "shop", namespace)


async def test_deletion_warns_of_its_impact(admitting: Admission, run_kubectl: Kubectl) -> None:
    admitting.caches.nodes = nodes(3, 4)
    for resource, obj in ((HUBS, hub()), (FORMS, form())):
        await admitting.client.create(resource, admitting.in_namespace(obj))
    for kind, name in (("LynqHub", "shop"), ("LynqForm", "web")):
        output = await run_kubectl("delete", kind.lower(), name, "-n", admitting.namespace)
        assert f"Warning: {kind} {name}: 3 LynqNodes and 12 resources will be deleted" in output
        assert "deleted" in output


async def test_deletecollection_warns_by_name(admitting: Admission, run_kubectl: Kubectl) -> None:
    admitting.caches.nodes = nodes(3, 4)
    await admitting.client.create(HUBS, admitting.in_namespace(hub()))
    output = await run_kubectl("delete", "--raw", HUBS.path(admitting.namespace))
    assert "Warning: LynqHub shop: 3 LynqNodes and 12 resources will be deleted" in output


async def test_protected_objects_cannot_be_deleted(
    admitting: Admission, run_kubectl: Kubectl
) -> None:
    node = {"metadata": {"name": "acme-web"}, "spec": {"uid": "acme", "templateRef": "web"}}
    for resource, obj in ((HUBS, hub()), (FORMS, form()), (NODES, node)):
        stored = await admitting.client.create(resource, admitting.in_namespace(obj))
        name, namespace = stored["metadata"]["name"], admitting.namespace
        target = (resource.kind.lower(), name, "-n", namespace)
        await run_kubectl("annotate", *target, "lynq.sh/protect=true")
        output = await run_kubectl("delete", *target)
        assert f"{resource.kind} {name} is protected: remove the annotation" in output
        with pytest.raises(Forbidden):
            await admitting.client.delete(resource, name, namespace)
        await run_kubectl("annotate", *target, "lynq.sh/protect-")
        assert "deleted" in await run_kubectl("delete", *target)


async def test_nodes_can_be_deleted_while_the_webhook_is_down(admission: Admission) -> None:
    client, namespace = admission.client, admission.namespace
    node = {"metadata": {"name": "acme-web"}, "spec": {"uid": "acme", "templateRef": "web"}}
    await client.create(NODES, admission.in_namespace(node))
    async with admission.replica() as server:
        configured = admission.configured(server)
        await configured.__aenter__()
    try:
        assert await client.delete(NODES, "acme-web", namespace)
        assert "failed calling webhook" in await admission.denial(HUBS, hub())
    finally:
        await configured.__aexit__(None, None, None)


async def _web(admitting: Admission) -> Any:
    return await admitting.client.get(FORMS, "web", admitting.namespace)


def _version(stored: Any) -> Any:
    return {"metadata": {**stored["metadata"]}}
