"""Nodes, hubs and forms to explain."""

import json
from datetime import UTC, datetime
from typing import Any

from lynq.api import (
    Condition,
    ConditionStatus,
    FormSpec,
    FormStatus,
    HubSource,
    HubSpec,
    HubStatus,
    LynqForm,
    LynqHub,
    LynqNode,
    Metadata,
    NodeSpec,
    NodeStatus,
    ResourceState,
    ResourceStatus,
    SourceType,
    TResource,
    ValueMappings,
)
from lynq.api.reasons import ConditionType
from lynq.api.source import SQLite

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

WEB = TResource(
    id="web",
    name_template="{{ .uid }}-web",
    spec={
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {
            "replicas": "{{ .replicas | int }}",
            "template": {
                "spec": {
                    "containers": [
                        {"name": "side", "image": "side:{{ .plan }}"},
                        {"name": "app", "image": "registry.example/app:{{ .tag }}"},
                    ]
                }
            },
        },
    },
)
SERVICE = TResource(
    id="svc",
    name_template="{{ .uid }}-web",
    depend_ids=("web",),
    spec={"apiVersion": "v1", "kind": "Service"},
)
INGRESS = TResource(
    id="ing",
    name_template="{{ .uid }}",
    depend_ids=("svc",),
    spec={"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"},
)


def a_hub(*, extras: dict[str, str] | None = None, **more: Any) -> LynqHub:
    """Return a hub that maps the columns image_tag, replica_count and plan."""
    mapped = {"tag": "image_tag", "replicas": "replica_count", "plan": "plan"}
    spec = HubSpec(
        source=HubSource(type=SourceType.SQLITE, sqlite=SQLite(path="a.db", table="tenants")),
        value_mappings=ValueMappings(uid="tenant_id", activate="active"),
        extra_value_mappings=mapped if extras is None else extras,
        paused=more.pop("paused", False),
    )
    return LynqHub(
        metadata=Metadata(name="shop", namespace="lynq"), spec=spec, status=HubStatus(**more)
    )


def a_form(*resources: TResource, generation: int = 3, **more: Any) -> LynqForm:
    """Return a form of the hub with these resources."""
    status = FormStatus(
        rollout=more.pop("rollout_status", None), conditions=more.pop("conditions", ())
    )
    return LynqForm(
        metadata=Metadata(name="web", namespace="lynq", generation=generation),
        spec=FormSpec(hub_id="shop", manifests=resources, **more),
        status=status,
    )


def a_node(
    *entries: ResourceStatus,
    resources: tuple[TResource, ...] = (WEB, SERVICE, INGRESS),
    conditions: tuple[Condition, ...] | None = None,
    annotations: dict[str, str] | None = None,
    observed: int = 5,
    deleting: bool = False,
    values: dict[str, str] | None = None,
) -> LynqNode:
    """Return the node of the row acme, with these entries in its status."""
    values = values or {"tag": "2.41", "replicas": "3", "plan": "pro"}
    ready = a_condition(
        ConditionType.READY, holds=bool(entries) and all(e.state == "Ready" for e in entries)
    )
    return LynqNode(
        metadata=Metadata(
            name="acme-web",
            namespace="lynq",
            generation=5,
            labels={"lynq.sh/hub": "shop", "lynq.sh/uid": "acme"},
            annotations={
                "lynq.sh/extra": json.dumps(values),
                "lynq.sh/template-generation": "3",
            }
            | (annotations or {}),
            finalizers=["lynqnode.operator.lynq.sh/finalizer"],
            deletion_timestamp=NOW if deleting else None,
        ),
        spec=NodeSpec(uid="acme", template_ref="web", manifests=resources),
        status=NodeStatus(
            observed_generation=observed,
            ready_resources=sum(entry.state == "Ready" for entry in entries),
            desired_resources=len(entries),
            resources=entries,
            conditions=(ready,) if conditions is None else conditions,
        ),
    )


def a_condition(
    condition_type: str, *, holds: bool, reason: str = "Reason", message: str = ""
) -> Condition:
    """Return a condition."""
    return Condition(
        type=condition_type,
        status=ConditionStatus.TRUE if holds else ConditionStatus.FALSE,
        reason=reason,
        message=message,
        last_transition_time=NOW,
    )


def an_entry(
    resource_id: str = "web",
    state: ResourceState = ResourceState.FAILED,
    reason: str = "ApplyFailed",
    message: str = "",
    *,
    kind: str = "Deployment",
    api_version: str = "apps/v1",
    name: str = "acme-web",
) -> ResourceStatus:
    """Return an entry of the status."""
    return ResourceStatus(
        id=resource_id,
        api_version=api_version,
        kind=kind,
        namespace="tenant",
        name=name,
        state=state,
        reason=reason,
        message=message,
        since=NOW,
    )


def a_pod(*statuses: dict[str, Any], name: str = "acme-web-1", **status: Any) -> dict[str, Any]:
    """Return a pod with these container statuses."""
    return {"metadata": {"name": name}, "status": {"containerStatuses": list(statuses)} | status}
