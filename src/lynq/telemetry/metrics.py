"""The operator's own series: hubs, forms and nodes, under the names that alerts know."""

from collections.abc import Mapping
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Histogram

from lynq.api import HubStatus, NodeStatus, RolloutStatus
from lynq.api.metadata import ObjectKey
from lynq.api.reasons import RejectionReason
from lynq.telemetry.collectors import HubSample, NodeSample, ObjectCollector, RolloutSample

_RECONCILE_BUCKETS: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_ROW_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class OperatorMetrics:
    """All series about hubs, forms and nodes; those of an object that is gone are removed."""

    def __init__(self, registry: CollectorRegistry, *, per_node: bool = True) -> None:
        self._gauges = ObjectCollector(per_node)
        registry.register(self._gauges)
        self._reconciles = Histogram(
            "lynqnode_reconcile_duration_seconds",
            "Length of a node's pass",
            ("result",),
            buckets=_RECONCILE_BUCKETS,
            registry=registry,
        )
        self._applies = Counter(
            "apply_attempts_total",
            "Writes of resources",
            ("kind", "result", "conflict_policy"),
            registry=registry,
        )
        self._rows = Histogram(
            "lynq_row_to_ready_seconds",
            "Time from the read of a row until its node was ready with it",
            buckets=_ROW_BUCKETS,
            registry=registry,
        )

    def record_reconcile(
        self, result: Literal["success", "partial_failure", "error"], seconds: float
    ) -> None:
        """Note the end of a node's pass."""
        self._reconciles.labels(result).observe(seconds)

    def record_node_status(self, key: ObjectKey, status: NodeStatus) -> None:
        """Show how a node is."""
        self._gauges.nodes[key] = NodeSample.of(status)

    def record_apply(
        self, kind: str, result: Literal["success", "error"], conflict_policy: str
    ) -> None:
        """Count a write of a resource."""
        self._applies.labels(kind, result, conflict_policy).inc()

    def record_conflict(self, key: ObjectKey, kind: str, conflict_policy: str) -> None:
        """Count a conflict."""
        # A counter that nodes share must not fall when one of them goes.
        whose = key if self._gauges.per_node else ObjectKey(key.namespace, "")
        counts = self._gauges.conflicts.setdefault(whose, {})
        counts[kind, conflict_policy] = counts.get((kind, conflict_policy), 0) + 1

    def record_row_to_ready(self, seconds: float) -> None:
        """Note how long it took from the read of a row until its node was ready with it."""
        self._rows.observe(seconds)

    def remove_node(self, key: ObjectKey) -> None:
        """Remove the series of a node that is gone."""
        self._gauges.nodes.pop(key, None)
        self._gauges.conflicts.pop(key, None)

    def record_hub_status(self, key: ObjectKey, status: HubStatus) -> None:
        """Show a hub's counters."""
        self._gauges.hubs[key] = HubSample.of(status)

    def record_rejected_rows(self, key: ObjectKey, rows: Mapping[RejectionReason, int]) -> None:
        """Show how many rows are rejected, by reason."""
        self._gauges.rejected[key] = dict(rows)

    def record_held_nodes(self, key: ObjectKey, nodes: int) -> None:
        """Show how many nodes the deletion guard keeps."""
        self._gauges.held[key] = nodes

    def record_source_up(self, key: ObjectKey, *, up: bool) -> None:
        """Show whether the last read of a hub's rows succeeded."""
        self._gauges.sources[key] = up

    def remove_hub(self, key: ObjectKey) -> None:
        """Remove the series of a hub that is gone."""
        gauges = self._gauges
        for noted in (gauges.hubs, gauges.rejected, gauges.held, gauges.sources):
            noted.pop(key, None)

    def record_rollout(self, key: ObjectKey, rollout: RolloutStatus | None) -> None:
        """Show a form's rollout; None removes its series."""
        if rollout is None:
            self.remove_form(key)
        else:
            self._gauges.rollouts[key] = RolloutSample.of(rollout)

    def remove_form(self, key: ObjectKey) -> None:
        """Remove the series of a form that is gone."""
        self._gauges.rollouts.pop(key, None)
