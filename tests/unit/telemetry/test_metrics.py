"""The operator's metrics, as exposed to a scrape."""

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from lynq.api import (
    Condition,
    ConditionStatus,
    HubStatus,
    NodeStatus,
    ResourceState,
    ResourceStatus,
    RolloutPhase,
    RolloutStatus,
)
from lynq.api.metadata import ObjectKey
from lynq.api.reasons import RejectionReason
from lynq.telemetry import OperatorMetrics
from lynq.telemetry.exposition import collect_families, render_families

KEY = ObjectKey("shop", "acme-web")
NODE = {"lynqnode": "acme-web", "namespace": "shop"}
HUB = {"hub": "acme-web", "namespace": "shop"}
FORM = {"form": "acme-web", "namespace": "shop"}


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> OperatorMetrics:
    return OperatorMetrics(registry)


def condition(kind: str, status: str, reason: str) -> Condition:
    return Condition(
        type=kind,
        status=ConditionStatus(status),
        reason=reason,
        message="",
        last_transition_time=datetime(2026, 1, 1, tzinfo=UTC),
    )


def degraded(reason: str) -> NodeStatus:
    return NodeStatus(conditions=(condition("Degraded", "True", reason),))


HEALTHY = NodeStatus(conditions=(condition("Degraded", "False", "Healthy"),))


def text(registry: CollectorRegistry) -> str:
    return render_families(collect_families(registry)).decode()


def samples(registry: CollectorRegistry, name: str) -> list[tuple[dict[str, str], float]]:
    families = text_string_to_metric_families(text(registry))
    every = (sample for family in families for sample in family.samples)
    return [(sample.labels, sample.value) for sample in every if sample.name == name]


def types(registry: CollectorRegistry) -> dict[str, str]:
    lines = (line.split() for line in text(registry).splitlines() if line.startswith("# TYPE"))
    return {name: kind for _, _, name, kind in lines}


def test_metric_names_and_types(registry: CollectorRegistry) -> None:
    OperatorMetrics(registry)
    assert types(registry) == {
        "lynqnode_reconcile_duration_seconds": "histogram",
        "lynqnode_resources_ready": "gauge",
        "lynqnode_resources_desired": "gauge",
        "lynqnode_resources_failed": "gauge",
        "lynqnode_resources_conflicted": "gauge",
        "lynqnode_condition_status": "gauge",
        "lynqnode_degraded_status": "gauge",
        "lynqnode_conflicts_total": "counter",
        "apply_attempts_total": "counter",
        "hub_desired": "gauge",
        "hub_ready": "gauge",
        "hub_failed": "gauge",
        "lynqform_rollout_updating_nodes": "gauge",
        "lynqform_rollout_phase": "gauge",
        "lynqform_rollout_progress": "gauge",
        "lynq_row_to_ready_seconds": "histogram",
        "lynq_oldest_unready_row_seconds": "gauge",
        "lynq_plan_mismatch_total": "counter",
        "lynq_installation_key_loaded": "gauge",
        "lynq_rejected_rows": "gauge",
        "lynq_deletion_held": "gauge",
        "lynq_source_up": "gauge",
        "lynq_push_connected": "gauge",
    }


def test_node_counts_follow_its_status(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    lost = ResourceStatus(id="a", kind="ConfigMap", name="a", state=ResourceState.CONFLICTED)
    status = NodeStatus(
        ready_resources=3, desired_resources=5, failed_resources=1, resources=(lost,)
    )
    metrics.record_node_status(KEY, status)
    for name, value in (("ready", 3), ("desired", 5), ("failed", 1), ("conflicted", 1)):
        assert samples(registry, f"lynqnode_resources_{name}") == [(NODE, value)]


def test_conditions_are_0_1_or_2(registry: CollectorRegistry, metrics: OperatorMetrics) -> None:
    conditions = (
        condition("Ready", "True", "Reconciled"),
        condition("Progressing", "False", "ReconcileComplete"),
        condition("Degraded", "Unknown", "Healthy"),
        condition("Paused", "True", "Paused"),
    )
    metrics.record_node_status(KEY, NodeStatus(conditions=conditions))
    shown = samples(registry, "lynqnode_condition_status")
    assert {labels["type"]: value for labels, value in shown} == {
        "Ready": 1,
        "Progressing": 0,
        "Degraded": 2,
    }


def test_degraded_node_has_one_reason_at_a_time(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    metrics.record_node_status(KEY, degraded("ResourceFailures"))
    metrics.record_node_status(KEY, degraded("ResourceConflicts"))
    shown = samples(registry, "lynqnode_degraded_status")
    assert {labels["reason"] for labels, value in shown if value == 1} == {"ResourceConflicts"}
    assert {labels["reason"]: value for labels, value in shown}["ResourceFailures"] == 0


def test_unknown_degraded_reason_is_exposed_while_true(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    metrics.record_node_status(KEY, degraded("SomethingElse"))
    assert ({**NODE, "reason": "SomethingElse"}, 1) in samples(registry, "lynqnode_degraded_status")
    metrics.record_node_status(KEY, HEALTHY)
    shown = samples(registry, "lynqnode_degraded_status")
    assert shown
    assert all(value == 0 and labels["reason"] != "SomethingElse" for labels, value in shown)


def test_conflicts_are_counted_by_kind_and_policy(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    for _ in range(2):
        metrics.record_conflict(KEY, "ConfigMap", "Stuck")
    metrics.record_conflict(KEY, "Secret", "Force")
    labels = {**NODE, "resource_kind": "ConfigMap", "conflict_policy": "Stuck"}
    shown = samples(registry, "lynqnode_conflicts_total")
    assert (labels, 2) in shown
    assert len(shown) == 2


def test_metrics_of_a_deleted_node_are_removed(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    before = text(registry)
    metrics.record_node_status(KEY, degraded("SomethingElse"))
    metrics.record_conflict(KEY, "ConfigMap", "Stuck")
    metrics.remove_node(KEY)
    assert text(registry) == before


def test_metrics_of_a_deleted_hub_and_form_are_removed(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    before = text(registry)
    metrics.record_hub_status(KEY, HubStatus(desired=1))
    metrics.record_rejected_rows(KEY, {RejectionReason.EMPTY_UID: 1})
    metrics.record_held_nodes(KEY, 11)
    metrics.record_source_up(KEY, up=True)
    metrics.record_rollout(KEY, RolloutStatus())
    metrics.remove_hub(KEY)
    metrics.remove_form(KEY)
    assert text(registry) == before


def test_removal_of_unknown_objects_does_not_raise(metrics: OperatorMetrics) -> None:
    metrics.remove_node(KEY)
    metrics.remove_hub(KEY)
    metrics.remove_form(KEY)


def test_hub_exposes_counts_and_source(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    metrics.record_hub_status(KEY, HubStatus(desired=9, ready=7, failed=2))
    metrics.record_held_nodes(KEY, 12)
    metrics.record_source_up(KEY, up=False)
    names = ("hub_desired", "hub_ready", "hub_failed", "lynq_deletion_held", "lynq_source_up")
    assert [samples(registry, name) for name in names] == [
        [(HUB, value)] for value in (9, 7, 2, 12, 0)
    ]


def test_push_connected_is_exposed_only_with_a_push_channel(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    metrics.record_hub_status(KEY, HubStatus())
    assert samples(registry, "lynq_push_connected") == []
    for status, value in ((ConditionStatus.TRUE, 1), (ConditionStatus.FALSE, 0)):
        push = condition("PushConnected", status, "Connected")
        metrics.record_hub_status(KEY, HubStatus(conditions=(push,)))
        assert samples(registry, "lynq_push_connected") == [(HUB, value)]


def test_resolved_rejection_reason_is_0(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    metrics.record_rejected_rows(KEY, {RejectionReason.EMPTY_UID: 4})
    assert ({**HUB, "reason": "EmptyUid"}, 4) in samples(registry, "lynq_rejected_rows")
    metrics.record_rejected_rows(KEY, {})
    assert ({**HUB, "reason": "EmptyUid"}, 0) in samples(registry, "lynq_rejected_rows")


def test_rollout_exposes_phase_and_progress_until_removed(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    rollout = RolloutStatus(
        phase=RolloutPhase.FAILED, total_nodes=4, ready_updated_nodes=1, updating_nodes=2
    )
    metrics.record_rollout(KEY, rollout)
    assert samples(registry, "lynqform_rollout_phase") == [(FORM, 2)]
    assert samples(registry, "lynqform_rollout_progress") == [(FORM, 25)]
    assert samples(registry, "lynqform_rollout_updating_nodes") == [(FORM, 2)]
    metrics.record_rollout(KEY, None)
    assert samples(registry, "lynqform_rollout_phase") == []


def test_reconciles_applies_and_rows_are_recorded(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    metrics.record_reconcile("partial_failure", 0.7)
    metrics.record_apply("ConfigMap", "success", "Stuck")
    metrics.record_row_to_ready(0.3)
    passes = samples(registry, "lynqnode_reconcile_duration_seconds_bucket")
    bounds = [labels["le"] for labels, _ in passes]
    assert bounds == ["0.1", "0.5", "1", "2", "5", "10", "30", "60", "+Inf"]
    assert [value for _, value in passes][:3] == [0, 0, 1]
    labels = {"kind": "ConfigMap", "result": "success", "conflict_policy": "Stuck"}
    assert samples(registry, "apply_attempts_total") == [(labels, 1)]
    assert samples(registry, "lynq_row_to_ready_seconds_count") == [({}, 1)]


def test_oldest_unready_row_has_its_age(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    name = "lynq_oldest_unready_row_seconds"
    metrics.record_oldest_unready_row(KEY, datetime.now(UTC) - timedelta(minutes=5))
    [(labels, age)] = samples(registry, name)
    assert labels == HUB
    assert 300 <= age < 360
    metrics.record_oldest_unready_row(KEY, None)
    assert samples(registry, name) == [(HUB, 0)]
    metrics.remove_hub(KEY)
    assert samples(registry, name) == []


def test_rendered_text_equals_that_of_prometheus_client(
    registry: CollectorRegistry, metrics: OperatorMetrics
) -> None:
    metrics.record_node_status(KEY, degraded("ResourceFailures"))
    metrics.record_conflict(KEY, 'odd "kind"\\\n', "Stuck")
    metrics.record_rollout(KEY, RolloutStatus(total_nodes=3, ready_updated_nodes=1))
    metrics.record_reconcile("success", 0.2)

    def samples_of(exposition: str) -> set[tuple[str, frozenset[tuple[str, float | str]], float]]:
        families = text_string_to_metric_families(exposition)
        return {
            (sample.name, frozenset(_with_bound(sample.labels).items()), sample.value)
            for family in families
            for sample in family.samples
            if not sample.name.endswith("_created")
        }

    assert samples_of(text(registry)) == samples_of(generate_latest(registry).decode())
    assert "_created" not in text(registry)


def _with_bound(labels: dict[str, str]) -> dict[str, float | str]:
    """Return the labels with the bound of a bucket as a number, whose format differs."""
    return {name: float(text) if name == "le" else text for name, text in labels.items()}
