"""Pods, and the Jobs that run them to their end."""

from collections.abc import Iterator

from lynq.core.readiness.conditions import NONE, conditions
from lynq.core.readiness.fields import Fields
from lynq.core.readiness.verdict import READY, Readiness, ReadinessReason, failed, not_ready
from lynq.core.readiness.words import with_detail, word


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
