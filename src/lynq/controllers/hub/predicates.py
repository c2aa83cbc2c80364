"""What a change of a hub, form or node means to the hub: nothing, counters, a plan, or a read.

Pure. Most changes of nodes are of their status, and most of those concern nobody here: a hub of
ten thousand nodes must not be woken ten thousand times for nothing.
"""

from datetime import datetime
from enum import IntEnum

from lynq.api import LynqForm, LynqHub, LynqNode, Metadata
from lynq.api.node_metadata import is_deleting, pair_or_spec
from lynq.controllers.hub.state import HubState
from lynq.core.guard.approval import annotations_without_approval
from lynq.core.hub.node_counts import NodeHealth, health_of
from lynq.core.rollout.facts import facts_of


class Trigger(IntEnum):
    """What a hub has to do about a change."""

    NOTHING = 0
    COUNT = 1
    """Look at its counters."""
    PLAN = 2
    """Plan anew."""
    READ = 3
    """Read the rows; until they are there, plan anew from those known."""


def hub_changed(old: LynqHub | None, new: LynqHub | None) -> Trigger:
    """Return what a change of the hub itself means; its status is our own work."""
    if new is None:
        return Trigger.PLAN
    if old is None or _asked(old.metadata) != _asked(new.metadata):
        return Trigger.READ
    return Trigger.NOTHING if _marks(old.metadata) == _marks(new.metadata) else Trigger.PLAN


def form_changed(old: LynqForm | None, new: LynqForm | None) -> Trigger:
    """Return what a change of a form means to its hub."""
    if new is None:
        return Trigger.PLAN
    if old is None:
        return Trigger.READ
    before, after = old.metadata, new.metadata
    if before.deletion_timestamp != after.deletion_timestamp:
        return Trigger.PLAN
    same = (before.uid, before.generation) == (after.uid, after.generation)
    return Trigger.NOTHING if same else Trigger.READ


def node_changed(
    old: LynqNode | None, new: LynqNode | None, memory: HubState, now: datetime
) -> Trigger:
    """Return what a change of a node, not made by the hub, means to its hub."""
    if new is None or is_deleting(new):
        return _effect_of_leaving(old, new, memory)
    if old is None or not is_as_written(old, new):
        return Trigger.PLAN
    if _gives_way(new, memory, now):
        return Trigger.PLAN
    return Trigger.NOTHING if health_of(old) is health_of(new) else Trigger.COUNT


def workload_became_ready(node: LynqNode, memory: HubState, now: datetime) -> Trigger:
    """Return what it means to a hub that a workload of a node has become ready.

    As a rule the node says so soon, and then is time enough. But its status comes by another watch
    than the workload, and may have been here first: then nobody else says it.
    """
    return Trigger.PLAN if _gives_way(node, memory, now) else Trigger.NOTHING


def is_as_written(written: LynqNode, current: LynqNode | None) -> bool:
    """Return whether all that a hub writes into a node is still there."""
    if current is None:
        return False
    before, after = written.metadata, current.metadata
    return before.uid == after.uid and _marks(before) == _marks(after)


def _effect_of_leaving(old: LynqNode | None, new: LynqNode | None, memory: HubState) -> Trigger:
    node = new or old
    if node is None:
        return Trigger.NOTHING
    # The name is free when the node is gone; its place under maxSkew as soon as it is leaving.
    if node.metadata.name in memory.wanted or _form_of(node) in memory.waiting:
        return Trigger.PLAN
    if new is None and memory.crowded:
        return Trigger.PLAN
    return Trigger.NOTHING if _counted(old) is None else Trigger.COUNT


def _counted(node: LynqNode | None) -> NodeHealth | None:
    return None if node is None or is_deleting(node) else health_of(node)


def _gives_way(node: LynqNode, memory: HubState, now: datetime) -> bool:
    """Return whether others wait for a slot, and a node holds none by what it says itself."""
    if _form_of(node) not in memory.waiting:
        return False
    return not facts_of(node, workloads_ready=True).holds_slot(now)


def _form_of(node: LynqNode) -> str:
    return pair_or_spec(node).form


def _asked(metadata: Metadata) -> tuple[object, ...]:
    """Return what people say of a hub, and we do not.

    An approval that is spent is taken off by us; that one is given is seen by the hub's orders.
    """
    annotations = annotations_without_approval(metadata)
    return metadata.uid, metadata.generation, metadata.labels, annotations


def _marks(metadata: Metadata) -> tuple[object, ...]:
    return (
        metadata.uid,
        metadata.generation,
        metadata.labels,
        metadata.annotations,
        metadata.owner_references,
        metadata.finalizers,
        metadata.deletion_timestamp,
    )
