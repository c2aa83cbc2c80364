"""Series about single objects: kept as small records, written out only when somebody scrapes.

Ten thousand nodes have some hundred and fifty thousand series. As children of prometheus_client's
gauges each of them would be an object with a lock and a dict of its own; here a node is one
record, an update is one assignment, and a node that is gone takes everything with it by one
`pop`.

`collect` only copies the dicts, so it can be called between two passes; the families hold no
samples but make them when they are written, which may be in another thread. The records
themselves never change.

Families of series whose samples are made only when they are written.

Many nodes as one: what is shown of a namespace where a series per node would be too many.

Alerts go on working, by namespace: numbers are summed, and a condition is as bad as that of the
worst node.

What is shown of a node, a hub or a rollout: a few numbers out of its status.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from prometheus_client import Metric
from prometheus_client.samples import Sample

from lynq.api import (
    ConditionStatus,
    HubStatus,
    NodeStatus,
    ResourceState,
    RolloutPhase,
    RolloutStatus,
)
from lynq.api.metadata import ObjectKey
from lynq.api.reasons import ConditionReason, ConditionType, RejectionReason

SampleRows: TypeAlias = Callable[[], Iterable[tuple[tuple[str, ...], float]]]
"""Gives the values of the labels and the value of every series, each time anew."""


class LazyMetricFamily(Metric):
    """A gauge, or with a name that ends in `_total` a counter."""

    def __init__(self, name: str, text: str, labels: tuple[str, ...], rows: SampleRows) -> None:
        self.series = name
        """The name that each series has."""
        self.labels = labels
        """Sorted, as Go's client writes them."""
        self.rows = rows
        is_counter = name.endswith("_total")
        super().__init__(name.removesuffix("_total"), text, "counter" if is_counter else "gauge")

    @property
    def samples(self) -> list[Sample]:
        """The samples as prometheus_client knows them, for those who do not know `rows`."""
        return [
            Sample(self.series, dict(zip(self.labels, values, strict=True)), value)
            for values, value in self.rows()
        ]

    @samples.setter
    def samples(self, value: list[Sample]) -> None:
        """Leave it: `Metric.__init__` sets an empty list."""


_SHOWN: Final = frozenset(
    {
        ConditionType.READY,
        ConditionType.PROGRESSING,
        ConditionType.CONFLICTED,
        ConditionType.DEGRADED,
    }
)
_TRUTH: Final = {ConditionStatus.FALSE: 0, ConditionStatus.TRUE: 1, ConditionStatus.UNKNOWN: 2}
_DEGRADED: Final = (
    ConditionReason.RESOURCE_FAILURES_AND_CONFLICTS,
    ConditionReason.RESOURCE_FAILURES,
    ConditionReason.RESOURCE_CONFLICTS,
    ConditionReason.RESOURCES_NOT_READY,
    ConditionReason.VARIABLES_BUILD_ERROR,
    ConditionReason.DEPENDENCY_CYCLE,
)
"""Every reason to be degraded, so that an alert on one of them finds its 0, too."""
_DEGRADATIONS: Final[dict[str | None, tuple[tuple[str, int], ...]]] = {
    present: tuple((str(reason), int(reason == present)) for reason in _DEGRADED)
    for present in (None, *_DEGRADED)
}
_PHASES: Final = {
    RolloutPhase.IDLE: 0,
    RolloutPhase.IN_PROGRESS: 1,
    RolloutPhase.FAILED: 2,
    RolloutPhase.COMPLETE: 3,
}


@dataclass(frozen=True, slots=True)
class NodeSample:
    """What is shown of a node."""

    ready: int
    desired: int
    failed: int
    conflicted: int
    conditions: tuple[tuple[str, int], ...]
    degraded: str | None
    """Why the node is degraded; None: it is not."""

    @classmethod
    def of(cls, status: NodeStatus) -> "NodeSample":
        """Return what is to be shown of a status."""
        conflicted = sum(each.state is ResourceState.CONFLICTED for each in status.resources)
        conditions = [each for each in status.conditions if each.type in _SHOWN]
        degraded = (
            each.reason
            for each in conditions
            if each.type == ConditionType.DEGRADED and each.status is ConditionStatus.TRUE
        )
        return cls(
            status.ready_resources,
            status.desired_resources,
            status.failed_resources,
            conflicted,
            tuple((each.type, _TRUTH[each.status]) for each in conditions),
            next(degraded, None),
        )

    @property
    def degradation(self) -> tuple[tuple[str, int], ...]:
        """Every known reason to be degraded, and whether it is the present one."""
        known = _DEGRADATIONS.get(self.degraded)
        return known or (*_DEGRADATIONS[None], (str(self.degraded), 1))


@dataclass(frozen=True, slots=True)
class RolloutSample:
    """What is shown of a form's rollout."""

    updating: int
    phase: int
    progress: float

    @classmethod
    def of(cls, status: RolloutStatus) -> "RolloutSample":
        """Return what is to be shown of a rollout."""
        total = status.total_nodes
        return cls(
            status.updating_nodes,
            _PHASES[status.phase or RolloutPhase.IDLE],
            status.ready_updated_nodes / total * 100 if total else 0.0,
        )


@dataclass(frozen=True, slots=True)
class HubSample:
    """What is shown of a hub's counters."""

    desired: int
    ready: int
    failed: int
    push: int | None = None
    """Whether the push channel is up; None: the hub has none."""

    @classmethod
    def of(cls, status: HubStatus) -> "HubSample":
        """Return what is to be shown of a status."""
        push = (
            int(each.status is ConditionStatus.TRUE)
            for each in status.conditions
            if each.type == ConditionType.PUSH_CONNECTED
        )
        return cls(status.desired, status.ready, status.failed, next(push, None))


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


_NODE: Final = ("lynqnode", "namespace")
_HUB: Final = ("hub", "namespace")
_FORM: Final = ("form", "namespace")


# Compared by identity: a registry keeps its collectors in a dict.
@dataclass(frozen=True, slots=True, eq=False)
class ObjectCollector:
    """The records of all objects; a collector for a registry."""

    per_node: bool = True
    """Whether every node has series of its own, or each namespace's nodes share theirs."""
    nodes: dict[ObjectKey, NodeSample] = field(default_factory=dict)
    conflicts: dict[ObjectKey, dict[tuple[str, str], int]] = field(default_factory=dict)
    """Per node: how many, by kind and conflict policy."""
    hubs: dict[ObjectKey, HubSample] = field(default_factory=dict)
    rejected: dict[ObjectKey, Mapping[RejectionReason, int]] = field(default_factory=dict)
    held: dict[ObjectKey, int] = field(default_factory=dict)
    sources: dict[ObjectKey, bool] = field(default_factory=dict)
    rollouts: dict[ObjectKey, RolloutSample] = field(default_factory=dict)

    def describe(self) -> Iterable[Metric]:
        """Return the families without their series: what the registry asks for at the start."""
        return list(ObjectCollector(self.per_node).collect())

    def collect(self) -> Iterator[Metric]:
        """Yield the families, with a series for every object."""
        yield from self._of_nodes()
        yield from self._of_hubs()
        yield from self._of_forms()

    def _of_nodes(self) -> Iterator[Metric]:
        nodes: list[tuple[tuple[str, ...], NodeSample | NamespaceTotals]]
        whose: tuple[str, ...] = _NODE
        if self.per_node:
            nodes = [((key.name, key.namespace), node) for key, node in self.nodes.items()]
        else:
            whose = _NODE[1:]
            nodes = [((place,), fleet) for place, fleet in by_namespace(self.nodes).items()]
        for name, text in (
            ("ready", "Resources that are ready"),
            ("desired", "Resources that a node should have"),
            ("failed", "Resources that failed, conflicts included"),
            ("conflicted", "Resources that someone else owns a field of"),
        ):
            yield LazyMetricFamily(f"lynqnode_resources_{name}", text, whose, _field(nodes, name))
        yield LazyMetricFamily(
            "lynqnode_condition_status",
            "Conditions of a node: 0 False, 1 True, 2 Unknown",
            (*whose, "type"),
            lambda: (((*at, name), truth) for at, node in nodes for name, truth in node.conditions),
        )
        yield LazyMetricFamily(
            "lynqnode_degraded_status",
            "1 for the reason that a node is degraded for",
            (*whose, "reason"),
            lambda: (((*at, why), holds) for at, node in nodes for why, holds in node.degradation),
        )
        yield self._of_conflicts()

    def _of_conflicts(self) -> Metric:
        rows = [
            ((policy, *((key.name,) if self.per_node else ()), key.namespace, kind), count)
            for key, counts in self.conflicts.items()
            for (kind, policy), count in counts.items()
        ]
        return LazyMetricFamily(
            "lynqnode_conflicts_total",
            "Conflicts with other owners of fields",
            ("conflict_policy", *(_NODE if self.per_node else _NODE[1:]), "resource_kind"),
            lambda: rows,
        )

    def _of_hubs(self) -> Iterator[Metric]:
        hubs = [((key.name, key.namespace), hub) for key, hub in self.hubs.items()]
        for name, text in (
            ("desired", "Nodes that a hub should have"),
            ("ready", "Nodes that are ready"),
            ("failed", "Nodes that are not ready, or could not be made"),
        ):
            yield LazyMetricFamily(f"hub_{name}", text, _HUB, _field(hubs, name))
        rejected = [
            ((key.name, key.namespace, reason), rows.get(reason, 0))
            for key, rows in self.rejected.items()
            for reason in RejectionReason
        ]
        yield LazyMetricFamily(
            "lynq_rejected_rows",
            "Rows that were set apart by the last sync",
            (*_HUB, "reason"),
            lambda: rejected,
        )
        yield LazyMetricFamily(
            "lynq_deletion_held", "Nodes that the deletion guard keeps", _HUB, _values(self.held)
        )
        yield LazyMetricFamily(
            "lynq_source_up",
            "Whether the last read of a hub's rows succeeded",
            _HUB,
            _values(self.sources),
        )
        pushed = [(at, hub.push) for at, hub in hubs if hub.push is not None]
        yield LazyMetricFamily(
            "lynq_push_connected", "Whether a hub is told of changes", _HUB, lambda: pushed
        )

    def _of_forms(self) -> Iterator[Metric]:
        forms = [((key.name, key.namespace), each) for key, each in self.rollouts.items()]
        for name, measure, text in (
            ("updating_nodes", "updating", "Updated nodes that are not ready yet"),
            ("phase", "phase", "0 Idle, 1 InProgress, 2 Failed, 3 Complete"),
            ("progress", "progress", "Percentage of nodes that are updated and ready"),
        ):
            yield LazyMetricFamily(f"lynqform_rollout_{name}", text, _FORM, _field(forms, measure))


def _field(records: Sequence[tuple[tuple[str, ...], object]], name: str) -> SampleRows:
    return lambda: ((at, getattr(record, name)) for at, record in records)


def _values(noted: Mapping[ObjectKey, int]) -> SampleRows:
    rows = [((key.name, key.namespace), int(value)) for key, value in noted.items()]
    return lambda: rows
