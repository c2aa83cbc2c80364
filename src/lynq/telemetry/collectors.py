"""Metrics of single hubs, forms and nodes: small records whose samples are created at a scrape.

Ten thousand nodes have about a hundred and fifty thousand samples. As children of
prometheus_client's gauges, each would be an object with its own lock and dict. Here a node is one
immutable record: an update is one assignment, and the removal of a node is one `pop`.

`collect` copies the dicts in the event loop. The families create their samples when they are
rendered, which may happen in another thread.

Large installations expose metrics per namespace instead of per node: numbers are summed, and a
condition is that of the worst node, so alerts keep working.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
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
"""Yields the label values and the value of every sample."""


class LazyMetricFamily(Metric):
    """A gauge, or a counter if its name ends in `_total`."""

    def __init__(self, name: str, text: str, labels: tuple[str, ...], rows: SampleRows) -> None:
        self.sample_name = name
        self.labels = labels
        """Sorted, like in Go's client."""
        self.rows = rows
        is_counter = name.endswith("_total")
        super().__init__(name.removesuffix("_total"), text, "counter" if is_counter else "gauge")

    @property
    def samples(self) -> list[Sample]:
        """The samples for code that does not use `rows`."""
        return [
            Sample(self.sample_name, dict(zip(self.labels, values, strict=True)), value)
            for values, value in self.rows()
        ]

    @samples.setter
    def samples(self, value: list[Sample]) -> None:
        """Ignore the empty list that `Metric.__init__` sets."""


_EXPOSED_CONDITIONS: Final = frozenset(
    {
        ConditionType.READY,
        ConditionType.PROGRESSING,
        ConditionType.CONFLICTED,
        ConditionType.DEGRADED,
    }
)
_CONDITION_VALUES: Final = {
    ConditionStatus.FALSE: 0,
    ConditionStatus.TRUE: 1,
    ConditionStatus.UNKNOWN: 2,
}
_DEGRADED_REASONS: Final = (
    ConditionReason.RESOURCE_FAILURES_AND_CONFLICTS,
    ConditionReason.RESOURCE_FAILURES,
    ConditionReason.RESOURCE_CONFLICTS,
    ConditionReason.RESOURCES_NOT_READY,
    ConditionReason.VARIABLES_BUILD_ERROR,
    ConditionReason.DEPENDENCY_CYCLE,
)
"""All of them are exposed, so that an alert on one of them finds its 0."""
_DEGRADATIONS: Final[dict[str | None, tuple[tuple[str, int], ...]]] = {
    current: tuple((str(reason), int(reason == current)) for reason in _DEGRADED_REASONS)
    for current in (None, *_DEGRADED_REASONS)
}
_PHASES: Final = {
    RolloutPhase.IDLE: 0,
    RolloutPhase.IN_PROGRESS: 1,
    RolloutPhase.FAILED: 2,
    RolloutPhase.COMPLETE: 3,
}


@dataclass(frozen=True, slots=True)
class NodeSample:
    """The exposed values of a node."""

    ready: int
    desired: int
    failed: int
    conflicted: int
    conditions: tuple[tuple[str, int], ...]
    degraded: str | None
    """The reason of the condition Degraded; None if it is not True."""

    @staticmethod
    def of(status: NodeStatus) -> "NodeSample":
        """Return the values of a status."""
        conflicted = sum(
            resource.state is ResourceState.CONFLICTED for resource in status.resources
        )
        conditions = [
            condition for condition in status.conditions if condition.type in _EXPOSED_CONDITIONS
        ]
        degraded = (
            condition.reason
            for condition in conditions
            if condition.type == ConditionType.DEGRADED and condition.status is ConditionStatus.TRUE
        )
        return _shared_sample(
            status.ready_resources,
            status.desired_resources,
            status.failed_resources,
            conflicted,
            tuple(
                (condition.type, _CONDITION_VALUES[condition.status]) for condition in conditions
            ),
            next(degraded, None),
        )

    @property
    def degradation(self) -> tuple[tuple[str, int], ...]:
        """Every reason of Degraded, with 1 for the current one."""
        degradation = _DEGRADATIONS.get(self.degraded)
        return degradation or (*_DEGRADATIONS[None], (str(self.degraded), 1))


# Most nodes of a form have the same values, and one sample.
_shared_sample: Final = lru_cache(maxsize=256)(NodeSample)


@dataclass(frozen=True, slots=True)
class RolloutSample:
    """The exposed values of a form's rollout."""

    updating: int
    phase: int
    progress: float

    @classmethod
    def of(cls, status: RolloutStatus) -> "RolloutSample":
        """Return the values of a rollout."""
        total = status.total_nodes
        return cls(
            status.updating_nodes,
            _PHASES[status.phase or RolloutPhase.IDLE],
            status.ready_updated_nodes / total * 100 if total else 0.0,
        )


@dataclass(frozen=True, slots=True)
class HubSample:
    """The exposed values of a hub."""

    desired: int
    ready: int
    failed: int
    push: int | None = None
    """1 if the push channel is connected; None if the hub has none."""

    @classmethod
    def of(cls, status: HubStatus) -> "HubSample":
        """Return the values of a status."""
        push = (
            int(condition.status is ConditionStatus.TRUE)
            for condition in status.conditions
            if condition.type == ConditionType.PUSH_CONNECTED
        )
        return cls(status.desired, status.ready, status.failed, next(push, None))


@dataclass(slots=True)
class NamespaceTotals:
    """The sum of all nodes of a namespace, with the fields of a NodeSample."""

    ready: int = 0
    desired: int = 0
    failed: int = 0
    conflicted: int = 0
    _conditions: dict[str, int] = field(default_factory=dict)
    _degraded: Counter[str] = field(default_factory=Counter)

    @property
    def conditions(self) -> Iterable[tuple[str, int]]:
        """Each condition of the worst node."""
        return self._conditions.items()

    @property
    def degradation(self) -> Iterable[tuple[str, int]]:
        """The number of degraded nodes by reason."""
        return self._degraded.items()

    def add(self, node: NodeSample) -> None:
        """Add a node."""
        self.ready += node.ready
        self.desired += node.desired
        self.failed += node.failed
        self.conflicted += node.conflicted
        for name, value in node.conditions:
            worse = min if name == ConditionType.READY else max
            self._conditions[name] = worse(self._conditions.get(name, value), value)
        self._degraded.update(dict(node.degradation))


def by_namespace(nodes: Mapping[ObjectKey, NodeSample]) -> dict[str, NamespaceTotals]:
    """Return the totals of each namespace."""
    totals: dict[str, NamespaceTotals] = {}
    for key, node in nodes.items():
        totals.setdefault(key.namespace, NamespaceTotals()).add(node)
    return totals


_NODE_LABELS: Final = ("lynqnode", "namespace")
_HUB_LABELS: Final = ("hub", "namespace")
_FORM_LABELS: Final = ("form", "namespace")


# Compared by identity: a registry keeps its collectors in a dict.
@dataclass(frozen=True, slots=True, eq=False)
class ObjectCollector:
    """A collector for a registry, with the records of all objects."""

    per_node: bool = True
    """Whether metrics are exposed per node, or per namespace."""
    nodes: dict[ObjectKey, NodeSample] = field(default_factory=dict)
    conflicts: dict[ObjectKey, dict[tuple[str, str], int]] = field(default_factory=dict)
    """Per node, the number of conflicts by kind and conflict policy."""
    hubs: dict[ObjectKey, HubSample] = field(default_factory=dict)
    rejected_rows: dict[ObjectKey, Mapping[RejectionReason, int]] = field(default_factory=dict)
    held_nodes: dict[ObjectKey, int] = field(default_factory=dict)
    sources_up: dict[ObjectKey, bool] = field(default_factory=dict)
    unready_since: dict[ObjectKey, datetime | None] = field(default_factory=dict)
    """Per hub, since when the oldest row is not Ready; None if all are."""
    rollouts: dict[ObjectKey, RolloutSample] = field(default_factory=dict)

    def describe(self) -> Iterable[Metric]:
        """Return the families without samples, for the registration."""
        return list(ObjectCollector(self.per_node).collect())

    def collect(self) -> Iterator[Metric]:
        """Yield the families, with samples of every object."""
        yield from self._node_families()
        yield from self._hub_families()
        yield from self._form_families()

    def _node_families(self) -> Iterator[Metric]:
        nodes: list[tuple[tuple[str, ...], NodeSample | NamespaceTotals]]
        labels: tuple[str, ...] = _NODE_LABELS
        if self.per_node:
            nodes = [((key.name, key.namespace), node) for key, node in self.nodes.items()]
        else:
            labels = _NODE_LABELS[1:]
            nodes = [
                ((namespace,), totals) for namespace, totals in by_namespace(self.nodes).items()
            ]
        for name, text in (
            ("ready", "Ready resources"),
            ("desired", "Desired resources"),
            ("failed", "Failed resources, including conflicts"),
            ("conflicted", "Resources with field conflicts"),
        ):
            yield LazyMetricFamily(f"lynqnode_resources_{name}", text, labels, _field(nodes, name))
        yield LazyMetricFamily(
            "lynqnode_condition_status",
            "Condition of a node: 0 False, 1 True, 2 Unknown",
            (*labels, "type"),
            lambda: (
                ((*values, name), value)
                for values, node in nodes
                for name, value in node.conditions
            ),
        )
        yield LazyMetricFamily(
            "lynqnode_degraded_status",
            "1 for the current reason of a degraded node",
            (*labels, "reason"),
            lambda: (
                ((*values, reason), value)
                for values, node in nodes
                for reason, value in node.degradation
            ),
        )
        yield self._conflict_family()

    def _conflict_family(self) -> Metric:
        rows = [
            ((policy, *((key.name,) if self.per_node else ()), key.namespace, kind), count)
            for key, counts in self.conflicts.items()
            for (kind, policy), count in counts.items()
        ]
        return LazyMetricFamily(
            "lynqnode_conflicts_total",
            "Field conflicts with other managers",
            (
                "conflict_policy",
                *(_NODE_LABELS if self.per_node else _NODE_LABELS[1:]),
                "resource_kind",
            ),
            lambda: rows,
        )

    def _hub_families(self) -> Iterator[Metric]:
        hubs = [((key.name, key.namespace), hub) for key, hub in self.hubs.items()]
        for name, text in (
            ("desired", "Desired nodes of a hub"),
            ("ready", "Ready nodes of a hub"),
            ("failed", "Nodes of a hub that are not ready or could not be created"),
        ):
            yield LazyMetricFamily(f"hub_{name}", text, _HUB_LABELS, _field(hubs, name))
        rejected = [
            ((key.name, key.namespace, reason), counts.get(reason, 0))
            for key, counts in self.rejected_rows.items()
            for reason in RejectionReason
        ]
        yield LazyMetricFamily(
            "lynq_rejected_rows",
            "Rows rejected by the last sync",
            (*_HUB_LABELS, "reason"),
            lambda: rejected,
        )
        yield LazyMetricFamily(
            "lynq_deletion_held",
            "Nodes whose deletion is held by the deletion guard",
            _HUB_LABELS,
            _values(self.held_nodes),
        )
        yield LazyMetricFamily(
            "lynq_source_up",
            "1 if the last read of a hub's rows succeeded",
            _HUB_LABELS,
            _values(self.sources_up),
        )
        now = datetime.now(UTC)
        ages = [
            ((key.name, key.namespace), max((now - since).total_seconds(), 0.0) if since else 0.0)
            for key, since in self.unready_since.items()
        ]
        yield LazyMetricFamily(
            "lynq_oldest_unready_row_seconds",
            "Age of the oldest change of a row whose node is not ready; 0 if all are",
            _HUB_LABELS,
            lambda: ages,
        )
        connected = [(values, hub.push) for values, hub in hubs if hub.push is not None]
        yield LazyMetricFamily(
            "lynq_push_connected",
            "1 if the push channel of a hub is connected",
            _HUB_LABELS,
            lambda: connected,
        )

    def _form_families(self) -> Iterator[Metric]:
        forms = [((key.name, key.namespace), rollout) for key, rollout in self.rollouts.items()]
        for name, attribute, text in (
            ("updating_nodes", "updating", "Updated nodes that are not ready yet"),
            ("phase", "phase", "0 Idle, 1 InProgress, 2 Failed, 3 Complete"),
            ("progress", "progress", "Percentage of nodes that are updated and ready"),
        ):
            yield LazyMetricFamily(
                f"lynqform_rollout_{name}", text, _FORM_LABELS, _field(forms, attribute)
            )


def _field(records: Sequence[tuple[tuple[str, ...], object]], name: str) -> SampleRows:
    return lambda: ((values, getattr(record, name)) for values, record in records)


def _values(records: Mapping[ObjectKey, int]) -> SampleRows:
    rows = [((key.name, key.namespace), int(value)) for key, value in records.items()]
    return lambda: rows
