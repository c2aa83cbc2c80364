"""Keeps count of nodes as they come, change and go, so that nobody ever scans them.

Told twice, or in any order as far as different nodes go, it counts the same: it remembers what each
node was last counted as.

How many nodes each hub and form has, kept as they come and go: nobody ever scans them.

A hub has the nodes with its label, a form those that name it: the two are counted apart, since a
node made by hand may name a form and belong to no hub.
"""

from collections import Counter
from enum import Enum

from lynq.api import ConditionStatus, LynqNode
from lynq.api.conditions import find_condition
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import form_of, hub_by_label, is_deleting
from lynq.api.reasons import ConditionType


class NodeHealth(Enum):
    """What a node counts as."""

    READY = "ready"
    FAILED = "failed"
    """It says that it is not ready."""
    SILENT = "silent"
    """It has not said anything yet."""


class NodeCounts:
    """The nodes of one hub, or of one form, counted."""

    __slots__ = ("_counts", "_known")

    def __init__(self) -> None:
        self._known: dict[str, NodeHealth] = {}
        self._counts: Counter[NodeHealth] = Counter()

    def put(self, node: LynqNode) -> None:
        """Count a node that has come or changed; one that is leaving no longer counts."""
        self.remove(node.metadata.name)
        if not is_deleting(node):
            self._known[node.metadata.name] = health_of(node)
            self._counts[health_of(node)] += 1

    def remove(self, name: str) -> None:
        """Forget a node that is gone."""
        if health := self._known.pop(name, None):
            self._counts[health] -= 1

    def count(self, health: NodeHealth | None = None) -> int:
        """Return how many nodes there are, of this health if it is given."""
        return self._counts[health] if health else len(self._known)

    def health(self, name: str) -> NodeHealth | None:
        """Return what a node counts as; None if it is not there."""
        return self._known.get(name)


def health_of(node: LynqNode) -> NodeHealth:
    """Return what a node says of itself."""
    ready = find_condition(node.status.conditions, ConditionType.READY)
    if ready is None:
        return NodeHealth.SILENT
    return NodeHealth.READY if ready.status is ConditionStatus.TRUE else NodeHealth.FAILED


class FleetCounts:
    """One tally per hub and one per form, fed by the changes of nodes."""

    def __init__(self) -> None:
        self._hubs = _CountsByOwner()
        self._forms = _CountsByOwner()

    def of(self, hub: ObjectKey) -> NodeCounts:
        """Return the tally of a hub's nodes; empty if it has none."""
        return self._hubs.of(hub)

    def of_form(self, form: ObjectKey) -> NodeCounts:
        """Return the tally of the nodes that name a form; empty if none does."""
        return self._forms.of(form)

    def take(self, key: ObjectKey, old: LynqNode | None, new: LynqNode | None) -> None:
        """Count a change of a node."""
        self._hubs.move(key.name, hub_by_label(old), hub_by_label(new), new)
        before, after = (form_of(node) if node else None for node in (old, new))
        self._forms.move(key.name, before, after, new)


class _CountsByOwner:
    """Tallies by what their nodes belong to; there is none for what has no nodes."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[ObjectKey, NodeCounts] = {}

    def of(self, whose: ObjectKey) -> NodeCounts:
        return self._known.get(whose) or NodeCounts()

    def move(
        self, name: str, before: ObjectKey | None, after: ObjectKey | None, node: LynqNode | None
    ) -> None:
        """Count a node as it is now, where it belongs now."""
        if before is not None and before != after:
            self._remove(before, name)
        if after is not None and node is not None:
            self._known.setdefault(after, NodeCounts()).put(node)

    def _remove(self, whose: ObjectKey, name: str) -> None:
        if tally := self._known.get(whose):
            tally.remove(name)
            if not tally.count():
                del self._known[whose]
