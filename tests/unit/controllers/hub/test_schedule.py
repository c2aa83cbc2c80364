"""When a hub reads, when it plans from what it remembers, when it looks again."""

from dataclasses import replace
from datetime import datetime

import pytest
from msgspec.structs import replace as with_fields

from lynq.api import ChangeDetection, HubSource, LynqHub, SourceType
from lynq.api.names import ANNOTATION_APPROVE_DELETION, ANNOTATION_FORCE_SYNC
from lynq.controllers.concurrency import BackgroundJobs
from lynq.controllers.hub.schedule import (
    must_abandon,
    must_plan,
    must_read,
    next_run_at,
)
from lynq.controllers.hub.state import HubState, PlanExecution, ReadRows, UserRequests
from lynq.core.hub.status import ReadFailure
from unit.core.hub.fixtures import NOON, Cluster, a_hub, at, planned

EVERY_MINUTE = HubSource(type=SourceType.SQLITE, sync_interval="1m", changes=ChangeDetection.POLL)


def hub(
    generation: int = 2, *, paused: bool = False, annotations: dict[str, str] | None = None
) -> LynqHub:
    made = a_hub(source=EVERY_MINUTE, paused=paused, annotations=annotations)
    return with_fields(made, metadata=with_fields(made.metadata, generation=generation))


def rows(when: datetime = NOON, generation: int = 2) -> ReadRows:
    return ReadRows((), "identity", when, UserRequests.of(hub(generation)))


A_COURSE = PlanExecution.of(hub(), planned(Cluster(), ()), NOON)
OLD = rows(at(-100))


def synced(**given: object) -> HubState:
    """Return the memory of a hub that has read and planned at noon."""
    read = rows()
    memory = HubState("hub-uid", orders=UserRequests.of(hub()), rows=read, planned=read)
    for name, value in given.items():
        setattr(memory, name, value)
    return memory


async def _nothing() -> None: ...


def test_a_hub_that_never_read_reads() -> None:
    assert must_read(hub(), HubState("hub-uid"), NOON)
    assert not must_plan(hub(), HubState("hub-uid", replan=True), NOON)


def test_the_interval_is_waited_for_and_then_over() -> None:
    assert not must_read(hub(), synced(), at(59))
    assert must_read(hub(), synced(), at(60))
    assert next_run_at(hub(), synced(), at(10)) == at(60)


def test_an_interval_beyond_all_times_does_not_stop_the_first_read_nor_an_order() -> None:
    rarely = a_hub(source=with_fields(EVERY_MINUTE, sync_interval="99999999h"))
    read = ReadRows((), "identity", NOON, UserRequests.of(rarely))
    memory = HubState(
        "hub-uid", orders=UserRequests.of(rarely), rows=read, planned=read, replan=True
    )
    assert not must_read(rarely, memory, at(60))
    assert must_plan(rarely, memory, at(60))
    memory.wants_read = True
    assert must_read(rarely, memory, at(60))


def test_a_clock_set_back_does_not_stop_the_reads() -> None:
    assert must_read(hub(), synced(), at(-3600))
    assert must_read(hub(), synced(unread=ReadFailure("gone", 2), retry_at=at(30)), at(-3600))


def test_a_clock_set_back_does_not_make_failing_reads_hot() -> None:
    failing = synced(unread=ReadFailure("gone", 2), retry_at=at(-3598))
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
def test_an_order_is_carried_out_at_once_also_while_reads_fail(changed: LynqHub) -> None:
    failing = synced(unread=ReadFailure("down", 2), retry_at=at(50))
    assert must_read(changed, synced(), at(1))
    assert must_read(changed, failing, at(1))


def test_an_annotation_that_is_taken_off_orders_nothing() -> None:
    given = {ANNOTATION_FORCE_SYNC: "a", ANNOTATION_APPROVE_DELETION: "b"}
    known = UserRequests.of(hub(annotations=given))
    assert not must_read(hub(), synced(orders=known), at(1))


def test_word_of_the_push_channel_is_followed_but_not_twice_at_once() -> None:
    memory = synced(wants_read=True)
    assert must_read(hub(), memory, at(1))
    memory.reading = BackgroundJobs().start(_nothing, name="reading")
    assert not must_read(hub(), memory, at(1))
    assert next_run_at(hub(), memory, at(1)) is None


@pytest.mark.parametrize(
    ("changed", "memory"),
    [
        (hub(), synced(wants_read=True, began=at(9))),
        (hub(3), synced(began=at(9))),
        (hub(annotations={ANNOTATION_FORCE_SYNC: "now"}), synced(began=at(9))),
        (hub(), synced(unread=ReadFailure("down", 2), retry_at=at(9.5), began=at(9))),
    ],
    ids=["somebody asks", "a new spec", "force-sync", "a retry"],
)
def test_rows_are_not_read_twice_within_a_second(changed: LynqHub, memory: HubState) -> None:
    assert not must_read(changed, memory, at(9.9))
    assert next_run_at(changed, memory, at(9.9)) == at(10)
    assert must_read(changed, memory, at(10))


def test_a_clock_set_back_does_not_put_a_read_off() -> None:
    assert must_read(hub(), synced(wants_read=True, began=at(9)), at(8))


def test_an_abandoned_read_is_begun_again_when_its_second_is_over() -> None:
    memory = synced(rows=None, began=at(9))
    assert not must_read(hub(), memory, at(9.5))
    assert next_run_at(hub(), memory, at(9.5)) == at(10)


def test_who_waits_for_rows_goes_on_with_those_there_are() -> None:
    assert must_plan(hub(), synced(replan=True, wants_read=True, began=at(9)), at(9.5))


def test_a_failed_read_is_tried_again_when_its_pause_is_over() -> None:
    memory = synced(unread=ReadFailure("down", 2), retry_at=at(8))
    assert not must_read(hub(), memory, at(7))
    assert must_read(hub(), memory, at(8))
    assert next_run_at(hub(), memory, at(7)) == at(8)


def test_what_happens_is_planned_from_remembered_rows() -> None:
    assert must_plan(hub(), synced(replan=True), at(30))
    assert not must_plan(hub(), synced(), at(30))


@pytest.mark.parametrize(
    "memory",
    [
        synced(replan=True, unread=ReadFailure("down", 2), retry_at=at(90)),
        synced(replan=True, rows=rows(generation=1)),
        synced(replan=True, rows=OLD, planned=OLD),
    ],
    ids=["after a failed read", "of another generation", "too old"],
)
def test_nothing_is_planned_from_rows_that_may_be_wrong(memory: HubState) -> None:
    assert not must_plan(hub(), memory, at(30))


def test_rows_that_no_plan_was_made_from_do_not_grow_too_old_while_they_wait() -> None:
    waited = synced(replan=True, rows=OLD)
    assert must_plan(hub(), waited, at(30))
    assert must_read(hub(), waited, at(30))


def test_what_is_left_of_a_plan_goes_on_at_once_and_puts_off_the_next() -> None:
    memory = synced(replan=True, rest_until=at(31), course=A_COURSE)
    assert next_run_at(hub(), memory, at(30)) == at(30)
    memory.rows = replace(rows(), identity="newer")
    assert not must_plan(hub(), memory, at(30))
    assert must_plan(hub(), memory, at(31))


def test_an_approval_waits_for_the_rows_of_now() -> None:
    approved = hub(annotations={ANNOTATION_APPROVE_DELETION: "0123456789abcdef"})
    assert not must_plan(approved, synced(replan=True), at(30))
    fresh = ReadRows((), "identity", at(30), UserRequests.of(approved))
    assert must_plan(approved, synced(replan=True, rows=fresh), at(30))


def test_plans_rest_but_new_rows_do_not_wait() -> None:
    memory = synced(replan=True, rest_until=at(31))
    assert not must_plan(hub(), memory, at(30))
    assert next_run_at(hub(), memory, at(30)) == at(31)
    memory.rows = replace(rows(), identity="newer")
    assert must_plan(hub(), memory, at(30))


def test_the_passing_of_time_is_waited_for() -> None:
    memory = synced(look_again=at(20), rewrite_at=at(10))
    assert next_run_at(hub(), memory, NOON) == at(10)
    assert must_plan(hub(), memory, at(10))


def test_a_paused_hub_has_nothing_to_do() -> None:
    memory = synced(replan=True, wants_read=True)
    assert not must_read(hub(3, paused=True), memory, at(600))
    assert not must_plan(hub(paused=True), memory, at(1))
    assert next_run_at(hub(3, paused=True), memory, at(600)) is None


def test_a_read_for_another_spec_is_abandoned() -> None:
    assert must_abandon(hub(3), synced())
    assert must_abandon(hub(paused=True), synced())
    assert not must_abandon(hub(annotations={ANNOTATION_FORCE_SYNC: "now"}), synced())
    assert not must_abandon(hub(), HubState("hub-uid"))
