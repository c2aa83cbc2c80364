"""Many nodes as one: what is shown of a namespace where a series per node would be too many.

Alerts go on working, by namespace: numbers are summed, and a condition is as bad as that of the
worst node.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lynq.api.metadata import ObjectKey
from lynq.api.reasons import ConditionType
from lynq.telemetry.records import NodeSample


@dataclass(slots=True)
class NamespaceTotals:
    """All nodes of a namespace; the fields are those of a node's record."""

    ready: int = 0
    desired: int = 0
    failed: int = 0
    conflicted: int = 0
    _conditions: dict[str, int] = field(default_factory=dict)
    _degraded: Counter[str] = field(default_factory=Counter)

    @property
    def conditions(self) -> Iterable[tuple[str, int]]:
        """Each condition as the worst node has it."""
        return self._conditions.items()

    @property
    def degradation(self) -> Iterable[tuple[str, int]]:
        """How many nodes are degraded, by reason."""
        return self._degraded.items()

    def add(self, node: NodeSample) -> None:
        """Count a node."""
        self.ready += node.ready
        self.desired += node.desired
        self.failed += node.failed
        self.conflicted += node.conflicted
        for name, truth in node.conditions:
            worse = min if name == ConditionType.READY else max
            self._conditions[name] = worse(self._conditions.get(name, truth), truth)
        self._degraded.update(dict(node.degradation))


def by_namespace(nodes: Mapping[ObjectKey, NodeSample]) -> dict[str, NamespaceTotals]:
    """Return the fleets, by namespace."""
    fleets: dict[str, NamespaceTotals] = {}
    for key, node in nodes.items():
        fleets.setdefault(key.namespace, NamespaceTotals()).add(node)
    return fleets
