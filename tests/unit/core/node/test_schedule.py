"""When a status is written, when a reconcile is forced, and when a node is requeued."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lynq.api import DeletionPolicy, NodeStatus, ResourceState
from lynq.core.node.objects import ObjectRef
from lynq.core.node.schedule import (
    DEFERRED_RETRY,
    debounce_status,
    force_due_at,
    is_force_due,
    is_urgent,
    postpone_progress,
    requeue_at,
)
from lynq.core.node.state import ResourceOutcome
from lynq.core.node.status import StatusReport, next_status
from unit.core.node.nodes import NOW, a_node


def status(*states: ResourceState, message: str = "", generation: int = 1) -> NodeStatus:
    outcomes = [
        ResourceOutcome(
            id=f"r{number}",
            ref=ObjectRef("v1", "ConfigMap", "shop", f"acme-{number}"),
            state=state,
            reason=str(state),
            message=message,
        )
        for number, state in enumerate(states)
    ]
    is_applying = any(state is ResourceState.PROGRESSING for state in states)
    report = StatusReport(
        namespace="shop", generation=generation, outcomes=outcomes, is_applying=is_applying
    )
    return next_status(NodeStatus(), report, NOW)


P, R, F = ResourceState.PROGRESSING, ResourceState.READY, ResourceState.FAILED


def test_progress_of_a_resource_is_not_urgent() -> None:
    assert not is_urgent(status(P, P, message="0 of 1"), status(P, P, message="1 of 1"))


def test_ready_resource_is_not_urgent_while_others_are_not_ready() -> None:
    assert not is_urgent(status(P, P), status(P, R))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((P, P), (R, R)),
        ((R, R), (R, P)),
        ((P, P), (P, F)),
        ((P, F), (P, P)),
        ((F, P), (P, F)),
        ((P,), (P, P)),
    ],
)
def test_change_of_readiness_or_failure_is_urgent(
    before: tuple[ResourceState, ...], after: tuple[ResourceState, ...]
) -> None:
    assert is_urgent(status(*before), status(*after))


def test_end_of_progressing_is_not_urgent() -> None:
    applying = status(P)
    complete = next_status(applying, StatusReport(namespace="shop", generation=1, outcomes=[]), NOW)
    conditions = tuple(
        condition if condition.type != "Progressing" else complete.conditions[1]
        for condition in applying.conditions
    )
    assert conditions != applying.conditions
    assert not is_urgent(applying, replace(applying, conditions=conditions))


def test_new_generation_is_urgent() -> None:
    assert is_urgent(status(P), status(P, generation=2))


def test_forced_reconcile_is_urgent() -> None:
    before = status(R)
    assert is_urgent(before, replace(before, last_full_reconcile_at=NOW + timedelta(minutes=10)))


@pytest.mark.parametrize(
    ("since_last_write", "after", "delay"),
    [
        (timedelta(0), (P, R), timedelta(seconds=5)),
        (timedelta(seconds=2), (P, R), timedelta(seconds=3)),
        (timedelta(seconds=5), (P, R), None),
        (timedelta(days=700_000), (P, R), None),
        (timedelta(0), (R, R), None),
    ],
)
def test_status_that_is_not_urgent_waits_five_seconds_since_the_last_write(
    since_last_write: timedelta, after: tuple[ResourceState, ...], delay: timedelta | None
) -> None:
    assert debounce_status(status(P, P), status(*after), since_last_write) == delay


@pytest.mark.parametrize("ahead", [timedelta(microseconds=1), timedelta(days=365)])
def test_status_does_not_wait_after_the_clock_was_set_back(ahead: timedelta) -> None:
    assert debounce_status(status(P, P), status(P, R), -ahead) is None


@pytest.mark.parametrize("states", [(P, P), (R, P), (R, ResourceState.WAITING)])
def test_progress_of_a_new_node_waits_five_seconds_at_most(
    states: tuple[ResourceState, ...],
) -> None:
    def delay(seconds: float) -> timedelta | None:
        return postpone_progress(NodeStatus(), status(*states), timedelta(seconds=seconds))

    assert delay(0) == timedelta(seconds=5)
    assert delay(4) == timedelta(seconds=1)
    assert delay(5) is None
    assert delay(-1) is None


@pytest.mark.parametrize(
    "states",
    [
        (R, R),
        (P, ResourceState.FAILED),
        (P, ResourceState.CONFLICTED),
        (P, ResourceState.SKIPPED),
        (P, ResourceState.DELETING),
    ],
)
def test_result_of_a_new_node_does_not_wait(states: tuple[ResourceState, ...]) -> None:
    assert postpone_progress(NodeStatus(), status(*states), timedelta(0)) is None


@pytest.mark.parametrize(
    "record",
    [{"deletion_policy": DeletionPolicy.RETAIN}, {"adopted_uid": "77"}, {"completed": True}],
)
def test_status_that_protects_an_object_does_not_wait(record: dict[str, Any]) -> None:
    progress = status(P, P)
    first, second = progress.resources
    recorded = replace(progress, resources=(first, replace(second, **record)))
    assert postpone_progress(NodeStatus(), recorded, timedelta(0)) is None


def test_completed_job_is_recorded_at_once() -> None:
    """A Job with a short ttlSecondsAfterFinished would be created again."""
    before = status(P, P)
    first, second = before.resources
    after = replace(before, resources=(first, replace(second, completed=True)))
    assert debounce_status(before, after, timedelta(seconds=1)) is None
    retained = replace(second, deletion_policy=DeletionPolicy.RETAIN)
    before = replace(before, resources=(first, retained))
    after = replace(before, resources=(first, replace(retained, completed=True)))
    assert debounce_status(before, after, timedelta(seconds=1)) is None


def test_forced_reconcile_of_a_new_node_is_recorded_at_once() -> None:
    forced = replace(status(P, P), last_handled_force_reconcile="now")
    assert postpone_progress(NodeStatus(), forced, timedelta(0)) is None


def test_second_status_of_a_node_does_not_wait_for_other_writes() -> None:
    assert postpone_progress(status(P, P), status(R, P), timedelta(0)) is None


@given(st.uuids().map(str))
def test_forced_reconciles_are_spread_over_a_tenth_of_the_interval(uid: str) -> None:
    due = force_due_at(NOW, timedelta(minutes=10), uid)
    assert due is not None
    assert timedelta(minutes=10) <= due - NOW <= timedelta(minutes=11)
    assert due == force_due_at(NOW, timedelta(minutes=10), uid)


def test_no_forced_reconcile_is_due_without_a_baseline() -> None:
    assert force_due_at(None, timedelta(minutes=10), "x") is None


@pytest.mark.parametrize(
    ("requested", "handled", "is_due"), [("", "", False), ("1", "", True), ("1", "1", False)]
)
def test_annotation_forces_one_reconcile(requested: str, handled: str, *, is_due: bool) -> None:
    node = a_node(force_reconcile=requested)
    node = replace(node, status=NodeStatus(last_handled_force_reconcile=handled))
    assert is_force_due(node, timedelta(minutes=10), NOW) == is_due


@pytest.mark.parametrize(("elapsed", "is_due"), [(9, False), (11, True)])
def test_reconcile_is_forced_after_the_interval(elapsed: int, *, is_due: bool) -> None:
    baseline = NOW - timedelta(minutes=elapsed)
    node = replace(a_node(), status=NodeStatus(last_full_reconcile_at=baseline))
    assert is_force_due(node, timedelta(minutes=10), NOW) == is_due


SOON, LATE = NOW + timedelta(seconds=3), NOW + timedelta(hours=1)


@pytest.mark.parametrize(
    ("states", "deadlines", "expected"),
    [
        ((R,), (), None),
        ((R,), (None, LATE), LATE),
        ((R,), (LATE, SOON), SOON),
        ((P,), (LATE,), NOW + timedelta(seconds=30)),
        ((R, F), (SOON,), SOON),
    ],
)
def test_node_is_requeued_at_the_nearest_deadline(
    states: tuple[ResourceState, ...],
    deadlines: tuple[datetime | None, ...],
    expected: datetime | None,
) -> None:
    assert requeue_at(status(*states), deadlines, NOW, timedelta(seconds=30)) == expected


def test_node_that_prunes_objects_is_requeued() -> None:
    pruning = replace(status(R), desired_resources=0, ready_resources=0)
    assert requeue_at(pruning, (), NOW, timedelta(seconds=30)) == NOW + timedelta(seconds=30)


def test_node_whose_writes_are_deferred_is_not_reconciled_again_and_again() -> None:
    at = requeue_at(status(P), (), NOW, timedelta(seconds=30), has_deferred_writes=True)
    assert at == NOW + DEFERRED_RETRY
    slow = requeue_at(status(P), (), NOW, timedelta(minutes=9), has_deferred_writes=True)
    assert slow == NOW + timedelta(minutes=9)
    assert requeue_at(status(R), (), NOW, timedelta(seconds=30), has_deferred_writes=True) is None
