"""Takeover from the Go operator: objects that its CRDs accept are accepted and kept."""

from collections.abc import AsyncIterator
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from cluster.api.objects import (
    MAPPINGS,
    MISSING,
    Object,
    changed,
    condition,
    form,
    hub,
    node,
    resource_of,
)
from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.crds import definition
from lynq.api.names import API_VERSION
from lynq.kube import Client, Resource
from lynq.kube.crd_install import install_crd
from lynq.kube.errors import Invalid
from lynq.kube.resource import CUSTOM_RESOURCE_DEFINITIONS
from waiting import eventually

pytestmark = pytest.mark.usefixtures("crds")

SINCE = "2025-03-04T05:06:07Z"
RESOURCE = {
    "id": "app",
    "nameTemplate": "{{ .uid }}-app",
    "targetNamespace": "{{ .uid }}-ns",
    "labelsTemplate": {"app": "{{ .uid }}"},
    "annotationsTemplate": {"plan": "{{ .planId }}"},
    "dependIds": ["config"],
    "skipOnDependencyFailure": True,
    "creationPolicy": "WhenNeeded",
    "deletionPolicy": "Retain",
    "conflictPolicy": "Force",
    "waitForReady": True,
    "timeoutSeconds": 600,
    "patchStrategy": "merge",
    "ignoreFields": ["$.spec.replicas"],
    "spec": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"replicas": "{{ .replicas | int }}", "template": {"spec": {"containers": []}}},
    },
}
CONFIG = {
    "id": "config",
    "nameTemplate": "acme-config",
    "skipOnDependencyFailure": True,
    "creationPolicy": "Once",
    "deletionPolicy": "Delete",
    "conflictPolicy": "Stuck",
    "waitForReady": False,
    "timeoutSeconds": 300,
    "patchStrategy": "apply",
    "spec": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"uid": "{{ .uid }}"}},
}
HUB: Object = {
    "apiVersion": API_VERSION,
    "kind": "LynqHub",
    "metadata": {"name": "customers", "finalizers": ["lynq.sh/hub-finalizer"]},
    "spec": {
        "source": {
            "type": "mysql",
            "syncInterval": "1m",
            "mysql": {
                "host": "mysql.default.svc.cluster.local",
                "port": 3307,
                "username": "node_reader",
                "passwordRef": {"name": "mysql-secret", "key": "password"},
                "database": "nodes",
                "table": "node_data",
            },
        },
        "valueMappings": {"uid": "node_id", "hostOrUrl": "domain", "activate": "is_active"},
        "extraValueMappings": {"planId": "subscription_plan", "deployImage": "container_image"},
    },
    "status": {
        "observedGeneration": 1,
        "referencingTemplates": 2,
        "desired": 6,
        "ready": 5,
        "failed": 1,
        "conditions": [condition(reason="DatabaseConnected", lastTransitionTime=SINCE)],
    },
}
FORM: Object = {
    "apiVersion": API_VERSION,
    "kind": "LynqForm",
    "metadata": {"name": "web-app"},
    "spec": {
        "hubId": "customers",
        "deployments": [RESOURCE],
        "configMaps": [CONFIG],
        "rollout": {"maxSkew": 2, "progressDeadlineSeconds": 900},
    },
    "status": {
        "observedGeneration": 3,
        "totalNodes": 3,
        "readyNodes": 2,
        "rollout": {
            "phase": "InProgress",
            "targetGeneration": 3,
            "totalNodes": 3,
            "updatedNodes": 2,
            "updatingNodes": 1,
            "readyUpdatedNodes": 1,
            "startTime": SINCE,
            "message": "1/3 nodes updated",
        },
        "conditions": [
            condition("Valid", reason="ValidationPassed"),
            condition("Applied", status="False", reason="NotAllNodesReady", message="2/3"),
        ],
    },
}
NODE: Object = {
    "apiVersion": API_VERSION,
    "kind": "LynqNode",
    "metadata": {
        "name": "acme-web-app",
        "labels": {"lynq.sh/hub": "customers", "lynq.sh/uid": "acme"},
        "annotations": {
            "lynq.sh/hostOrUrl": "",
            "lynq.sh/activate": "1",
            "lynq.sh/extra": '{"deployImage":"nginx:1","planId":"basic"}',
            "lynq.sh/template-generation": "3",
            "lynq.sh/hubId": "customers",
            "lynq.sh/rollout-update-start": SINCE,
        },
        "finalizers": ["lynqnode.operator.lynq.sh/finalizer"],
    },
    "spec": {
        "uid": "acme",
        "templateRef": "web-app",
        "deployments": [RESOURCE | {"nameTemplate": "acme-app"}],
        "configMaps": [CONFIG],
    },
    "status": {
        "observedGeneration": 2,
        "readyResources": 1,
        "desiredResources": 2,
        "failedResources": 1,
        "skippedResources": 1,
        "skippedResourceIds": ["app"],
        "appliedResources": [
            "Deployment/{{ .uid }}-ns/acme-app@app",
            "ConfigMap/default/acme-config@config",
        ],
        "lastFullReconcileAt": SINCE,
        "conditions": [
            condition("Conflicted", status="False", reason="NoConflict"),
            condition("Ready", status="False", reason="ResourcesFailedAndConflicted"),
            condition("Degraded", reason="ResourceFailuresAndConflicts", message="1 failed"),
            condition("Progressing", status="False", reason="ReconcileComplete"),
        ],
    },
}


async def stored(client: Client, namespace: str, obj: Object) -> Object:
    created = await client.create(resource_of(obj), obj, namespace)
    return await client.replace(
        resource_of(obj), created | {"status": obj["status"]}, subresource="status"
    )


async def released(client: Client, obj: Object) -> None:
    await client.replace(resource_of(obj), changed(obj, "metadata.finalizers", []))


@pytest.mark.parametrize("before", [HUB, FORM, NODE], ids=["hub", "form", "node"])
async def test_object_of_the_go_operator_is_stored_unchanged(
    client: Client, namespace: str, before: Object
) -> None:
    after = await stored(client, namespace, before)
    expected = deepcopy(before["spec"])
    if before is HUB:
        limits = {"maxCount": 10, "maxPercent": 30, "window": "10m", "confirmAfter": "5s"}
        expected["deletionGuard"] = limits
        expected["source"] |= {"changes": "Poll"}
        expected["source"]["mysql"] |= {"connectTimeout": "5s", "queryTimeout": "60s"}
    assert after["spec"] == expected
    assert after["status"] == before["status"]
    assert after["metadata"].get("annotations") == before["metadata"].get("annotations")
    await released(client, after)


@pytest.mark.parametrize(("before", "kind"), [(HUB, LynqHub), (FORM, LynqForm), (NODE, LynqNode)])
async def test_object_of_the_go_operator_round_trips_through_the_types(
    client: Client, namespace: str, before: Object, kind: Any
) -> None:
    after = await stored(client, namespace, before)
    ours = msgspec.json.decode(msgspec.json.encode(after), type=kind)
    rewritten = msgspec.json.encode(ours)
    assert msgspec.json.decode(rewritten, type=kind) == ours
    assert msgspec.json.decode(rewritten)["status"] == after["status"]
    await released(client, after)


EMPTY_NAMES = {"host": "", "username": "", "database": "", "table": ""}
LEFT_TO_THE_WEBHOOK = {
    "type mysql without its block": changed(hub(), "spec.source.mysql", MISSING),
    "a server without names": changed(hub(), "spec.source.mysql", EMPTY_NAMES),
    "an interval of nothing": changed(hub(), "spec.source.syncInterval", "0s"),
    "an empty uid column": changed(hub(), "spec.valueMappings", MAPPINGS | {"uid": ""}),
    "an empty hubId": changed(form(), "spec.hubId", ""),
    "an empty id": changed(form(), "spec.deployments.0.id", ""),
    "an unknown dependency": changed(form(), "spec.deployments.0.dependIds", ["nobody"]),
    "a manifest without a kind": changed(form(), "spec.deployments.0.spec", {}),
    "an empty uid": changed(node(), "spec.uid", ""),
}


@pytest.mark.parametrize("name", LEFT_TO_THE_WEBHOOK)
async def test_crd_accepts_what_the_go_crd_left_to_the_webhook(client: Client, name: str) -> None:
    obj = LEFT_TO_THE_WEBHOOK[name]
    await client.create(resource_of(obj), obj, "default", dry_run=True)


ELSEWHERE = Resource("swap.lynq.test", "v1", "LynqNode", "lynqnodes", namespaced=True)


def as_before() -> dict[str, Any]:
    """The LynqNode CRD in another group, with conditions as a plain list as in the Go operator."""
    crd = deepcopy(definition(LynqNode))
    crd["metadata"]["name"] = ELSEWHERE.name
    crd["spec"]["group"] = ELSEWHERE.group
    crd["spec"]["names"] |= {"shortNames": [], "categories": []}
    conditions = _conditions(crd)
    del conditions["x-kubernetes-list-type"], conditions["x-kubernetes-list-map-keys"]
    return crd


def as_now() -> dict[str, Any]:
    crd = as_before()
    _conditions(crd).update(_conditions(definition(LynqNode)))
    return crd


def _conditions(crd: dict[str, Any]) -> dict[str, Any]:
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    conditions: dict[str, Any] = schema["properties"]["status"]["properties"]["conditions"]
    return conditions


@pytest.fixture
async def old_definition(client: Client) -> AsyncIterator[None]:
    await install_crd(client, as_before())
    yield
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, ELSEWHERE.name)


@pytest.mark.usefixtures("old_definition")
async def test_duplicate_stored_conditions_do_not_block_updates(
    client: Client, namespace: str
) -> None:
    old = node() | {"apiVersion": ELSEWHERE.api_version}
    created = await client.create(ELSEWHERE, old, namespace)
    twice = changed(created, "status.conditions", [condition(), condition(status="False")])
    before = await client.replace(ELSEWHERE, twice, subresource="status")

    probe = await client.create(ELSEWHERE, old | {"metadata": {"name": "probe"}}, namespace)
    await install_crd(client, as_now())
    await eventually(lambda: _rejects_duplicates(client, probe))

    labelled = await client.replace(ELSEWHERE, changed(before, "metadata.labels", {"a": "b"}))
    assert len(labelled["status"]["conditions"]) == 2
    repaired = await client.replace(
        ELSEWHERE, changed(labelled, "status.conditions", [condition()]), subresource="status"
    )
    assert await _rejects_duplicates(client, repaired)


async def _rejects_duplicates(client: Client, obj: Object) -> bool:
    """Whether duplicate conditions are invalid: a changed schema is served a moment later."""
    duplicates = changed(obj, "status.conditions", [condition(), condition()])
    try:
        await client.replace(ELSEWHERE, duplicates, subresource="status", dry_run=True)
    except Invalid:
        return True
    return False
