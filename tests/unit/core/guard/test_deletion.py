"""The deletion guard: limits, held deletions, and their message."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lynq.api import DeletionGuard
from lynq.core.guard.approval import Approval, digest_of
from lynq.core.guard.deletion import (
    GuardOutcome,
    GuardVerdict,
    evaluate_deletion,
    held_message,
    rows_allow_deletion,
)

GUARD = DeletionGuard()
OFF = DeletionGuard(disabled=True)


def names(count: int, start: int = 0) -> list[str]:
    return [f"tenant-{number:05}-web" for number in range(start, start + count)]


def uids(nodes: Iterable[str]) -> dict[str, str]:
    return {name: f"uid-{name}" for name in nodes}


def verdict(
    count: int, total: int, guard: DeletionGuard = GUARD, *, source_changed: bool = False
) -> GuardVerdict:
    return evaluate_deletion(
        guard, existing=names(total), to_delete=uids(names(count)), source_changed=source_changed
    )


@pytest.mark.parametrize(
    ("count", "total", "guard", "outcome"),
    [
        pytest.param(0, 0, GUARD, GuardOutcome.ALLOWED, id="no nodes"),
        pytest.param(0, 100, GUARD, GuardOutcome.ALLOWED, id="nothing to delete"),
        pytest.param(10, 10, GUARD, GuardOutcome.ALLOWED, id="all, but only ten"),
        pytest.param(11, 11, GUARD, GuardOutcome.HELD, id="all eleven"),
        pytest.param(30, 100, GUARD, GuardOutcome.ALLOWED, id="30 % exactly"),
        pytest.param(31, 100, GUARD, GuardOutcome.HELD, id="31 %"),
        pytest.param(11, 37, GUARD, GuardOutcome.ALLOWED, id="29.7 %"),
        pytest.param(11, 36, GUARD, GuardOutcome.HELD, id="30.6 %"),
        pytest.param(3000, 10_000, GUARD, GuardOutcome.ALLOWED, id="30 % of many"),
        pytest.param(3001, 10_000, GUARD, GuardOutcome.HELD, id="one more than 30 % of many"),
        pytest.param(100, 100, OFF, GuardOutcome.ALLOWED, id="disabled"),
        pytest.param(
            1, 100, DeletionGuard(max_count=0, max_percent=0), GuardOutcome.HELD, id="strict"
        ),
        pytest.param(
            0, 0, DeletionGuard(max_count=0, max_percent=0), GuardOutcome.ALLOWED, id="none"
        ),
        pytest.param(
            99, 99, DeletionGuard(max_percent=100), GuardOutcome.ALLOWED, id="all is 100 %"
        ),
    ],
)
def test_deletion_that_exceeds_both_limits_is_held(
    count: int, total: int, guard: DeletionGuard, outcome: GuardOutcome
) -> None:
    assert verdict(count, total, guard).outcome is outcome


@pytest.mark.parametrize(
    ("count", "guard", "outcome"),
    [
        pytest.param(10, GUARD, GuardOutcome.ALLOWED, id="ten"),
        pytest.param(11, GUARD, GuardOutcome.HELD, id="eleven of many"),
        pytest.param(
            11, DeletionGuard(max_percent=100), GuardOutcome.HELD, id="whatever the percentage"
        ),
        pytest.param(11, OFF, GuardOutcome.ALLOWED, id="disabled"),
    ],
)
def test_changed_source_disables_the_percentage_limit(
    count: int, guard: DeletionGuard, outcome: GuardOutcome
) -> None:
    assert verdict(count, 10_000, guard, source_changed=True).outcome is outcome


def test_all_nodes_are_deletable_or_none() -> None:
    assert verdict(11, 11).deletable == ()
    assert verdict(10, 11).deletable == tuple(names(10))


def test_only_held_and_approved_nodes_are_guarded() -> None:
    assert verdict(11, 11).guarded == tuple(names(11))
    assert verdict(10, 11).guarded == ()
    approval = Approval.resolve(digest_of(names(11)), names(11))
    approved = evaluate_deletion(
        GUARD, existing=names(11), to_delete=uids(names(11)), approval=approval
    )
    assert approved.guarded == approved.deletable == tuple(names(11))


def test_disabled_guard_has_no_limits_to_exceed() -> None:
    assert verdict(11, 11).exceeds
    assert not verdict(11, 11, OFF).exceeds


def test_approved_deletion_is_released_and_others_are_held() -> None:
    approval = Approval.resolve(digest_of(names(20)), names(20))

    def outcome(to_delete: list[str]) -> GuardOutcome:
        return evaluate_deletion(
            GUARD, existing=to_delete, to_delete=uids(to_delete), approval=approval
        ).outcome

    assert outcome(names(20)) is GuardOutcome.APPROVED
    assert outcome(names(19)) is GuardOutcome.APPROVED
    assert outcome(names(21)) is GuardOutcome.HELD
    assert outcome(names(20, start=1)) is GuardOutcome.HELD


@pytest.mark.parametrize(
    ("interval", "age", "allowed"),
    [(60, 60, True), (60, 61, False), (3600, 3600, True), (1, 60, True), (1, 61, False)],
)
def test_outdated_rows_allow_no_deletion(interval: int, age: int, *, allowed: bool) -> None:
    read_at = datetime(2026, 1, 1, tzinfo=UTC)
    now = read_at + timedelta(seconds=age)
    assert allowed == rows_allow_deletion(
        read_at, now, interval=timedelta(seconds=interval), max_row_age=timedelta(minutes=1)
    )


@pytest.mark.parametrize("source_changed", [False, True])
def test_message_ends_with_number_of_nodes_and_digest(source_changed: bool) -> None:  # noqa: FBT001
    held = verdict(40, 100, source_changed=source_changed)
    message = held_message(held, GUARD, source_changed=source_changed)
    assert message.startswith("the rows of 40 of 100 nodes have vanished")
    assert message.endswith(f" 40 nodes, {held.digest}")
    assert "lynq.sh/approve-deletion" in message
    assert ("after a change of the source at most 10" in message) is source_changed
    assert ("the limits are 10 nodes and 30 %" in message) is not source_changed


def test_message_about_one_node_is_in_the_singular() -> None:
    strict = DeletionGuard(max_count=0, max_percent=0)
    assert re.search(r" 1 node, [0-9a-f]{16}$", held_message(verdict(1, 1, strict), strict))


SETTINGS = st.builds(
    DeletionGuard,
    max_count=st.integers(0, 20),
    max_percent=st.integers(0, 100),
    disabled=st.booleans(),
)
SETS = st.sets(st.sampled_from(names(40)))


@given(SETTINGS, SETS, SETS, st.booleans(), SETS)
def test_no_more_nodes_than_the_limits_are_deletable_unless_approved(
    guard: DeletionGuard,
    existing: set[str],
    to_delete: set[str],
    changed: bool,  # noqa: FBT001
    signed: set[str],
) -> None:
    assume(to_delete <= existing)
    decision = evaluate_deletion(
        guard,
        existing=existing,
        to_delete=uids(to_delete),
        source_changed=changed,
        approval=Approval.resolve(digest_of(signed), to_delete),
    )
    deletable = decision.deletable
    count = len(deletable)
    percent = 0 if changed else guard.max_percent
    within = count <= guard.max_count or Fraction(count, len(existing)) <= Fraction(percent, 100)
    assert guard.disabled or within or to_delete == signed
    assert deletable in ((), tuple(sorted(to_delete)))
