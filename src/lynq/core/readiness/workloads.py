"""Deployments, StatefulSets, DaemonSets, ReplicaSets: every replica the newest, and ready.

Pods, and the Jobs that run them to their end.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lynq.core.readiness.fields import Fields, with_detail, word
from lynq.core.readiness.kinds import NONE, conditions
from lynq.core.readiness.verdict import (
    NOT_OBSERVED,
    READY,
    Readiness,
    ReadinessReason,
    failed,
    not_ready,
)

_ON_DELETE = "OnDelete"
_DEFAULT_PROGRESS_DEADLINE = 600


class _Count(NamedTuple):
    """A counter in the status that has to be as high as what is wanted, and no higher."""

    field: str
    says: str


_PRESENT = _Count("replicas", "replicas present")
_UPDATED = _Count("updatedReplicas", "replicas updated")
_READY = _Count("readyReplicas", "replicas ready")
_AVAILABLE = _Count("availableReplicas", "replicas available")
_CURRENT = _Count("currentReplicas", "replicas at the current revision")

_POD_SCHEDULED = _Count("currentNumberScheduled", "pods scheduled")
_POD_UPDATED = _Count("updatedNumberScheduled", "pods updated")
_POD_READY = _Count("numberReady", "pods ready")
_POD_AVAILABLE = _Count("numberAvailable", "pods available")
_POD_MISPLACED = _Count("numberMisscheduled", "pods present")


def deployment(fields: Fields) -> Readiness:
    """Judge a Deployment."""
    if not _observed(fields):
        return NOT_OBSERVED
    wanted = _replicas(fields)
    gap = _gap(fields, wanted, (_UPDATED, _READY, _AVAILABLE)) or _left_over(fields, wanted)
    return _stuck(fields, gap) if gap else READY


def replica_set(fields: Fields) -> Readiness:
    """Judge a ReplicaSet."""
    if not _observed(fields):
        return NOT_OBSERVED
    gap = _gap(fields, _replicas(fields), (_PRESENT, _READY, _AVAILABLE))
    return _stuck(fields, gap) if gap else READY


def stateful_set(fields: Fields) -> Readiness:
    """Judge a StatefulSet.

    With OnDelete a person decides when a replica is replaced, and Kubernetes never moves the
    current revision on: to wait for either would be to wait for ever. With a partition, a person
    decides how many are.
    """
    if not _observed(fields):
        return NOT_OBSERVED
    wanted = _replicas(fields)
    partition = fields.number("spec", "updateStrategy", "rollingUpdate", "partition")
    if fields.text("spec", "updateStrategy", "type") == _ON_DELETE:
        return _waiting(_gap(fields, wanted, (_READY,)))
    if partition > 0:
        return _waiting(
            _gap(fields, wanted, (_READY,)) or _behind(fields, wanted - partition, partition)
        )
    return _waiting(_gap(fields, wanted, (_UPDATED, _READY, _CURRENT)))


def daemon_set(fields: Fields) -> Readiness:
    """Judge a DaemonSet; with OnDelete a person decides when a pod is replaced."""
    if not _observed(fields):
        return NOT_OBSERVED
    wanted = fields.number("status", "desiredNumberScheduled")
    by_hand = fields.text("spec", "updateStrategy", "type") == _ON_DELETE
    counts = (_POD_SCHEDULED, *(() if by_hand else (_POD_UPDATED,)), _POD_READY, _POD_AVAILABLE)
    # No machine wants a pod: ready as soon as those from before are gone.
    return _waiting(_first_gap(fields, wanted, counts if wanted else (*counts, _POD_MISPLACED)))


def _observed(fields: Fields) -> bool:
    generation = fields.number("metadata", "generation")
    return generation == fields.number("status", "observedGeneration")


def _replicas(fields: Fields) -> int:
    return fields.number("spec", "replicas", default=1)


def _gap(fields: Fields, wanted: int, counts: Iterable[_Count]) -> str:
    """Say what is missing; scaled to zero means that nothing is left, ready or not."""
    return _first_gap(fields, wanted, counts if wanted else (_PRESENT, *counts))


def _first_gap(fields: Fields, wanted: int, counts: Iterable[_Count]) -> str:
    """Say which counter is the first that is not what is wanted; "" if all are."""
    for count in counts:
        number = fields.number("status", count.field)
        if number < wanted:
            return f"{number} of {wanted} {count.says}"
        if number > wanted:
            return _too_many(count, number, wanted)
    return ""


def _left_over(fields: Fields, wanted: int) -> str:
    """Say whether old replicas are still there.

    They count as ready ones, so that all other counters can be right for a moment in which a new
    replica is there and not ready.
    """
    present = fields.number("status", _PRESENT.field)
    return _too_many(_PRESENT, present, wanted) if present > wanted else ""


def _too_many(count: _Count, number: int, wanted: int) -> str:
    return f"{count.says}: {number}, wanted: {wanted}, the rest has yet to go"


def _behind(fields: Fields, wanted: int, partition: int) -> str:
    updated = fields.number("status", _UPDATED.field)
    if updated >= wanted:
        return ""
    return f"{updated} of {wanted} {_UPDATED.says} (partition {partition})"


def _waiting(gap: str) -> Readiness:
    return not_ready(ReadinessReason.REPLICAS_NOT_READY, gap) if gap else READY


def _stuck(fields: Fields, gap: str) -> Readiness:
    """Say what is missing, and what keeps it from coming if the controller knows."""
    found = conditions(fields)
    failure = found.get("ReplicaFailure", NONE)
    if failure.holds:
        return not_ready(
            word(failure.reason, ReadinessReason.REPLICA_FAILURE), with_detail(gap, failure.message)
        )
    progress = found.get("Progressing", NONE)
    if not progress.holds and progress.reason == ReadinessReason.PROGRESS_DEADLINE_EXCEEDED:
        deadline = fields.number(
            "spec", "progressDeadlineSeconds", default=_DEFAULT_PROGRESS_DEADLINE
        )
        # Not failed: a Deployment goes on trying, and often gets there late.
        return not_ready(progress.reason, f"{gap}, and no progress for {deadline} s")
    if fields.flag("spec", "paused"):
        return not_ready(ReadinessReason.PAUSED, f"{gap}: the rollout is paused (spec.paused)")
    return _waiting(gap)


def job(fields: Fields) -> Readiness:
    """Judge a Job: ready when complete."""
    found = conditions(fields)
    failure = found.get("Failed", NONE)
    wanted = max(1, fields.number("spec", "completions", default=1))
    succeeded = fields.number("status", "succeeded")
    if found.get("Complete", NONE).holds:
        return READY
    if failure.holds:
        sentence = with_detail("the Job has failed", failure.message)
        return failed(word(failure.reason, ReadinessReason.JOB_FAILED), sentence)
    if succeeded >= wanted:
        return READY
    if found.get("Suspended", NONE).holds:
        return not_ready(ReadinessReason.JOB_SUSPENDED, "the Job is suspended (spec.suspend)")
    return not_ready(
        ReadinessReason.JOB_NOT_COMPLETE, f"{succeeded} of {wanted} completions{_attempts(fields)}"
    )


def pod(fields: Fields) -> Readiness:
    """Judge a Pod: ready when it says so, or when it has done its work."""
    phase = fields.line("status", "phase")
    found = conditions(fields)
    if phase == "Succeeded" or (phase != "Failed" and found.get("Ready", NONE).holds):
        return READY
    if phase == "Failed":
        reason = word(fields.line("status", "reason"), ReadinessReason.POD_FAILED)
        return failed(reason, with_detail("the pod has failed", fields.line("status", "message")))
    scheduled = found.get("PodScheduled", NONE)
    if scheduled.status == "False":
        sentence = with_detail("the pod has no machine yet", scheduled.message)
        return not_ready(word(scheduled.reason, ReadinessReason.POD_NOT_READY), sentence)
    if waiting := next(_waiting_containers(fields), None):
        return waiting
    sentence = with_detail(f"pod is {phase or 'Pending'}", found.get("Ready", NONE).message)
    return not_ready(ReadinessReason.POD_NOT_READY, sentence)


def _attempts(fields: Fields) -> str:
    counts = ((fields.number("status", name), name) for name in ("active", "failed"))
    return "".join(f", {number} {name}" for number, name in counts if number)


def _waiting_containers(fields: Fields) -> Iterator[Readiness]:
    """Yield what containers wait for, such as an image that cannot be pulled.

    Only the reason: the message may hold what a registry or a volume answered.
    """
    for kind in ("initContainerStatuses", "containerStatuses"):
        for container in fields.items("status", kind):
            if reason := word(container.line("state", "waiting", "reason"), ""):
                name = container.line("name")
                yield not_ready(reason, f'container "{name}" is waiting: {reason}')
