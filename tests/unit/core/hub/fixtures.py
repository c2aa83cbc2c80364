"""Hubs, forms, rows and nodes made of what a test cares about, and a cluster that obeys a plan."""

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
from lynq.core.hub.plan import FormCandidate, HubPlan, plan_hub

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class ARow:
    uid: str | None
    extras: Mapping[str, str] = field(default_factory=dict)
    activate: str = "1"
    host_or_url: str = ""


def rows(*uids: str, **extras: str) -> list[ARow]:
    return [ARow(uid, extras) for uid in uids]


def a_hub(*, annotations: Mapping[str, str] | None = None, **given: Any) -> LynqHub:
    spec = {
        "source": HubSource(type=SourceType.SQLITE),
        "value_mappings": ValueMappings(uid="id", activate="on"),
        "deletion_guard": DeletionGuard(disabled=True),
        **given,
    }
    return LynqHub(
        metadata=Metadata(
            name="shop",
            namespace="prod",
            uid="hub-uid",
            generation=2,
            annotations=dict(annotations or {}),
        ),
        spec=HubSpec(**spec),
    )


def resource(name: str = "app", **given: Any) -> TResource:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"host": "{{ .uid }}"}}
    return TResource(**{"id": name, "spec": body, "name_template": "{{ .uid }}-app", **given})


def a_form(
    name: str = "web",
    *config_maps: TResource,
    generation: int = 1,
    max_skew: int = 0,
    **given: Any,
) -> LynqForm:
    spec = {
        "hub_id": "shop",
        "config_maps": config_maps or (resource(),),
        "rollout": Rollout(max_skew=max_skew) if max_skew else None,
        **given,
    }
    return LynqForm(
        metadata=Metadata(name=name, namespace="prod", uid=f"{name}-uid", generation=generation),
        spec=FormSpec(**spec),
    )


def readiness(*, ready: bool, now: datetime = NOON) -> Condition:
    reason = ConditionReason.RECONCILED if ready else ConditionReason.RESOURCES_FAILED
    return new_condition(ConditionType.READY, reason, "", holds=ready, generation=1, now=now)


class Cluster:
    """The nodes of a hub, kept as the API server would keep them."""

    def __init__(self, nodes: Iterable[LynqNode] = ()) -> None:
        self.nodes = {node.metadata.name: node for node in nodes}
        self.made = 0

    def obey(self, order: HubPlan) -> None:
        for removal in order.deletes:
            assert self.nodes.pop(removal.name).metadata.uid == removal.node_uid
        for creation in order.creates:
            name = creation.node.metadata.name
            assert name not in self.nodes
            self.made += 1
            self.nodes[name] = self._stored(creation.node, f"uid-{self.made}", 1)
        for update in order.updates:
            known = self.nodes[update.before.metadata.name]
            changed = known.spec != update.after.spec
            generation = known.metadata.generation + changed
            self.nodes[known.metadata.name] = self._stored(
                update.after, known.metadata.uid, generation
            )

    def settle(self, now: datetime, *, ready: bool = True) -> None:
        """Let every node's controller do its work."""
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
        # Through the wire and back: what is equal here is equal there.
        read = json.decode(json.encode(node), type=LynqNode)
        return replace(read, metadata=replace(read.metadata, uid=uid, generation=generation))


def planned(
    cluster: Cluster,
    given: Iterable[ARow],
    *forms: LynqForm | FormCandidate,
    hub: LynqHub | None = None,
    now: datetime = NOON,
    **further: Any,
) -> HubPlan:
    known = [each if isinstance(each, FormCandidate) else FormCandidate(each) for each in forms]
    return plan_hub(hub or a_hub(), known, given, cluster.nodes.values(), now=now, **further)


def synced(
    cluster: Cluster, given: Iterable[ARow], *forms: LynqForm | FormCandidate, **further: Any
) -> HubPlan:
    order = planned(cluster, given, *forms, **further)
    cluster.obey(order)
    return order
