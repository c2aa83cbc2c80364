"""Reports what a simulation has recorded: changes with their nodes, rejected rows, the guard."""

from collections.abc import Iterable
from typing import Any, Final

from lynq.api import LynqHub, LynqNode
from lynq.api.masking import Mask
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_NODE_NAME, LABEL_HUB, LABEL_NODE, LABEL_NODE_NAMESPACE
from lynq.api.naming import node_name, tracked_name
from lynq.api.resource import all_resources
from lynq.core.explain.columns import secret_masks
from lynq.core.guard.approval import digest_of, spent_approvals
from lynq.core.hub.events import kept_by_protection
from lynq.core.hub.plan import HubPlan
from lynq.core.plan.changes import (
    FailedResource,
    Guard,
    Plan,
    PlannedChange,
    PlannedRejection,
    classify,
)
from lynq.core.plan.fields import FieldChange, field_changes, literals, masked_fields
from lynq.plan.dry_run import Body, Recorded

_OWN_KINDS: Final = frozenset({"LynqForm", "LynqHub"})
"""Kinds that the user writes and not the operator."""


class ChangeReport:
    """Finds the node, form and hub of recorded objects."""

    def __init__(self, nodes: Iterable[LynqNode]) -> None:
        """Take all nodes, before and after the plan; of two with one name, the last counts."""
        self._by_key: dict[ObjectKey, LynqNode] = {}
        self._versions: dict[ObjectKey, list[LynqNode]] = {}
        self._by_uid: dict[str, LynqNode] = {}
        self._masks: dict[ObjectKey, tuple[Mask, ...]] = {}
        for node in nodes:
            self._by_key[node.metadata.key] = node
            versions = self._versions.setdefault(node.metadata.key, [])
            if not any(version is node for version in versions):
                versions.append(node)
            self._by_uid[node.metadata.uid] = node

    def plan(
        self,
        hub: LynqHub,
        hub_plan: HubPlan,
        recorded: Iterable[Recorded],
        failed: Iterable[FailedResource],
    ) -> Plan:
        """Return the plan of a hub."""
        changes = [change for each in recorded if (change := self._change(each))]
        unrendered = [
            FailedResource(node_name(failure.pair), failure.resource, failure.message)
            for failure in hub_plan.failures
        ]
        return Plan(
            changes=sorted(changes, key=_order),
            rejected=[
                PlannedRejection(rejection.uid, rejection.message)
                for rejection in hub_plan.screened.rejections
            ],
            failed=[*failed, *unrendered],
            guard=_guard(hub_plan, hub),
            notes=[event.message for event in kept_by_protection(hub_plan.protected)],
        )

    def _change(self, recorded: Recorded) -> PlannedChange | None:
        before, after = recorded.before, recorded.after
        obj = after or before
        action = classify(before, after)
        if obj is None or action is None or obj["kind"] in _OWN_KINDS:
            return None
        metadata = obj["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        if obj["kind"] == LynqNode.definition.kind:
            node = self._by_key.get(ObjectKey(namespace, name))
        else:
            node = self._node_of(after, before)
        return PlannedChange(
            action=action,
            api_version=obj["apiVersion"],
            kind=obj["kind"],
            namespace=namespace,
            name=name,
            hub=node.metadata.labels.get(LABEL_HUB, "") if node else "",
            form=node.spec.template_ref if node else "",
            node=node.metadata.name if node else "",
            fields=self._fields(node, before, after),
            literals=self._literals(node, obj) if before and after and node else {},
            is_held=recorded.is_held,
        )

    def _fields(
        self, node: LynqNode | None, before: Body | None, after: Body | None
    ) -> tuple[FieldChange, ...]:
        """Return what differs, without the columns that Secrets of any version of the node read."""
        if after is None:
            return ()
        masks = self._masks_of(node.metadata.key) if node else ()
        return masked_fields(field_changes(before, after), masks)

    def _masks_of(self, key: ObjectKey) -> tuple[Mask, ...]:
        if key not in self._masks:
            self._masks[key] = secret_masks(self._versions[key])
        return self._masks[key]

    def _literals(self, node: LynqNode, obj: Body) -> dict[str, list[Any]]:
        """Return what the manifests of an object have as literals, in all versions of its node."""
        values: dict[str, list[Any]] = {}
        for version in self._versions[node.metadata.key]:
            for resource in all_resources(version.spec):
                name = resource.name_template or resource.spec.get("metadata", {}).get("name")
                if (resource.spec.get("kind"), name) != (obj["kind"], obj["metadata"]["name"]):
                    continue
                for path, value in literals(resource.spec).items():
                    values.setdefault(path, []).append(value)
        return values

    def _node_of(self, *versions: Body | None) -> LynqNode | None:
        """Return the node that owns an object, or that its labels name: of the first version."""
        for obj in versions:
            metadata = (obj or {}).get("metadata", {})
            owners = [owner["uid"] for owner in metadata.get("ownerReferences") or ()]
            if node := next((self._by_uid[uid] for uid in owners if uid in self._by_uid), None):
                return node
            labels = metadata.get("labels") or {}
            if label := labels.get(LABEL_NODE):
                annotation = (metadata.get("annotations") or {}).get(ANNOTATION_NODE_NAME)
                name = tracked_name(label, annotation)
                return self._by_key.get(ObjectKey(labels.get(LABEL_NODE_NAMESPACE, ""), name))
        return None


def _guard(plan: HubPlan, hub: LynqHub) -> Guard:
    if not plan.held:
        return Guard()
    spent = spent_approvals(hub.status.deletion_guard)
    return Guard(
        is_held=True,
        count=len(plan.held),
        digest=digest_of(plan.held, spent),
        message=plan.held_message(hub),
    )


def _order(change: PlannedChange) -> tuple[str, ...]:
    is_node = "" if change.kind == "LynqNode" else change.kind
    return (change.node, is_node, change.namespace, change.name)
