"""Series about single objects: kept as small records, written out only when somebody scrapes.

Ten thousand nodes have some hundred and fifty thousand series. As children of prometheus_client's
gauges each of them would be an object with a lock and a dict of its own; here a node is one
record, an update is one assignment, and a node that is gone takes everything with it by one
`pop`.

A scrape may run in another thread than the updates. It walks over copies of the dicts, taken by
`list()`, which nothing can interrupt; the records themselves never change.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from prometheus_client import Metric

from lynq.api.metadata import ObjectKey
from lynq.api.reasons import RejectionReason
from lynq.telemetry.records import HubRecord, NodeRecord, RolloutRecord

_Rows: TypeAlias = Iterable[tuple[tuple[str, ...], float]]
"""Values of labels, and the value of the series."""

_NODE: Final = ("lynqnode", "namespace")
_HUB: Final = ("hub", "namespace")
_FORM: Final = ("form", "namespace")


# Compared by identity: a registry keeps its collectors in a dict.
@dataclass(frozen=True, slots=True, eq=False)
class Gauges:
    """The records of all objects; a collector for a registry."""

    nodes: dict[ObjectKey, NodeRecord] = field(default_factory=dict)
    conflicts: dict[ObjectKey, dict[tuple[str, str], int]] = field(default_factory=dict)
    """Per node: how many, by kind and conflict policy."""
    hubs: dict[ObjectKey, HubRecord] = field(default_factory=dict)
    rejected: dict[ObjectKey, Mapping[RejectionReason, int]] = field(default_factory=dict)
    held: dict[ObjectKey, int] = field(default_factory=dict)
    sources: dict[ObjectKey, bool] = field(default_factory=dict)
    rollouts: dict[ObjectKey, RolloutRecord] = field(default_factory=dict)

    def describe(self) -> Iterable[Metric]:
        """Return the families without their series: what the registry asks for at the start."""
        return list(Gauges().collect())

    def collect(self) -> Iterator[Metric]:
        """Yield the families, with a series for every object."""
        yield from self._of_nodes()
        yield from self._of_hubs()
        yield from self._of_forms()

    def _of_nodes(self) -> Iterator[Metric]:
        nodes = [((key.name, key.namespace), node) for key, node in list(self.nodes.items())]
        for name, text in (
            ("ready", "Resources that are ready"),
            ("desired", "Resources that a node should have"),
            ("failed", "Resources that failed, conflicts included"),
            ("conflicted", "Resources that someone else owns a field of"),
        ):
            rows = ((at, getattr(node, name)) for at, node in nodes)
            yield _family(f"lynqnode_resources_{name}", text, _NODE, rows)
        yield _family(
            "lynqnode_condition_status",
            "Conditions of a node: 0 False, 1 True, 2 Unknown",
            (*_NODE, "type"),
            (((*at, name), truth) for at, node in nodes for name, truth in node.conditions),
        )
        yield _family(
            "lynqnode_degraded_status",
            "1 for the reason that a node is degraded for",
            (*_NODE, "reason"),
            (((*at, why), holds) for at, node in nodes for why, holds in node.degradation()),
        )
        yield _family(
            "lynqnode_conflicts",
            "Conflicts with other owners of fields",
            (*_NODE, "resource_kind", "conflict_policy"),
            self._conflicts(),
            counter=True,
        )

    def _conflicts(self) -> _Rows:
        for key, counts in list(self.conflicts.items()):
            for (kind, policy), count in list(counts.items()):
                yield (key.name, key.namespace, kind, policy), count

    def _of_hubs(self) -> Iterator[Metric]:
        hubs = [((key.name, key.namespace), hub) for key, hub in list(self.hubs.items())]
        for name, text in (
            ("desired", "Nodes that a hub should have"),
            ("ready", "Nodes that are ready"),
            ("failed", "Nodes that are not ready, or could not be made"),
        ):
            rows = ((at, getattr(hub, name)) for at, hub in hubs)
            yield _family(f"hub_{name}", text, _HUB, rows)
        yield _family(
            "lynq_rejected_rows",
            "Rows that were set apart by the last sync",
            (*_HUB, "reason"),
            (
                ((key.name, key.namespace, reason), rows.get(reason, 0))
                for key, rows in list(self.rejected.items())
                for reason in RejectionReason
            ),
        )
        yield _family(
            "lynq_deletion_held", "Nodes that the deletion guard keeps", _HUB, _plain(self.held)
        )
        yield _family(
            "lynq_source_up",
            "Whether the last read of a hub's rows succeeded",
            _HUB,
            _plain(self.sources),
        )

    def _of_forms(self) -> Iterator[Metric]:
        forms = [((key.name, key.namespace), each) for key, each in list(self.rollouts.items())]
        for name, measure, text in (
            ("updating_nodes", "updating", "Updated nodes that are not ready yet"),
            ("phase", "phase", "0 Idle, 1 InProgress, 2 Failed, 3 Complete"),
            ("progress", "progress", "Percentage of nodes that are updated and ready"),
        ):
            rows = ((at, getattr(each, measure)) for at, each in forms)
            yield _family(f"lynqform_rollout_{name}", text, _FORM, rows)


def _plain(values: Mapping[ObjectKey, float]) -> _Rows:
    return (((key.name, key.namespace), value) for key, value in list(values.items()))


def _family(
    name: str, text: str, labels: tuple[str, ...], rows: _Rows, *, counter: bool = False
) -> Metric:
    family = Metric(name, text, "counter" if counter else "gauge")
    sample = f"{name}_total" if counter else name
    for values, value in rows:
        family.add_sample(sample, dict(zip(labels, values, strict=True)), value)
    return family
