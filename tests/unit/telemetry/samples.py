"""A registry with a sample of every kind of metric."""

from prometheus_client import CollectorRegistry

from lynq.api import NodeStatus, RolloutStatus
from lynq.api.metadata import ObjectKey
from lynq.kube import RuntimeMetrics
from lynq.telemetry import OperatorMetrics

KEY = ObjectKey("shop", "acme-web")


def registry_with_samples(*, per_node: bool = True) -> CollectorRegistry:
    """Return a registry with samples of all metrics."""
    registry = CollectorRegistry()
    runtime, metrics = RuntimeMetrics(registry), OperatorMetrics(registry, per_node=per_node)
    runtime.queue("lynqnode").queue_duration.observe(0.2)
    runtime.controller("lynqnode").time.observe(0.2)
    metrics.record_node_status(KEY, NodeStatus(ready_resources=3))
    metrics.record_conflict(KEY, "ConfigMap", "Stuck")
    metrics.record_apply("ConfigMap", "success", "Stuck")
    metrics.record_reconcile("success", 0.7)
    metrics.record_row_to_ready(0.7)
    metrics.record_rollout(KEY, RolloutStatus(total_nodes=3, ready_updated_nodes=3))
    return registry
