"""Merge of conditions into an existing status."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from lynq.api import Condition
from lynq.api.conditions import find_condition, is_true, merge_conditions, new_condition
from lynq.api.reasons import ConditionReason, ConditionType

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


def ready(now: datetime, *, holds: bool = True, message: str = "fine") -> Condition:
    return new_condition(
        ConditionType.READY,
        ConditionReason.RECONCILED if holds else ConditionReason.RESOURCES_FAILED,
        message,
        holds=holds,
        generation=3,
        now=now,
    )


def test_new_condition_transitions_now() -> None:
    [first] = merge_conditions((), [ready(NOON)])
    assert (first.last_transition_time, first.observed_generation) == (NOON, 3)


def test_new_message_keeps_transition_time() -> None:
    [after] = merge_conditions([ready(NOON)], [ready(LATER, message="better")])
    assert (after.last_transition_time, after.message) == (NOON, "better")


def test_new_status_moves_transition_time() -> None:
    [after] = merge_conditions([ready(NOON)], [ready(LATER, holds=False)])
    assert after.last_transition_time == LATER


def test_undesired_conditions_are_removed() -> None:
    assert merge_conditions([ready(NOON)], []) == ()


def test_condition_is_found_by_type() -> None:
    conditions = [ready(NOON, holds=False)]
    assert find_condition(conditions, ConditionType.READY) == conditions[0]
    assert find_condition(conditions, ConditionType.PAUSED) is None
    assert not is_true(conditions, ConditionType.READY)
    assert is_true([ready(NOON)], ConditionType.READY)


@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_transition_time_is_that_of_the_last_status_change(statuses: list[bool]) -> None:
    conditions: tuple[Condition, ...] = ()
    flipped = NOON
    for hour, status in enumerate(statuses):
        now = NOON + timedelta(hours=hour)
        if hour == 0 or statuses[hour - 1] != status:
            flipped = now
        conditions = merge_conditions(conditions, [ready(now, holds=status)])
    assert conditions[0].last_transition_time == flipped
