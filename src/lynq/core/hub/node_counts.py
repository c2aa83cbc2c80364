"""Incremental node counts per hub and form, without full scans.

Counting is idempotent, and independent of the order of events for different nodes: the last counted
health of each node is kept.

A hub counts the nodes with its label, a form the nodes whose templateRef names it. The two are
counted separately: a node that was created manually may name a form without belonging to a hub.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from enum import Enum

from lynq.api import ConditionStatus, LynqNode
from lynq.api.conditions import find_condition
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import (
    form_of,
    hub_by_label,
    is_deleting,
    row_changed_at,
    written_at,
)
from lynq.api.reasons import ConditionType


class NodeHealth(Enum):
    """The health by which a node is counted."""

    READY = "ready"
    FAILED = "failed"
    """The condition Ready is not True."""
    UNREPORTED = "unreported"
    """The status has no condition Ready yet."""


class NodeCounts:
    """The counts of the nodes of one hub or form."""

    __slots__ = ("_by_health", "_health", "_unready_since")

    def __init__(self) -> None:
        self._health: dict[str, NodeHealth] = {}
        self._by_health: Counter[NodeHealth] = Counter()
        self._unready_since: dict[str, datetime] = {}

    def put(self, node: LynqNode) -> None:
        """Count a new or changed node; a node that is being deleted is not counted."""
        self.remove(node.metadata.name)
        if not is_deleting(node):
            self._health[node.metadata.name] = health = health_of(node)
            self._by_health[health] += 1
            if health is not NodeHealth.READY and (since := _unready_since(node)):
                self._unready_since[node.metadata.name] = since

    def remove(self, name: str) -> None:
        """Remove a deleted node from the counts."""
        self._unready_since.pop(name, None)
        if health := self._health.pop(name, None):
            self._by_health[health] -= 1

    def count(self, health: NodeHealth | None = None) -> int:
        """Return the number of nodes, or of those with this health."""
        return self._by_health[health] if health else len(self._health)

    def unready_since(self, waiting: Iterable[datetime] = ()) -> datetime | None:
        """Return since when the oldest row is not Ready; `waiting` are rows without a write."""
        return min((*self._unready_since.values(), *waiting), default=None)

    def health(self, name: str) -> NodeHealth | None:
        """Return the health of a node; None if it is not counted."""
        return self._health.get(name)


def health_of(node: LynqNode) -> NodeHealth:
    """Return the health of a node by its condition Ready."""
    ready = find_condition(node.status.conditions, ConditionType.READY)
    if ready is None:
        return NodeHealth.UNREPORTED
    return NodeHealth.READY if ready.status is ConditionStatus.TRUE else NodeHealth.FAILED


def _unready_since(node: LynqNode) -> datetime | None:
    """Return when the row of a node changed, or when the node lost its readiness after that."""
    ready = find_condition(node.status.conditions, ConditionType.READY)
    changed_at = row_changed_at(node) or written_at(node) or node.metadata.creation_timestamp
    lost_at = ready.last_transition_time if ready else None
    return max((time for time in (changed_at, lost_at) if time), default=None)


class FleetCounts:
    """Node counts of all hubs and forms, updated by changes of nodes."""

    def __init__(self) -> None:
        self._hubs = _CountsByOwner()
        self._forms = _CountsByOwner()

    def of(self, hub: ObjectKey) -> NodeCounts:
        """Return the counts of a hub; empty if it has no nodes."""
        return self._hubs.of(hub)

    def of_form(self, form: ObjectKey) -> NodeCounts:
        """Return the counts of a form; empty if it has no nodes."""
        return self._forms.of(form)

    def update(self, key: ObjectKey, old: LynqNode | None, new: LynqNode | None) -> None:
        """Update the counts after a change of a node."""
        self._hubs.move(key.name, hub_by_label(old), hub_by_label(new), new)
        before, after = (form_of(node) if node else None for node in (old, new))
        self._forms.move(key.name, before, after, new)


class _CountsByOwner:
    """Node counts by hub or form; owners without nodes have no entry."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[ObjectKey, NodeCounts] = {}

    def of(self, owner: ObjectKey) -> NodeCounts:
        return self._counts.get(owner) or NodeCounts()

    def move(
        self, name: str, before: ObjectKey | None, after: ObjectKey | None, node: LynqNode | None
    ) -> None:
        """Count a node for its current owner, and no longer for its previous one."""
        if before is not None and before != after:
            self._remove(before, name)
        if after is not None and node is not None:
            self._counts.setdefault(after, NodeCounts()).put(node)

    def _remove(self, owner: ObjectKey, name: str) -> None:
        if counts := self._counts.get(owner):
            counts.remove(name)
            if not counts.count():
                del self._counts[owner]
