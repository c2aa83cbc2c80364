"""Keeps count of nodes as they come, change and go, so that nobody ever scans them.

Told twice, or in any order as far as different nodes go, it counts the same: it remembers what each
node was last counted as.
"""

from collections import Counter
from enum import Enum

from lynq.api import ConditionStatus, LynqNode
from lynq.api.conditions import find_condition
from lynq.api.node_metadata import is_deleting
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
