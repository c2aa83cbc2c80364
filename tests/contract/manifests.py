"""Manifests of the contract tests, and the questions that they ask about objects."""

from collections.abc import Mapping
from typing import Any

from lynq.kube import Client, Resource
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

Object = dict[str, Any]

HOLD = "lynq.sh/hold"
"""A finalizer that no controller removes."""

CLUSTER_ROLES = Resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
)
JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)

WIDGETS = Resource("contract.example.com", "v1", "Widget", "widgets", namespaced=True)
"""A custom kind with defaults, a status, and lists of each type."""

_STRING = {"type": "string"}
_WIDGET_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "color": {"type": "string", "default": "red", "enum": ["red", "blue"]},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": _STRING, "value": _STRING},
                    },
                },
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": _STRING},
                "words": {"type": "array", "items": _STRING},
                "labels": {"type": "object", "additionalProperties": _STRING},
            },
        },
        "status": {"type": "object", "properties": {"phase": _STRING}},
    },
}
WIDGET_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": WIDGETS.name},
    "spec": {
        "group": WIDGETS.group,
        "scope": "Namespaced",
        "names": {"plural": WIDGETS.plural, "kind": WIDGETS.kind},
        "versions": [
            {
                "name": WIDGETS.version,
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _WIDGET_SCHEMA},
                "subresources": {"status": {}},
            }
        ],
    },
}


def config_map(
    namespace: str, name: str = "a", data: Mapping[str, str] | None = None, **metadata: Any
) -> Object:
    """Return a ConfigMap."""
    manifest: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, **metadata},
    }
    return manifest if data is None else manifest | {"data": dict(data)}


def container(name: str = "web", **fields: Any) -> Object:
    """Return a container."""
    return {"name": name, "image": f"{name}:1", **fields}


def deployment(namespace: str, *containers: Object, **spec: Any) -> Object:
    """Return a Deployment without replicas, unless the spec has some: no controller acts on it."""
    labels = {"app": "web"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": list(containers)}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        # A paused Deployment has no ReplicaSet.
        "spec": {"paused": True, "selector": {"matchLabels": labels}, "template": pods} | spec,
    }


def service(namespace: str, *ports: Object, **spec: Any) -> Object:
    """Return a Service."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"ports": list(ports), **spec},
    }


def job(namespace: str, **spec: Any) -> Object:
    """Return a Job that the Job controller leaves alone."""
    pods = {"spec": {"restartPolicy": "Never", "containers": [container()]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"managedBy": "lynq.sh/test", "template": pods, **spec},
    }


def widget(namespace: str, **spec: Any) -> Object:
    """Return a Widget."""
    return {"metadata": {"name": "a", "namespace": namespace}, "spec": {"size": 1, **spec}}


def owner_reference(owner: Object, **fields: Any) -> Object:
    """Return a reference to an owner."""
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        **fields,
    }


def managers(obj: Object) -> list[tuple[str, str]]:
    """Return manager and operation of each entry of managedFields."""
    return [
        (entry["manager"], entry["operation"]) for entry in obj["metadata"].get("managedFields", [])
    ]


def fields_of(obj: Object, manager: str, operation: str = "Apply", subresource: str = "") -> Object:
    """Return the fields that a manager owns."""
    for entry in obj["metadata"].get("managedFields", []):
        key = (entry["manager"], entry["operation"], entry.get("subresource", ""))
        if key == (manager, operation, subresource):
            fields: Object = entry["fieldsV1"]
            return fields
    return {}


async def exists(client: Client, resource: Resource, name: str, namespace: str | None) -> bool:
    """Return whether an object exists."""
    try:
        await client.get(resource, name, namespace)
    except NotFound:
        return False
    return True


async def wait_until_removed(
    client: Client, name: str, namespace: str | None, resource: Resource = CONFIG_MAPS
) -> None:
    """Wait until an object does not exist.

    The garbage collector may wait for its caches for a minute.
    """

    async def is_removed() -> bool:
        return not await exists(client, resource, name, namespace)

    await eventually(is_removed, within=90)
