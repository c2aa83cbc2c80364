"""Admission requests as the API server sends them, and a view of the cluster for tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Raw, json

from lynq.api import (
    HubSpec,
    LynqNode,
    Metadata,
    NodeSpec,
    NodeStatus,
    ResourceState,
    ResourceStatus,
)
from lynq.api.denied_hosts import NONE_DENIED, DeniedHosts
from lynq.api.metadata import ObjectKey
from lynq.api.names import GROUP, VERSION
from lynq.core.object_limits import NO_LIMITS, ObjectLimits
from lynq.webhooks.review import AdmissionRequest, GroupVersionKind

HUB = GroupVersionKind(GROUP, VERSION, "LynqHub")
FORM = GroupVersionKind(GROUP, VERSION, "LynqForm")
NODE = GroupVersionKind(GROUP, VERSION, "LynqNode")

HUB_SPEC: dict[str, Any] = {
    "source": {
        "type": "mysql",
        "mysql": {"host": "db", "username": "u", "database": "d", "table": "t"},
    },
    "valueMappings": {"uid": "id", "activate": "on"},
}
FORM_SPEC: dict[str, Any] = {
    "hubId": "shop",
    "configMaps": [
        {
            "id": "a",
            "nameTemplate": "{{ .uid }}",
            "spec": {"apiVersion": "v1", "kind": "ConfigMap"},
        }
    ],
}


def with_resource(**changed: Any) -> dict[str, Any]:
    """Return the spec of a form with a changed resource."""
    return {**FORM_SPEC, "configMaps": [{**FORM_SPEC["configMaps"][0], **changed}]}


def body_of(kind: GroupVersionKind, operation: str, **fields: Any) -> bytes:
    """Return the body of an AdmissionReview."""
    content = {
        "uid": "42",
        "operation": operation,
        "kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "name": "shop",
        "namespace": "prod",
        **fields,
    }
    return json.encode(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": content}
    )


def an_object(spec: Any = None, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "shop", "namespace": "prod", **metadata}, "spec": spec or {}}


def request(
    kind: GroupVersionKind, operation: str, new: Any = None, old: Any = None, sub_resource: str = ""
) -> AdmissionRequest:
    return AdmissionRequest(
        uid="42",
        operation=operation,
        kind=kind,
        name="shop",
        namespace="prod",
        sub_resource=sub_resource,
        object=Raw(json.encode(new)),
        old_object=Raw(json.encode(old)),
    )


def a_node(*ids: str, annotations: Mapping[str, str] | None = None, **spec: Any) -> LynqNode:
    resources = tuple(
        ResourceStatus(
            id=resource_id, kind="ConfigMap", name=resource_id, state=ResourceState.READY
        )
        for resource_id in ids
    )
    return LynqNode(
        metadata=Metadata(annotations=dict(annotations or {})),
        spec=NodeSpec(uid="acme", template_ref="web", **spec),
        status=NodeStatus(resources=resources),
    )


@dataclass(frozen=True, slots=True)
class Caches:
    """A view of one namespace with one hub and some nodes."""

    synced: bool = True
    spec: HubSpec | None = None
    nodes: Sequence[LynqNode] = field(default_factory=list)
    denied_hosts: DeniedHosts = NONE_DENIED
    limits: ObjectLimits = NO_LIMITS

    def covers(self, namespace: str) -> bool:
        return self.synced and namespace == "prod"

    def hub(self, key: ObjectKey) -> HubSpec | None:
        return self.spec if key == ("prod", "shop") else None

    def nodes_of_hub(self, key: ObjectKey) -> Sequence[LynqNode] | None:
        return self._nodes(key)

    def nodes_of_form(self, key: ObjectKey) -> Sequence[LynqNode] | None:
        return self._nodes(key)

    def _nodes(self, key: ObjectKey) -> Sequence[LynqNode] | None:
        if not self.covers(key.namespace):
            return None
        return self.nodes if key == ("prod", "shop") else []
