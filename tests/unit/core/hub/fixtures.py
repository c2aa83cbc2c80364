"""Builders of hubs, forms, rows and nodes, and a cluster that a plan is applied to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import json
from msgspec.structs import replace

from lynq.api import (
    Condition,
    DeletionGuard,
    FormSpec,
    HubSource,
    HubSpec,
    LynqForm,
    LynqHub,
    LynqNode,
    Metadata,
    NodeStatus,
    Rollout,
    SourceType,
    TResource,
    ValueMappings,
)
from lynq.api.conditions import new_condition
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.core.hub.diff import DeletionCause, UpdateCause
from lynq.core.hub.plan import FormCandidate, HubPlan, PlanInputs, plan_hub

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class ARow:
    uid: str | None
    extras: Mapping[str, str] = field(default_factory=dict)
    activate: str = "1"
    host_or_url: str = ""
    oversize: int = 0


def rows(*uids: str, **extras: str) -> list[ARow]:
    return [ARow(uid, extras) for uid in uids]


def a_hub(*, annotations: Mapping[str, str] | None = None, **spec: Any) -> LynqHub:
    defaults = {
        "source": HubSource(type=SourceType.SQLITE),
        "value_mappings": ValueMappings(uid="id", activate="on"),
    }
    return LynqHub(
        metadata=Metadata(
            name="shop",
            namespace="prod",
            uid="hub-uid",
            generation=2,
            annotations=dict(annotations or {}),
        ),
        spec=HubSpec(**(defaults | spec)),
    )


def an_unguarded_hub(**parts: Any) -> LynqHub:
    """Return a hub whose deletions are never held; limits would hide what else decides them."""
    return a_hub(deletion_guard=DeletionGuard(disabled=True), **parts)


def resource(name: str = "app", **fields: Any) -> TResource:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"host": "{{ .uid }}"}}
    return TResource(**{"id": name, "spec": body, "name_template": "{{ .uid }}-app", **fields})


def a_form(
    name: str = "web",
    *config_maps: TResource,
    generation: int = 1,
    max_skew: int = 0,
    **spec: Any,
) -> LynqForm:
    defaults = {
        "hub_id": "shop",
        "config_maps": config_maps or (resource(),),
        "rollout": Rollout(max_skew=max_skew) if max_skew else None,
    }
    return LynqForm(
        metadata=Metadata(name=name, namespace="prod", uid=f"{name}-uid", generation=generation),
        spec=FormSpec(**(defaults | spec)),
    )


WEB, DB = a_form("web"), a_form("db")


def readiness(*, ready: bool, now: datetime = NOON) -> Condition:
    reason = ConditionReason.RECONCILED if ready else ConditionReason.RESOURCES_FAILED
    return new_condition(ConditionType.READY, reason, "", holds=ready, generation=1, now=now)


class Cluster:
    """The nodes of a hub, as the API server stores them."""

    def __init__(self, nodes: Iterable[LynqNode] = ()) -> None:
        self.nodes = {node.metadata.name: node for node in nodes}
        self.created = 0

    def apply(self, plan: HubPlan) -> None:
        for deletion in plan.deletes:
            assert self.nodes.pop(deletion.name).metadata.uid == deletion.node_uid
        for creation in plan.creates:
            name = creation.node.metadata.name
            assert name not in self.nodes
            self.created += 1
            self.nodes[name] = self._stored(creation.node, f"uid-{self.created}", 1)
        for update in plan.updates:
            node = self.nodes[update.before.metadata.name]
            changed = node.spec != update.after.spec
            generation = node.metadata.generation + changed
            self.nodes[node.metadata.name] = self._stored(
                update.after, node.metadata.uid, generation
            )

    def settle(self, now: datetime, *, ready: bool = True) -> None:
        """Reconcile every node."""
        for name, node in self.nodes.items():
            status = NodeStatus(
                observed_generation=node.metadata.generation,
                conditions=(readiness(ready=ready, now=now),),
            )
            self.nodes[name] = replace(node, status=status)

    def edit(self, name: str, **metadata: Any) -> None:
        node = self.nodes[name]
        self.nodes[name] = replace(node, metadata=replace(node.metadata, **metadata))

    @staticmethod
    def _stored(node: LynqNode, uid: str, generation: int) -> LynqNode:
        # Encoded and decoded, so that equality is that of the API server.
        read = json.decode(json.encode(node), type=LynqNode)
        return replace(read, metadata=replace(read.metadata, uid=uid, generation=generation))


def planned(
    cluster: Cluster,
    rows: Iterable[ARow],
    *forms: LynqForm | FormCandidate,
    hub: LynqHub | None = None,
    now: datetime = NOON,
    **inputs: Any,
) -> HubPlan:
    candidates = [
        form if isinstance(form, FormCandidate) else FormCandidate(form) for form in forms
    ]
    nodes = cluster.nodes.values()
    return plan_hub(
        PlanInputs(hub=hub or a_hub(), forms=candidates, rows=rows, nodes=nodes, **inputs), now
    )


def synced(
    cluster: Cluster, rows: Iterable[ARow], *forms: LynqForm | FormCandidate, **inputs: Any
) -> HubPlan:
    plan = planned(cluster, rows, *forms, **inputs)
    cluster.apply(plan)
    return plan


def is_empty(plan: HubPlan) -> bool:
    return not (plan.creates or plan.updates or plan.deletes)


def running(*uids: str, form: str = "web") -> Cluster:
    """Return a cluster that has a ready node for each uid."""
    cluster = Cluster()
    synced(cluster, rows(*uids), a_form(form))
    cluster.settle(NOON)
    return cluster


def created(plan: HubPlan) -> list[str]:
    return [creation.node.metadata.name for creation in plan.creates]


def updated(plan: HubPlan) -> dict[str, UpdateCause]:
    return {update.before.metadata.name: update.cause for update in plan.updates}


def deleted(plan: HubPlan) -> dict[str, DeletionCause]:
    return {deletion.name: deletion.cause for deletion in plan.deletes}
