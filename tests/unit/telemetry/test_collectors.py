"""Metrics per namespace: sums, and the worst condition."""

from prometheus_client import CollectorRegistry

from lynq.api import NodeStatus, ResourceState
from lynq.api.metadata import ObjectKey
from lynq.core.node.objects import ObjectRef
from lynq.core.node.state import ResourceOutcome
from lynq.core.node.status import StatusReport, next_status
from lynq.telemetry import OperatorMetrics
from unit.core.node.nodes import NOW


def status(*states: ResourceState) -> NodeStatus:
    outcomes = [
        ResourceOutcome(
            id=str(number), ref=ObjectRef("v1", "X", "a", str(number)), state=state, reason=""
        )
        for number, state in enumerate(states)
    ]
    report = StatusReport(namespace="a", generation=1, outcomes=outcomes)
    return next_status(NodeStatus(), report, NOW)


GOOD = status(ResourceState.READY, ResourceState.READY)
BAD = status(ResourceState.READY, ResourceState.FAILED)
ONE, TWO, OTHER = ObjectKey("a", "one"), ObjectKey("a", "two"), ObjectKey("b", "one")


def test_metrics_can_be_exposed_per_namespace() -> None:
    registry = CollectorRegistry()
    metrics = OperatorMetrics(registry, per_node=False)
    for key, status in ((ONE, GOOD), (TWO, BAD), (OTHER, GOOD)):
        metrics.record_node_status(key, status)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, {"namespace": "a", **labels})

    assert value("lynqnode_resources_ready") == 3
    assert value("lynqnode_resources_failed") == 1
    assert value("lynqnode_condition_status", type="Ready") == 0
    assert value("lynqnode_condition_status", type="Degraded") == 1
    assert value("lynqnode_degraded_status", reason="ResourceFailures") == 1
    other = registry.get_sample_value(
        "lynqnode_condition_status", {"namespace": "b", "type": "Ready"}
    )
    assert other == 1


def test_counter_of_a_namespace_survives_node_removal() -> None:
    registry = CollectorRegistry()
    metrics = OperatorMetrics(registry, per_node=False)
    for key in (ONE, TWO, TWO):
        metrics.record_conflict(key, "ConfigMap", "Stuck")
    metrics.remove_node(TWO)
    labels = {"namespace": "a", "resource_kind": "ConfigMap", "conflict_policy": "Stuck"}
    assert registry.get_sample_value("lynqnode_conflicts_total", labels) == 3
