"""The readiness rule of each kind, and the evaluation of an object by its rule.

Rules are keyed by group and kind: a Knative Service or a Volcano Job shares only its kind with the
built-in one. An object without apiVersion is matched by kind alone.

Other tables per kind: `lynq.core.node.inventory` (apiVersion of the kinds in
status.appliedResources), `lynq.core.node.ignore_fields` (merge keys of lists) and
`lynq.core.form.validation` (kind of each list).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from lynq.api.reasons import ReadinessReason
from lynq.core.readiness import kinds, workloads
from lynq.core.readiness.fields import Fields
from lynq.core.readiness.verdict import Readiness, not_ready

Rule: TypeAlias = Callable[[Fields], Readiness]

ROLLING_WORKLOADS: Final = frozenset({"DaemonSet", "Deployment", "StatefulSet"})
"""Kinds that replace their pods when the pod template changes: a rollout waits for them."""

_RULES: Final[Mapping[tuple[str, str], Rule]] = {
    ("", "ConfigMap"): kinds.exists,
    ("", "Namespace"): kinds.namespace,
    ("", "PersistentVolumeClaim"): kinds.claim,
    ("", "Pod"): workloads.pod,
    ("", "ReplicationController"): workloads.replica_set,
    ("", "Secret"): kinds.exists,
    ("", "Service"): kinds.service,
    ("", "ServiceAccount"): kinds.exists,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): kinds.definition,
    ("apps", "DaemonSet"): workloads.daemon_set,
    ("apps", "Deployment"): workloads.deployment,
    ("apps", "ReplicaSet"): workloads.replica_set,
    ("apps", "StatefulSet"): workloads.stateful_set,
    ("autoscaling", "HorizontalPodAutoscaler"): kinds.autoscaler,
    ("batch", "CronJob"): kinds.exists,
    ("batch", "Job"): workloads.job,
    ("networking.k8s.io", "Ingress"): kinds.ingress,
    ("networking.k8s.io", "NetworkPolicy"): kinds.exists,
    ("policy", "PodDisruptionBudget"): kinds.exists,
}
_RULES_BY_KIND: Final[Mapping[str, Rule]] = {kind: rule for (_, kind), rule in _RULES.items()}

_BEING_DELETED: Final = not_ready(ReadinessReason.DELETING, "object is being deleted")


def evaluate_readiness(obj: Mapping[str, Any]) -> Readiness:
    """Return whether the object is ready, and if not, why not. Never raises."""
    fields = Fields(obj)
    # Dependents must not start on an object that is being deleted, whatever its status reports.
    if fields.text("metadata", "deletionTimestamp"):
        return _BEING_DELETED
    return _rule(fields.text("apiVersion"), fields.text("kind"))(fields)


EvaluateReadiness: TypeAlias = Callable[[Mapping[str, Any]], Readiness]


def reads_body(api_version: str, kind: str) -> bool:
    """Return whether the rule of the kind needs more than metadata."""
    return _rule(api_version, kind) is not kinds.exists


def _rule(api_version: str, kind: str) -> Rule:
    if not api_version:
        return _RULES_BY_KIND.get(kind, kinds.custom)
    group, _, _ = api_version.rpartition("/")
    return _RULES.get((group, kind), kinds.custom)
