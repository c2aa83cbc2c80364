"""When a hub reads its rows, when it plans, and when it is reconciled again."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as with_fields

from lynq.api import ChangeDetection, DeletionGuard, HubSource, LynqHub, SourceType
from lynq.api.installation_key import MissingKey
from lynq.api.names import ANNOTATION_APPROVE_DELETION, ANNOTATION_FORCE_SYNC
from lynq.core.hub import schedule
from lynq.core.hub.schedule import confirm_after, must_abandon
from lynq.core.hub.state import (
    PlanExecution,
    PlanState,
    ReadRows,
    ReadState,
    UserRequests,
    WriteState,
)
from lynq.core.hub.status import ReadFailure
from unit.core.hub.fixtures import NOON, ARow, Cluster, a_form, a_hub, at, planned

EVERY_MINUTE = HubSource(type=SourceType.SQLITE, sync_interval="1m", changes=ChangeDetection.POLL)


MIN_INTERVAL = timedelta(seconds=1)


@dataclass
class State:
    read: ReadState
    plan: PlanState
    write: WriteState


def must_read(hub: LynqHub, state: State, now: datetime) -> bool:
    return schedule.must_read(hub, state.read, state.plan, now)


def must_plan(hub: LynqHub, state: State, now: datetime) -> bool:
    return schedule.must_plan(hub, state.read, state.plan, state.write, now)


def must_interrupt(hub: LynqHub, state: State, now: datetime) -> bool:
    return schedule.must_interrupt(hub, state.read, state.plan, now)


def next_run_at(hub: LynqHub, state: State, now: datetime) -> datetime | None:
    return schedule.next_run_at(hub, state.read, state.plan, state.write, now)


def test_nothing_is_planned_while_the_key_is_missing() -> None:
    state = synced(replan=True)
    state.plan.missing_key = MissingKey("restore it")
    assert not must_plan(hub(), state, at(30))
    assert next_run_at(hub(), state, at(30)) == at(60)
    assert must_read(hub(), state, at(60))
    state.read.failure = ReadFailure("no route to host", 2)
    for key, may_plan in ((state.plan.missing_key, False), (None, True)):
        state.plan.missing_key = key
        planned = schedule.must_plan_without_rows(hub(), state.read, state.plan, state.write)
        assert planned is may_plan


def hub(
    generation: int = 2, *, paused: bool = False, annotations: dict[str, str] | None = None
) -> LynqHub:
    created = a_hub(source=EVERY_MINUTE, paused=paused, annotations=annotations)
    return with_fields(created, metadata=with_fields(created.metadata, generation=generation))


def rows(when: datetime = NOON, generation: int = 2) -> ReadRows:
    return ReadRows((), "identity", when, UserRequests.of(hub(generation)))


EXECUTION = PlanExecution.of(hub(), planned(Cluster(), ()), NOON)
OLD = rows(at(-100))


def _deleting() -> PlanExecution:
    cluster = Cluster()
    cluster.apply(planned(cluster, [ARow("a")], a_form()))
    return PlanExecution.of(hub(), planned(cluster, (), a_form()), NOON)


DELETING = _deleting()
"""The execution of a plan that deletes the node of a vanished row."""


class RunningJob:
    def cancel(self) -> None: ...


def new_state(*, replan: bool = False) -> State:
    """Return the state of a hub that has not read yet."""
    return State(ReadState(), PlanState(requested=replan), WriteState())


def synced(
    *,
    replan: bool = False,
    plan: PlanState | None = None,
    write: WriteState | None = None,
    **read: object,
) -> State:
    """Return the state of a hub that has read and planned at noon."""
    last = rows()
    state = State(
        ReadState(requests=UserRequests.of(hub()), rows=last, min_interval=MIN_INTERVAL),
        plan or PlanState(),
        write or WriteState(),
    )
    state.plan.requested = replan
    state.plan.rows = state.plan.rows or last
    for name, value in read.items():
        setattr(state.read, name, value)
    return state


def failed(
    cause: str, retry_at: datetime, *, replan: bool = False, started_at: datetime | None = None
) -> State:
    return synced(
        replan=replan,
        failure=ReadFailure(cause, 2),
        retry_at=retry_at,
        started_at=started_at,
    )


def test_new_hub_reads_and_does_not_plan() -> None:
    assert must_read(hub(), new_state(), NOON)
    assert not must_plan(hub(), new_state(replan=True), NOON)


def test_rows_are_read_once_the_interval_has_passed() -> None:
    assert not must_read(hub(), synced(), at(59))
    assert must_read(hub(), synced(), at(60))
    assert next_run_at(hub(), synced(), at(10)) == at(60)


def test_huge_interval_blocks_no_requested_read() -> None:
    rarely = a_hub(source=with_fields(EVERY_MINUTE, sync_interval="99999999h"))
    read = ReadRows((), "identity", NOON, UserRequests.of(rarely))
    state = synced(replan=True, plan=PlanState(rows=read), requests=read.requests, rows=read)
    assert not must_read(rarely, state, at(60))
    assert must_plan(rarely, state, at(60))
    state.read.requested = True
    assert must_read(rarely, state, at(60))


def test_clock_set_back_does_not_stop_reads() -> None:
    assert must_read(hub(), synced(), at(-3600))
    assert must_read(hub(), failed("gone", at(30)), at(-3600))


def test_clock_set_back_does_not_skip_the_backoff() -> None:
    failing = failed("gone", at(-3598))
    assert not must_read(hub(), failing, at(-3600))
    assert next_run_at(hub(), failing, at(-3600)) == at(-3598)
    assert must_read(hub(), failing, at(-3598))


@pytest.mark.parametrize(
    "changed",
    [
        hub(3),
        hub(annotations={ANNOTATION_FORCE_SYNC: "now"}),
        hub(annotations={ANNOTATION_APPROVE_DELETION: "0123456789abcdef"}),
    ],
)
def test_user_request_triggers_a_read_at_once_even_while_reads_fail(changed: LynqHub) -> None:
    failing = failed("down", at(50))
    assert must_read(changed, synced(), at(1))
    assert must_read(changed, failing, at(1))


def test_removed_annotation_requests_nothing() -> None:
    annotations = {ANNOTATION_FORCE_SYNC: "a", ANNOTATION_APPROVE_DELETION: "b"}
    requests = UserRequests.of(hub(annotations=annotations))
    assert not must_read(hub(), synced(requests=requests), at(1))


def test_requested_read_does_not_start_while_one_is_in_progress() -> None:
    state = synced(requested=True)
    assert must_read(hub(), state, at(1))
    state.read.job = RunningJob()
    assert not must_read(hub(), state, at(1))
    assert next_run_at(hub(), state, at(1)) is None


@pytest.mark.parametrize(
    ("changed", "state"),
    [
        (hub(), synced(requested=True, started_at=at(9))),
        (hub(3), synced(started_at=at(9))),
        (hub(annotations={ANNOTATION_FORCE_SYNC: "now"}), synced(started_at=at(9))),
        (hub(), failed("down", at(9.5), started_at=at(9))),
    ],
    ids=["a change", "a new spec", "force-sync", "a retry"],
)
def test_two_reads_start_at_least_one_second_apart(changed: LynqHub, state: State) -> None:
    assert not must_read(changed, state, at(9.9))
    assert next_run_at(changed, state, at(9.9)) == at(10)
    assert must_read(changed, state, at(10))


def test_clock_set_back_does_not_delay_a_requested_read() -> None:
    assert must_read(hub(), synced(requested=True, started_at=at(9)), at(8))


def test_abandoned_read_is_restarted_after_the_minimum_interval() -> None:
    state = synced(rows=None, started_at=at(9))
    assert not must_read(hub(), state, at(9.5))
    assert next_run_at(hub(), state, at(9.5)) == at(10)


def test_hub_plans_with_the_last_rows_while_it_waits_for_a_read() -> None:
    assert must_plan(hub(), synced(replan=True, requested=True, started_at=at(9)), at(9.5))


def test_failed_read_is_retried_after_its_backoff() -> None:
    state = failed("down", at(8))
    assert not must_read(hub(), state, at(7))
    assert must_read(hub(), state, at(8))
    assert next_run_at(hub(), state, at(7)) == at(8)


def test_requested_plan_uses_the_last_rows() -> None:
    assert must_plan(hub(), synced(replan=True), at(30))
    assert not must_plan(hub(), synced(), at(30))


@pytest.mark.parametrize(
    "state",
    [
        failed("down", at(90), replan=True),
        synced(replan=True, rows=rows(generation=1)),
        synced(replan=True, plan=PlanState(rows=OLD), rows=OLD),
    ],
    ids=["after a failed read", "of another generation", "too old"],
)
def test_outdated_rows_are_not_planned_with(state: State) -> None:
    assert not must_plan(hub(), state, at(30))


def test_unplanned_rows_are_planned_with_at_any_age() -> None:
    waited = synced(replan=True, rows=OLD)
    assert must_plan(hub(), waited, at(30))
    assert must_read(hub(), waited, at(30))


def test_rest_of_a_plan_runs_at_once_and_delays_the_next_plan() -> None:
    state = synced(
        replan=True,
        plan=PlanState(not_before=at(31)),
        write=WriteState(execution=EXECUTION),
    )
    assert next_run_at(hub(), state, at(30)) == at(30)
    state.read.rows = replace(rows(), identity="newer")
    assert not must_plan(hub(), state, at(30))
    assert must_plan(hub(), state, at(31))


def test_new_rows_are_planned_before_the_rest_of_the_deletions_is_sent() -> None:
    assert DELETING.remaining_row_deletions
    state = synced(
        replan=True, plan=PlanState(not_before=at(31)), write=WriteState(execution=DELETING)
    )
    assert not must_plan(hub(), state, at(30))
    state.read.rows = replace(rows(), identity="newer")
    assert must_plan(hub(), state, at(30))


def test_writes_make_way_for_a_pushed_read() -> None:
    assert not must_interrupt(hub(), synced(), at(1))
    pushed = synced(changed_uids=frozenset({"acme"}), changed_at=at(1))
    assert must_interrupt(hub(), pushed, at(1))
    pushed.read.job = RunningJob()
    assert not must_interrupt(hub(), pushed, at(1))


def test_writes_make_way_for_a_plan_of_new_rows_only() -> None:
    state = synced(replan=True, plan=PlanState(not_before=at(31)))
    assert not must_interrupt(hub(), state, at(31))
    state.read.rows = replace(rows(at(30)), identity="newer")
    assert not must_interrupt(hub(), state, at(30))
    assert must_interrupt(hub(), state, at(31))
    assert not must_interrupt(hub(paused=True), state, at(31))


@st.composite
def states(draw: st.DrawFn) -> State:
    """Draw the state of a hub whose writes are being sent."""
    state = synced(replan=draw(st.booleans()))
    state.read.rows = draw(st.sampled_from([None, rows(), rows(at(50)), rows(at(150))]))
    state.plan.rows = draw(st.sampled_from([OLD, state.read.rows]))
    state.plan.not_before = draw(st.sampled_from([None, at(0), at(60), at(120)]))
    state.read.job = draw(st.sampled_from([None, RunningJob()]))
    state.read.failure = draw(st.sampled_from([None, ReadFailure("timeout", 2)]))
    state.read.changed_uids = draw(st.sampled_from([frozenset(), frozenset({"acme"})]))
    state.read.changed_at = at(0) if state.read.changed_uids else None
    state.write.execution = draw(st.sampled_from([None, EXECUTION, DELETING]))
    return state


@given(states(), st.integers(0, 200).map(at), st.booleans().map(lambda paused: hub(paused=paused)))
def test_interrupted_writes_are_followed_by_a_read_or_a_plan(
    state: State, now: datetime, drawn: LynqHub
) -> None:
    if must_interrupt(drawn, state, now):
        assert must_read(drawn, state, now) or must_plan(drawn, state, now)


def test_approval_waits_for_rows_read_after_it() -> None:
    approved = hub(annotations={ANNOTATION_APPROVE_DELETION: "0123456789abcdef"})
    assert not must_plan(approved, synced(replan=True), at(30))
    fresh = ReadRows((), "identity", at(30), UserRequests.of(approved))
    assert must_plan(approved, synced(replan=True, rows=fresh), at(30))


def test_pause_between_plans_does_not_delay_new_rows() -> None:
    state = synced(replan=True, plan=PlanState(not_before=at(31)))
    assert not must_plan(hub(), state, at(30))
    assert next_run_at(hub(), state, at(30)) == at(31)
    state.read.rows = replace(rows(), identity="newer")
    assert must_plan(hub(), state, at(30))


def test_hub_is_requeued_for_the_earliest_recheck_or_retry() -> None:
    state = synced(plan=PlanState(recheck_at=at(20)), write=WriteState(retry_at=at(10)))
    assert next_run_at(hub(), state, NOON) == at(10)
    assert must_plan(hub(), state, at(10))


def test_paused_hub_neither_reads_nor_plans() -> None:
    state = synced(replan=True, requested=True)
    assert not must_read(hub(3, paused=True), state, at(600))
    assert not must_plan(hub(paused=True), state, at(1))
    assert next_run_at(hub(3, paused=True), state, at(600)) is None


def test_read_of_an_old_spec_is_abandoned() -> None:
    assert must_abandon(hub(3), synced().read)
    assert must_abandon(hub(paused=True), synced().read)
    assert not must_abandon(hub(annotations={ANNOTATION_FORCE_SYNC: "now"}), synced().read)
    assert not must_abandon(hub(), ReadState())


def test_confirming_read_is_due_at_its_time() -> None:
    state = synced(confirm_at=at(5))
    assert not must_read(hub(), state, at(4))
    assert must_read(hub(), state, at(5))
    assert next_run_at(hub(), state, at(1)) == at(5)


def test_confirming_read_does_not_wait_for_a_clock_that_was_set_back() -> None:
    assert must_read(hub(), synced(confirm_at=at(3605)), NOON)


def test_failed_read_is_retried_with_back_off_before_it_confirms() -> None:
    state = failed("down", at(20))
    state.read.confirm_at = at(5)
    assert not must_read(hub(), state, at(10))


@pytest.mark.parametrize(("text", "seconds"), [("0s", 0), ("0h", 0), ("5s", 5), ("2m", 120)])
def test_confirm_after_may_be_zero(text: str, seconds: int) -> None:
    guard = DeletionGuard(confirm_after=text)
    assert confirm_after(a_hub(deletion_guard=guard)) == timedelta(seconds=seconds)
