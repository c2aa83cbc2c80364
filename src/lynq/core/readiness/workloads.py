"""Readiness rules of workloads: Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs and Pods.

Replica counters must equal the desired number: during a surge, replicas of the old revision count
as ready.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from lynq.api.reasons import ReadinessReason
from lynq.core.readiness.fields import Fields, reason_or, with_detail
from lynq.core.readiness.kinds import NO_CONDITION, conditions
from lynq.core.readiness.verdict import (
    NOT_OBSERVED,
    READY,
    Readiness,
    failed,
    not_ready,
)

_ON_DELETE: Final = "OnDelete"
_DEFAULT_PROGRESS_DEADLINE: Final = 600


class _Counter(NamedTuple):
    """A counter in the status that must equal the desired number."""

    field: str
    description: str


_PRESENT = _Counter("replicas", "replicas present")
_UPDATED = _Counter("updatedReplicas", "replicas updated")
_READY = _Counter("readyReplicas", "replicas ready")
_AVAILABLE = _Counter("availableReplicas", "replicas available")
_CURRENT = _Counter("currentReplicas", "replicas at the current revision")

_POD_SCHEDULED = _Counter("currentNumberScheduled", "pods scheduled")
_POD_UPDATED = _Counter("updatedNumberScheduled", "pods updated")
_POD_READY = _Counter("numberReady", "pods ready")
_POD_AVAILABLE = _Counter("numberAvailable", "pods available")
_POD_MISSCHEDULED = _Counter("numberMisscheduled", "pods present")


def deployment(fields: Fields) -> Readiness:
    """Evaluate a Deployment: all replicas updated, ready and available, and no old one left."""
    if not _observed(fields):
        return NOT_OBSERVED
    desired = _replicas(fields)
    mismatch = _replica_mismatch(fields, desired, (_UPDATED, _READY, _AVAILABLE))
    mismatch = mismatch or _surplus(fields, desired)
    return _with_cause(fields, mismatch) if mismatch else READY


def replica_set(fields: Fields) -> Readiness:
    """Evaluate a ReplicaSet: all replicas present, ready and available."""
    if not _observed(fields):
        return NOT_OBSERVED
    mismatch = _replica_mismatch(fields, _replicas(fields), (_PRESENT, _READY, _AVAILABLE))
    return _with_cause(fields, mismatch) if mismatch else READY


def stateful_set(fields: Fields) -> Readiness:
    """Evaluate a StatefulSet: all replicas updated, ready and current.

    With OnDelete, replicas are replaced only when a user deletes them, and the current revision
    never advances, so neither is waited for. With a partition, only the replicas above it are
    updated.
    """
    if not _observed(fields):
        return NOT_OBSERVED
    desired = _replicas(fields)
    partition = fields.number("spec", "updateStrategy", "rollingUpdate", "partition")
    if fields.text("spec", "updateStrategy", "type") == _ON_DELETE:
        return _ready_unless(_replica_mismatch(fields, desired, (_READY,)))
    if partition > 0:
        return _ready_unless(
            _replica_mismatch(fields, desired, (_READY,))
            or _partition_mismatch(fields, desired - partition, partition)
        )
    return _ready_unless(_replica_mismatch(fields, desired, (_UPDATED, _READY, _CURRENT)))


def daemon_set(fields: Fields) -> Readiness:
    """Evaluate a DaemonSet; with OnDelete, pods are replaced only when a user deletes them."""
    if not _observed(fields):
        return NOT_OBSERVED
    desired = fields.number("status", "desiredNumberScheduled")
    on_delete = fields.text("spec", "updateStrategy", "type") == _ON_DELETE
    counters = (_POD_SCHEDULED, *(() if on_delete else (_POD_UPDATED,)), _POD_READY, _POD_AVAILABLE)
    # Without an eligible node, pods of earlier scheduling must be deleted first.
    if not desired:
        counters = (*counters, _POD_MISSCHEDULED)
    return _ready_unless(_first_mismatch(fields, desired, counters))


def _observed(fields: Fields) -> bool:
    generation = fields.number("metadata", "generation")
    return generation == fields.number("status", "observedGeneration")


def _replicas(fields: Fields) -> int:
    return fields.number("spec", "replicas", default=1)


def _replica_mismatch(fields: Fields, desired: int, counters: Iterable[_Counter]) -> str:
    """Describe the first mismatch; a workload scaled to zero must have no replica left."""
    return _first_mismatch(fields, desired, counters if desired else (_PRESENT, *counters))


def _first_mismatch(fields: Fields, desired: int, counters: Iterable[_Counter]) -> str:
    """Describe the first counter that differs from the desired number; "" if none does."""
    for counter in counters:
        number = fields.number("status", counter.field)
        if number < desired:
            return f"{number} of {desired} {counter.description}"
        if number > desired:
            return _too_many(counter, number, desired)
    return ""


def _surplus(fields: Fields, desired: int) -> str:
    """Describe replicas of the old revision that still exist; "" if there is none.

    They count as ready, so all other counters can match while a new replica is not ready.
    """
    present = fields.number("status", _PRESENT.field)
    return _too_many(_PRESENT, present, desired) if present > desired else ""


def _too_many(counter: _Counter, number: int, desired: int) -> str:
    return f"{number} {counter.description}, {desired} desired: waiting for the rest to terminate"


def _partition_mismatch(fields: Fields, desired: int, partition: int) -> str:
    updated = fields.number("status", _UPDATED.field)
    if updated >= desired:
        return ""
    return f"{updated} of {desired} {_UPDATED.description} (partition {partition})"


def _ready_unless(mismatch: str) -> Readiness:
    return not_ready(ReadinessReason.REPLICAS_NOT_READY, mismatch) if mismatch else READY


def _with_cause(fields: Fields, mismatch: str) -> Readiness:
    """Return not ready, with the cause that the controller reports."""
    by_type = conditions(fields)
    failure = by_type.get("ReplicaFailure", NO_CONDITION)
    if failure.holds:
        return not_ready(
            reason_or(failure.reason, ReadinessReason.REPLICA_FAILURE),
            with_detail(mismatch, failure.message),
        )
    progress = by_type.get("Progressing", NO_CONDITION)
    if not progress.holds and progress.reason == ReadinessReason.PROGRESS_DEADLINE_EXCEEDED:
        deadline = fields.number(
            "spec", "progressDeadlineSeconds", default=_DEFAULT_PROGRESS_DEADLINE
        )
        # Not failed: the Deployment controller keeps trying, and often succeeds late.
        return not_ready(progress.reason, f"{mismatch}, no progress for {deadline} s")
    if fields.flag("spec", "paused"):
        return not_ready(ReadinessReason.PAUSED, f"{mismatch}: rollout is paused (spec.paused)")
    return _ready_unless(mismatch)


def job(fields: Fields) -> Readiness:
    """Evaluate a Job: ready when complete."""
    by_type = conditions(fields)
    failure = by_type.get("Failed", NO_CONDITION)
    desired = max(1, fields.number("spec", "completions", default=1))
    succeeded = fields.number("status", "succeeded")
    if by_type.get("Complete", NO_CONDITION).holds:
        return READY
    if failure.holds:
        sentence = with_detail("Job failed", failure.message)
        return failed(reason_or(failure.reason, ReadinessReason.JOB_FAILED), sentence)
    if succeeded >= desired:
        return READY
    if by_type.get("Suspended", NO_CONDITION).holds:
        return not_ready(ReadinessReason.JOB_SUSPENDED, "Job is suspended (spec.suspend)")
    return not_ready(
        ReadinessReason.JOB_NOT_COMPLETE, f"{succeeded} of {desired} completions{_attempts(fields)}"
    )


def pod(fields: Fields) -> Readiness:
    """Evaluate a Pod: ready when its condition Ready is True, or when it succeeded."""
    phase = fields.line("status", "phase")
    by_type = conditions(fields)
    if phase == "Succeeded" or (phase != "Failed" and by_type.get("Ready", NO_CONDITION).holds):
        return READY
    if phase == "Failed":
        reason = reason_or(fields.line("status", "reason"), ReadinessReason.POD_FAILED)
        return failed(reason, with_detail("pod failed", fields.line("status", "message")))
    scheduled = by_type.get("PodScheduled", NO_CONDITION)
    if scheduled.status == "False":
        sentence = with_detail("pod is not scheduled yet", scheduled.message)
        return not_ready(reason_or(scheduled.reason, ReadinessReason.POD_NOT_READY), sentence)
    if waiting := next(_waiting_containers(fields), None):
        return waiting
    sentence = with_detail(
        f"pod is {phase or 'Pending'}", by_type.get("Ready", NO_CONDITION).message
    )
    return not_ready(ReadinessReason.POD_NOT_READY, sentence)


def _attempts(fields: Fields) -> str:
    numbers = ((fields.number("status", name), name) for name in ("active", "failed"))
    return "".join(f", {number} {name}" for number, name in numbers if number)


def _waiting_containers(fields: Fields) -> Iterator[Readiness]:
    """Yield the containers that wait, for example for an image pull.

    Only the reason is shown: the message may quote the response of a registry or a volume.
    """
    for kind in ("initContainerStatuses", "containerStatuses"):
        for container in fields.items("status", kind):
            if reason := reason_or(container.line("state", "waiting", "reason"), ""):
                name = container.line("name")
                yield not_ready(reason, f'container "{name}" is waiting: {reason}')
