"""A Job with creationPolicy Once runs once: how a Job ended that does not exist any more.

A Job that has completed is not created again. One that was seen to be deleted before it completed
is: it did not do its work. Where the end was not observed, because the operator was not running or
its watch was lost, both are possible: `ttlSecondsAfterFinished` deletes Jobs, too. Such a Job is
not created again by itself, because its work may not bear repetition.
"""

from enum import Enum
from typing import Final

from lynq.core.node.objects import AppliedRecord, LiveObject

UNKNOWN_END: Final = (
    "the Job does not exist any more, and its end was not observed: it may have completed, and is "
    "not created again. If it has not, run it again with the annotation lynq.sh/force-reconcile"
)


class JobEnd(Enum):
    """The observed end of a Job."""

    COMPLETED = "completed"
    DELETED = "deleted"
    """It was deleted before it completed."""


def is_job(group: str, kind: str) -> bool:
    """Return whether a kind is Job."""
    return (group, kind) == ("batch", "Job")


def job_end(*, last: LiveObject | None, final: LiveObject | None) -> JobEnd | None:
    """Return the end of a deleted Job; None if it was not observed.

    `last` is its last known state, `final` the one in which it was deleted. A Job that has
    completed stays completed, so that its last known state proves that, too.
    """
    if any(state and state.readiness.is_ready for state in (last, final)):
        return JobEnd.COMPLETED
    return JobEnd.DELETED if final else None


def with_end(record: AppliedRecord, end: JobEnd | None) -> AppliedRecord:
    """Return what is known about a Job with its observed end."""
    if end is JobEnd.COMPLETED:
        return record._replace(is_completed=True)
    return record._replace(was_applied=False) if end is JobEnd.DELETED else record
