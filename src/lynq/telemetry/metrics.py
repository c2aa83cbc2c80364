"""The metrics of hubs, forms and nodes; their names are API."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from lynq.api import HubStatus, NodeStatus, RolloutStatus
from lynq.api.metadata import ObjectKey
from lynq.api.reasons import RejectionReason
from lynq.telemetry.collectors import HubSample, NodeSample, ObjectCollector, RolloutSample

_RECONCILE_BUCKETS: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_ROW_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class OperatorMetrics:
    """Records the metrics of hubs, forms and nodes; those of a deleted object are removed."""

    def __init__(self, registry: CollectorRegistry, *, per_node: bool = True) -> None:
        self._collector = ObjectCollector(per_node)
        registry.register(self._collector)
        self._reconciles = Histogram(
            "lynqnode_reconcile_duration_seconds",
            "Duration of a reconcile of a node",
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
            "Time from the change of a row (its push notification, else the read that found it) "
            "until its node is ready",
            buckets=_ROW_BUCKETS,
            registry=registry,
        )

        self._plan_mismatches = Counter(
            "lynq_plan_mismatch_total",
            "Plans of changed rows that differ from a plan of all rows; all rows are planned again",
            registry=registry,
        )

        self._key_loaded = Gauge(
            "lynq_installation_key_loaded",
            "Whether the installation key is loaded; without it, hubs write no nodes, and nodes of "
            "hubs wait",
            registry=registry,
        )

    def record_installation_key(self, *, loaded: bool) -> None:
        """Record whether the installation key is loaded."""
        self._key_loaded.set(loaded)

    def record_plan_mismatch(self) -> None:
        """Count a plan of changed rows that differs from the plan of all rows."""
        self._plan_mismatches.inc()

    def record_reconcile(
        self, result: Literal["success", "partial_failure", "error"], seconds: float
    ) -> None:
        """Record the end of a reconcile of a node."""
        self._reconciles.labels(result).observe(seconds)

    def record_node_status(self, key: ObjectKey, status: NodeStatus) -> None:
        """Record the status of a node."""
        self._collector.nodes[key] = NodeSample.of(status)

    def record_apply(
        self, kind: str, result: Literal["success", "error"], conflict_policy: str
    ) -> None:
        """Count an apply of a resource."""
        self._applies.labels(kind, result, conflict_policy).inc()

    def record_conflict(self, key: ObjectKey, kind: str, conflict_policy: str) -> None:
        """Count a conflict."""
        # A counter of a namespace must not decrease when one of its nodes is deleted.
        counter_key = key if self._collector.per_node else ObjectKey(key.namespace, "")
        counts = self._collector.conflicts.setdefault(counter_key, {})
        counts[kind, conflict_policy] = counts.get((kind, conflict_policy), 0) + 1

    def record_row_to_ready(self, seconds: float) -> None:
        """Record the time from the change of a row until its node is ready."""
        self._rows.observe(seconds)

    def remove_node(self, key: ObjectKey) -> None:
        """Remove the metrics of a deleted node."""
        self._collector.nodes.pop(key, None)
        self._collector.conflicts.pop(key, None)

    def record_hub_status(self, key: ObjectKey, status: HubStatus) -> None:
        """Record the status of a hub."""
        self._collector.hubs[key] = HubSample.of(status)

    def record_rejected_rows(self, key: ObjectKey, rows: Mapping[RejectionReason, int]) -> None:
        """Record the number of rejected rows by reason."""
        self._collector.rejected_rows[key] = dict(rows)

    def record_held_nodes(self, key: ObjectKey, nodes: int) -> None:
        """Record the number of nodes that the deletion guard holds."""
        self._collector.held_nodes[key] = nodes

    def record_source_up(self, key: ObjectKey, *, up: bool) -> None:
        """Record whether the last read of a hub's rows succeeded."""
        self._collector.sources_up[key] = up

    def record_oldest_unready_row(self, key: ObjectKey, since: datetime | None) -> None:
        """Record since when the oldest row of a hub is not Ready; None if all are."""
        self._collector.unready_since[key] = since

    def remove_hub(self, key: ObjectKey) -> None:
        """Remove the metrics of a deleted hub."""
        collector = self._collector
        collector.hubs.pop(key, None)
        collector.rejected_rows.pop(key, None)
        collector.held_nodes.pop(key, None)
        collector.sources_up.pop(key, None)
        collector.unready_since.pop(key, None)

    def record_rollout(self, key: ObjectKey, rollout: RolloutStatus | None) -> None:
        """Record the rollout of a form; None removes its metrics."""
        if rollout is None:
            self.remove_form(key)
        else:
            self._collector.rollouts[key] = RolloutSample.of(rollout)

    def remove_form(self, key: ObjectKey) -> None:
        """Remove the metrics of a deleted form."""
        self._collector.rollouts.pop(key, None)
