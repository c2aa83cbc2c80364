"""Predicates of the hub's event handlers: what a change of a hub, form or node triggers.

Most changes of nodes are status changes, and most of those do not concern the hub. A hub of ten
thousand nodes must not be reconciled ten thousand times without need.
"""

from datetime import datetime
from enum import IntEnum

from lynq.api import LynqForm, LynqHub, LynqNode, Metadata
from lynq.api.node_metadata import SHARD_LABELS, is_deleting, pair_or_spec
from lynq.core.guard.approval import annotations_without_approval
from lynq.core.hub.node_counts import NodeHealth, health_of
from lynq.core.hub.state import PlanState
from lynq.core.rollout.facts import facts_of


class Trigger(IntEnum):
    """The reaction of a hub to a change."""

    NOTHING = 0
    COUNT = 1
    """Update the counters of the status."""
    PLAN = 2
    """Plan with the rows of the last read."""
    READ = 3
    """Read the rows; until they arrive, plan with those of the last read."""


def hub_changed(old: LynqHub | None, new: LynqHub | None) -> Trigger:
    """Return the reaction to a change of the hub itself; its status is written by the hub."""
    if new is None:
        return Trigger.PLAN
    if old is None or _written_by_users(old.metadata) != _written_by_users(new.metadata):
        return Trigger.READ
    return Trigger.NOTHING if _content(old.metadata) == _content(new.metadata) else Trigger.PLAN


def form_changed(old: LynqForm | None, new: LynqForm | None) -> Trigger:
    """Return the reaction of its hub to a change of a form."""
    if new is None:
        return Trigger.PLAN
    if old is None:
        return Trigger.READ
    before, after = old.metadata, new.metadata
    if before.deletion_timestamp != after.deletion_timestamp:
        return Trigger.PLAN
    unchanged = (before.uid, before.generation) == (after.uid, after.generation)
    return Trigger.NOTHING if unchanged else Trigger.READ


def node_changed(
    old: LynqNode | None, new: LynqNode | None, plan: PlanState, now: datetime
) -> Trigger:
    """Return the reaction of its hub to a change of a node that the hub did not make."""
    if new is None or is_deleting(new):
        return _node_deleted(old, new, plan)
    if old is None or not is_as_written(old, new):
        return Trigger.PLAN
    if _frees_slot(new, plan, now):
        return Trigger.PLAN
    return Trigger.NOTHING if health_of(old) is health_of(new) else Trigger.COUNT


def workload_became_ready(node: LynqNode, plan: PlanState, now: datetime) -> Trigger:
    """Return the reaction of its hub to a workload of a node that becomes ready.

    Usually the node's status follows and triggers the hub. But the status arrives by another watch
    than the workload; if it arrives first, the workload's event is the last one.
    """
    return Trigger.PLAN if _frees_slot(node, plan, now) else Trigger.NOTHING


def requires_new_plan(name: str, node: LynqNode | None, plan: PlanState, now: datetime) -> bool:
    """Return whether a node that changed while `plan` was made requires another plan.

    The event handler judged the change by the plan before. `node` is None if it was deleted.
    """
    if node is None:
        return name in plan.desired or plan.has_taken_names
    if is_deleting(node):
        return _node_deleted(node, node, plan) is Trigger.PLAN
    return _frees_slot(node, plan, now)


def is_as_written(written: LynqNode, current: LynqNode | None) -> bool:
    """Return whether everything that a hub writes into a node is unchanged."""
    if current is None:
        return False
    before, after = written.metadata, current.metadata
    return before.uid == after.uid and _content(before) == _content(after)


def _node_deleted(old: LynqNode | None, new: LynqNode | None, plan: PlanState) -> Trigger:
    node = new or old
    if node is None:
        return Trigger.NOTHING
    # The name is free once the node is gone; its slot under maxSkew once it is being deleted.
    if node.metadata.name in plan.desired or pair_or_spec(node).form in plan.throttled_forms:
        return Trigger.PLAN
    if new is None and plan.has_taken_names:
        return Trigger.PLAN
    return Trigger.NOTHING if _counted_health(old) is None else Trigger.COUNT


def _counted_health(node: LynqNode | None) -> NodeHealth | None:
    return None if node is None or is_deleting(node) else health_of(node)


def _frees_slot(node: LynqNode, plan: PlanState, now: datetime) -> bool:
    """Return whether nodes of the form wait for a slot, and the node may hold none by its status.

    A node that fails frees a slot of the rows' budget.
    """
    if pair_or_spec(node).form not in plan.throttled_forms:
        return False
    facts = facts_of(node, workloads_ready=True)
    return facts.failed or not facts.is_unsettled(now)


def _written_by_users(metadata: Metadata) -> tuple[object, ...]:
    """Return the part of a hub's metadata that the operator does not write.

    The approval is excluded: the operator removes a spent one, and UserRequests detects a new one.
    """
    annotations = annotations_without_approval(metadata)
    return metadata.uid, metadata.generation, metadata.labels, annotations


def _content(metadata: Metadata) -> tuple[object, ...]:
    """Return what a plan depends on: not the labels for shards, for which no node is written."""
    labels = {key: text for key, text in metadata.labels.items() if key not in SHARD_LABELS}
    return (
        metadata.uid,
        metadata.generation,
        labels,
        metadata.annotations,
        metadata.owner_references,
        metadata.finalizers,
        metadata.deletion_timestamp,
    )
