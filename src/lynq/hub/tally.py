"""Keeps count of a hub's nodes as they come, change and go, so that nobody ever scans them.

Told twice, or in any order as far as different nodes go, it counts the same: it remembers what each
node was last counted as.
"""

from collections import Counter
from enum import Enum
from typing import NamedTuple

from lynq.api import LynqNode
from lynq.api.conditions import ConditionStatus
from lynq.api.reasons import ConditionType
from lynq.api.transitions import find
from lynq.hub.stamps import is_leaving, pair_of


class Health(Enum):
    """What a node counts as."""

    READY = "ready"
    FAILED = "failed"
    """It says that it is not ready."""
    SILENT = "silent"
    """It has not said anything yet."""


class _Counted(NamedTuple):
    form: str
    health: Health


class Tally:
    """The nodes of one hub, counted."""

    __slots__ = ("_counts", "_known")

    def __init__(self) -> None:
        self._known: dict[str, _Counted] = {}
        self._counts: Counter[_Counted] = Counter()

    def put(self, node: LynqNode) -> None:
        """Count a node that has come or changed; one that is leaving no longer counts."""
        self.remove(node.metadata.name)
        if not is_leaving(node):
            counted = _Counted(_form_of(node), health_of(node))
            self._known[node.metadata.name] = counted
            self._counts[counted] += 1

    def remove(self, name: str) -> None:
        """Forget a node that is gone."""
        if counted := self._known.pop(name, None):
            self._counts[counted] -= 1
            if not self._counts[counted]:
                del self._counts[counted]

    def count(self, health: Health | None = None, *, form: str | None = None) -> int:
        """Return how many nodes there are, of this health and form if they are given."""
        # As many summands as forms, three times at most: nothing grows with the nodes.
        return sum(
            count
            for counted, count in self._counts.items()
            if health in (None, counted.health) and form in (None, counted.form)
        )

    def health(self, name: str) -> Health | None:
        """Return what a node counts as; None if it is not there."""
        counted = self._known.get(name)
        return counted.health if counted else None


def health_of(node: LynqNode) -> Health:
    """Return what a node says of itself."""
    ready = find(node.status.conditions, ConditionType.READY)
    if ready is None:
        return Health.SILENT
    return Health.READY if ready.status is ConditionStatus.TRUE else Health.FAILED


def _form_of(node: LynqNode) -> str:
    pair = pair_of(node)
    return pair.form if pair else node.spec.template_ref
