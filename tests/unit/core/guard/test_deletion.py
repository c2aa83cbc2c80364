"""The deletion guard: exact at its limits, released by exactly one digest."""

import re
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lynq.api import DeletionGuard
from lynq.core.guard.deletion import (
    GuardOutcome,
    GuardVerdict,
    digest_of,
    evaluate_deletion,
    held_message,
)

GUARD = DeletionGuard()
OFF = DeletionGuard(disabled=True)


def names(count: int, start: int = 0) -> list[str]:
    return [f"tenant-{number:05}-web" for number in range(start, start + count)]


def verdict(
    count: int, total: int, guard: DeletionGuard = GUARD, *, source_changed: bool = False
) -> GuardVerdict:
    return evaluate_deletion(
        guard, existing=names(total), doomed=names(count), source_changed=source_changed
    )


@pytest.mark.parametrize(
    ("count", "total", "guard", "outcome"),
    [
        pytest.param(0, 0, GUARD, GuardOutcome.ALLOWED, id="no nodes"),
        pytest.param(0, 100, GUARD, GuardOutcome.ALLOWED, id="nothing to remove"),
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
def test_held_is_what_exceeds_both_limits(
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
def test_after_a_change_of_the_source_only_the_count_matters(
    count: int, guard: DeletionGuard, outcome: GuardOutcome
) -> None:
    assert verdict(count, 10_000, guard, source_changed=True).outcome is outcome


def test_either_all_nodes_may_go_or_none() -> None:
    assert verdict(11, 11).removable == ()
    assert verdict(10, 11).removable == tuple(names(10))


def test_a_digest_has_16_hex_digits_and_knows_no_order() -> None:
    assert digest_of(["b", "a", "a"]) == digest_of(["a", "b"])
    assert digest_of(["a", "b"]) == "7e18f737311b2dc3"


def approved(
    doomed: list[str], approval: str | None, leaving: list[str] | None = None
) -> GuardOutcome:
    return evaluate_deletion(
        GUARD, existing=doomed, doomed=doomed, leaving=leaving or [], approval=approval
    ).outcome


def test_an_approval_releases_exactly_its_set() -> None:
    digest = verdict(20, 20).digest
    assert approved(names(20), digest) is GuardOutcome.RELEASED
    assert approved(names(21), digest) is GuardOutcome.HELD
    assert approved(names(19), digest) is GuardOutcome.HELD
    assert approved(names(20, start=1), digest) is GuardOutcome.HELD


@pytest.mark.parametrize("approval", [None, "", "true", "*", "yes"])
def test_nothing_but_the_digest_is_an_approval(approval: str | None) -> None:
    assert approved(names(20), approval) is GuardOutcome.HELD


@pytest.mark.parametrize(
    "change", [str.upper, lambda digest: digest + " ", lambda digest: digest[:8]]
)
def test_a_digest_that_is_nearly_right_is_wrong(change: object) -> None:
    assert callable(change)
    digest = digest_of(names(20))
    assert digest != digest.upper()
    assert approved(names(20), change(digest)) is GuardOutcome.HELD


def test_an_approved_removal_goes_on_after_a_restart_half_way() -> None:
    digest = digest_of(names(40))
    assert approved(names(25), digest, leaving=names(15, start=25)) is GuardOutcome.RELEASED
    assert approved(names(25), digest, leaving=names(14, start=25)) is GuardOutcome.HELD
    assert approved([*names(25), "other"], digest, leaving=names(15, start=25)) is GuardOutcome.HELD


def test_an_approval_is_spent_once_nothing_waits_for_it() -> None:
    def spent(count: int, approval: str | None) -> bool:
        return evaluate_deletion(
            GUARD, existing=names(20), doomed=names(count), approval=approval
        ).spent

    digest = digest_of(names(20))
    assert not spent(20, digest)
    assert spent(0, digest)
    assert not spent(0, None)


@pytest.mark.parametrize("source_changed", [False, True])
def test_the_message_ends_with_the_number_of_nodes_and_the_digest(source_changed: bool) -> None:  # noqa: FBT001
    held = verdict(40, 100, source_changed=source_changed)
    message = held_message(held, GUARD, source_changed=source_changed)
    assert message.startswith("the rows of 40 of 100 nodes have vanished")
    assert message.endswith(f" 40 nodes, {held.digest}")
    assert "lynq.sh/approve-deletion" in message


def test_the_message_speaks_of_one_node() -> None:
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
def test_never_more_than_the_limits_unless_approved(
    guard: DeletionGuard,
    existing: set[str],
    doomed: set[str],
    changed: bool,  # noqa: FBT001
    signed: set[str],
) -> None:
    assume(doomed <= existing)
    given_verdict = evaluate_deletion(
        guard,
        existing=existing,
        doomed=doomed,
        source_changed=changed,
        approval=digest_of(signed),
    )
    gone = given_verdict.removable
    percent = 0 if changed else guard.max_percent
    within = len(gone) <= guard.max_count or Fraction(len(gone), len(existing)) <= Fraction(
        percent, 100
    )
    assert guard.disabled or within or doomed == signed
    assert gone in ((), tuple(sorted(doomed)))


@given(SETS, SETS)
def test_equal_sets_and_only_they_have_one_digest(one: set[str], other: set[str]) -> None:
    assert (digest_of(one) == digest_of(sorted(other, reverse=True))) == (one == other)
