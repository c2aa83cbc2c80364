"""Find the rule for an object, and judge by it.

Rules go by group and kind: a Knative Service or a Volcano Job shares its kind with one of ours and
nothing else. Only an object that does not say its group goes by its kind alone.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from lynq.core.readiness import kinds, workloads
from lynq.core.readiness.fields import Fields
from lynq.core.readiness.kinds import custom
from lynq.core.readiness.verdict import Readiness, ReadinessReason, not_ready

Rule: TypeAlias = Callable[[Fields], Readiness]

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

_GOING = not_ready(ReadinessReason.DELETING, "it is being deleted")


def evaluate_readiness(obj: Mapping[str, Any]) -> Readiness:
    """Return whether the object is ready, and if not, why not. Never raises."""
    return _evaluate(Fields(obj))


def reads_body(api_version: str, kind: str) -> bool:
    """Return whether more than the metadata of such an object is needed for a verdict."""
    return _rule(api_version, kind) is not kinds.exists


def project(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the object that its verdict depends on: the same verdict, less memory."""
    fields = Fields(obj)
    _evaluate(fields)
    return fields.kept()


def _evaluate(fields: Fields) -> Readiness:
    # Whatever its status still says, nothing may be built on what is about to go.
    if fields.text("metadata", "deletionTimestamp"):
        return _GOING
    return _rule(fields.text("apiVersion"), fields.text("kind"))(fields)


def _rule(api_version: str, kind: str) -> Rule:
    if not api_version:
        return _RULES_BY_KIND.get(kind, custom)
    group, _, _ = api_version.rpartition("/")
    return _RULES.get((group, kind), custom)
