"""Series about single objects: kept as small records, written out only when somebody scrapes.

Ten thousand nodes have some hundred and fifty thousand series. As children of prometheus_client's
gauges each of them would be an object with a lock and a dict of its own; here a node is one
record, an update is one assignment, and a node that is gone takes everything with it by one
`pop`.

`collect` only copies the dicts, so it can be called between two passes; the families hold no
samples but make them when they are written, which may be in another thread. The records
themselves never change.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import Metric

from lynq.api.metadata import ObjectKey
from lynq.api.reasons import RejectionReason
from lynq.telemetry.families import LazyMetricFamily, SampleRows
from lynq.telemetry.fleet import NamespaceTotals, by_namespace
from lynq.telemetry.records import HubSample, NodeSample, RolloutSample

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
