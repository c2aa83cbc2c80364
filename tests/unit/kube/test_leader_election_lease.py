"""The rules of a lease, with explicit clocks."""

from datetime import UTC, datetime, timedelta

import pytest

from lynq.api import Metadata
from lynq.kube.lease import (
    Lease,
    LeaseObservation,
    LeaseSpec,
    LeaseStep,
    acquire_or_renew,
    release,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def lease(holder: str | None, *, renewed: int = 0, labels: dict[str, str] | None = None) -> Lease:
    return Lease(
        metadata=Metadata(name="lease", labels=labels or {}),
        spec=LeaseSpec(
            holder_identity=holder,
            lease_duration_seconds=15,
            acquire_time=NOON,
            renew_time=NOON + timedelta(seconds=renewed),
            lease_transitions=3,
        ),
    )


@pytest.mark.parametrize(
    ("observed", "seconds", "step"),
    [
        pytest.param(None, 0, LeaseStep.CREATE, id="there is none"),
        pytest.param(lease("other"), 0, LeaseStep.WAIT, id="held by another"),
        pytest.param(lease("other"), 14.9, LeaseStep.WAIT, id="not yet run out"),
        pytest.param(lease("other"), 15, LeaseStep.TAKE, id="run out"),
        pytest.param(lease(""), 0, LeaseStep.TAKE, id="released"),
        pytest.param(lease(None), 0, LeaseStep.TAKE, id="released by a Go client"),
        pytest.param(lease("me"), 0, LeaseStep.RENEW, id="mine"),
        pytest.param(lease("me"), 60, LeaseStep.RENEW, id="mine though run out"),
    ],
)
def test_next_step_of_a_candidate(observed: Lease | None, seconds: float, step: LeaseStep) -> None:
    assert LeaseObservation(observed, 100).next_step("me", 100 + seconds) is step


def test_renewal_restarts_the_wait_by_the_local_clock() -> None:
    observation = LeaseObservation(lease("other"), 100).updated(lease("other", renewed=2), 110)
    assert observation.next_step("me", 124) is LeaseStep.WAIT
    assert observation.next_step("me", 125) is LeaseStep.TAKE


def test_holder_with_a_wrong_clock_keeps_the_lease() -> None:
    observation = LeaseObservation(lease("other", renewed=-9999), 100)
    assert observation.next_step("me", 114) is LeaseStep.WAIT


def test_unchanged_lease_does_not_restart_the_wait() -> None:
    observation = LeaseObservation(lease("other"), 100).updated(lease("other"), 114)
    assert observation.next_step("me", 115) is LeaseStep.TAKE


def test_label_change_is_not_a_renewal() -> None:
    labelled = lease("other", labels={"touched": "yes"})
    observation = LeaseObservation(lease("other"), 100).updated(labelled, 114)
    assert observation.lease is labelled
    assert observation.next_step("me", 115) is LeaseStep.TAKE


def test_renewal_keeps_acquire_time_and_transitions() -> None:
    spec = acquire_or_renew(
        lease("me"), "me", seconds=15, at=NOON + timedelta(seconds=4, microseconds=5)
    )
    assert spec == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T12:00:00.000000Z",
        "renewTime": "2026-01-01T12:00:04.000005Z",
        "leaseTransitions": 3,
    }


@pytest.mark.parametrize("previous", ["other", "", None])
def test_takeover_increments_the_transitions(previous: str | None) -> None:
    spec = acquire_or_renew(lease(previous), "me", seconds=15, at=NOON + timedelta(seconds=30))
    assert spec["leaseTransitions"] == 4
    assert spec["acquireTime"] == spec["renewTime"] == "2026-01-01T12:00:30.000000Z"


def test_new_lease_has_no_transitions() -> None:
    assert acquire_or_renew(None, "me", seconds=15, at=NOON)["leaseTransitions"] == 0


def test_released_lease_has_no_holder_and_expires_in_a_second() -> None:
    spec = release(NOON)
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)
    assert "leaseTransitions" not in spec
