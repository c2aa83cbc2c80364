"""Valid objects, and changes that make them invalid."""

from copy import deepcopy
from typing import Any

from lynq.api.crds import KINDS
from lynq.api.names import API_VERSION, GROUP, VERSION
from lynq.kube import Resource

Object = dict[str, Any]

RESOURCES = {
    kind.definition.kind: Resource(
        GROUP, VERSION, kind.definition.kind, kind.definition.plural, namespaced=True
    )
    for kind in KINDS
}
MISSING = object()

SERVER = {"host": "db.example.com", "username": "reader", "database": "saas", "table": "tenants"}
MAPPINGS = {"uid": "tenant_id", "activate": "active"}
SOURCES = {
    "mysql": SERVER,
    "postgresql": SERVER,
    "sqlite": {"path": "tenants.db", "table": "tenants"},
}
WEB = {
    "id": "web",
    "nameTemplate": "{{ .uid }}-web",
    "spec": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"replicas": "{{ .replicas | int }}"},
    },
}


def resource_of(obj: Object) -> Resource:
    return RESOURCES[obj["kind"]]


def hub(engine: str = "mysql") -> Object:
    source = {"type": engine, engine: SOURCES[engine]}
    return _object("LynqHub", "tenants", {"source": source, "valueMappings": MAPPINGS})


def form() -> Object:
    return _object("LynqForm", "web", {"hubId": "tenants", "deployments": [WEB]})


def node() -> Object:
    return _object(
        "LynqNode", "acme-web", {"uid": "acme", "templateRef": "web", "deployments": [WEB]}
    )


GOOD = {"LynqHub": hub, "LynqForm": form, "LynqNode": node}


def _object(kind: str, name: str, spec: Object) -> Object:
    return deepcopy(
        {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
    )


def changed(obj: Object, path: str, value: object) -> Object:
    """Set the value at a path such as `spec.jobs.0.id`, or remove it."""
    result = deepcopy(obj)
    *parents, last = path.split(".")
    inner: Any = result
    for step in parents:
        inner = inner[int(step)] if step.isdigit() else inner.setdefault(step, {})
    if value is MISSING:
        del inner[last]
    else:
        inner[int(last) if last.isdigit() else last] = value
    return result


def condition(kind: str = "Ready", **parts: object) -> Object:
    return {
        "type": kind,
        "status": "True",
        "reason": "Reconciled",
        "message": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    } | parts


def resource_status(**parts: object) -> Object:
    return {"id": "web", "kind": "Deployment", "name": "acme-web", "state": "Ready"} | parts
