"""How a Job ended that does not exist any more, and what follows for a Once Job."""

import pytest

from lynq.core.node.jobs import JobEnd, is_job, job_end, with_end
from lynq.core.node.objects import AppliedRecord, LiveObject
from lynq.core.readiness.verdict import READY, failed, not_ready

RUNNING = LiveObject(uid="1", readiness=not_ready("JobNotComplete", "0 of 1"))
COMPLETE = LiveObject(uid="1", readiness=READY)
FAILED = LiveObject(uid="1", readiness=failed("JobFailed", "it failed"))
APPLIED = AppliedRecord(was_applied=True)


@pytest.mark.parametrize(
    ("last", "final", "end"),
    [
        (RUNNING, COMPLETE, JobEnd.COMPLETED),
        (COMPLETE, COMPLETE, JobEnd.COMPLETED),
        (RUNNING, RUNNING, JobEnd.DELETED),
        (FAILED, FAILED, JobEnd.DELETED),
        # A list shows that a Job is gone, and not how it ended.
        (RUNNING, None, None),
        (COMPLETE, None, JobEnd.COMPLETED),
        (None, RUNNING, JobEnd.DELETED),
        (None, None, None),
    ],
)
def test_end_of_a_job(
    last: LiveObject | None, final: LiveObject | None, end: JobEnd | None
) -> None:
    assert job_end(last=last, final=final) is end


def test_record_with_an_end() -> None:
    assert with_end(APPLIED, None) == APPLIED
    assert with_end(APPLIED, JobEnd.COMPLETED) == APPLIED._replace(is_completed=True)
    assert with_end(APPLIED, JobEnd.DELETED) == AppliedRecord()


def test_job_is_a_kind_of_batch() -> None:
    assert is_job("batch", "Job")
    assert not is_job("batch.example.com", "Job")
    assert not is_job("batch", "CronJob")
