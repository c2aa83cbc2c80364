"""The memory of a hold in the status of a hub."""

import pytest
from msgspec.structs import replace

from lynq.api import HeldDeletions, HubStatus
from lynq.api.conditions import new_condition
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.core.guard.approval import held_deletions
from lynq.core.guard.hold import HoldCause, stored_changed
from unit.core.hub.fixtures import NOON

MISSING = [f"t{number:02}-web" for number in range(25)]


def status(
    reason: ConditionReason | str, held: HeldDeletions | None = None, *, holds: bool = True
) -> HubStatus:
    condition = new_condition(
        ConditionType.DELETION_HELD,
        ConditionReason.WITHIN_LIMITS,
        "",
        holds=holds,
        generation=1,
        now=NOON,
    )
    # Another version may have other reasons.
    return HubStatus(conditions=(replace(condition, reason=reason),), held_deletions=held)


@pytest.mark.parametrize(
    ("reason", "holds", "cause"),
    [
        (ConditionReason.DELETION_GUARD_EXCEEDED, True, HoldCause.GUARD),
        (ConditionReason.UNIDENTIFIABLE_ROWS, True, HoldCause.CHANGED_ROWS),
        ("ReasonOfALaterVersion", True, HoldCause.GUARD),
        (ConditionReason.WITHIN_LIMITS, False, None),
        (ConditionReason.DELETION_GUARD_EXCEEDED, False, None),
    ],
)
def test_condition_is_the_memory_of_a_hold(
    *, reason: ConditionReason | str, holds: bool, cause: HoldCause | None
) -> None:
    assert HoldCause.of(status(reason, holds=holds)) is cause
    assert HoldCause.of(HubStatus()) is None


def test_status_names_the_nodes_that_are_held_for_changed_rows() -> None:
    held = held_deletions([*MISSING[:20]])
    stored = status(ConditionReason.UNIDENTIFIABLE_ROWS, held)
    assert stored_changed(stored, MISSING) == frozenset(MISSING[:20])
    # The row of the first node is back.
    assert stored_changed(stored, MISSING[1:]) == frozenset(MISSING[1:20])


@pytest.mark.parametrize("held", [held_deletions(MISSING[:21]), None])
def test_all_missing_nodes_are_held_if_the_status_does_not_name_all(
    held: HeldDeletions | None,
) -> None:
    stored = status(ConditionReason.UNIDENTIFIABLE_ROWS, held)
    assert stored_changed(stored, MISSING) == frozenset(MISSING)


@pytest.mark.parametrize(
    "stored",
    [
        status(ConditionReason.DELETION_GUARD_EXCEEDED, held_deletions(MISSING[:2])),
        status(ConditionReason.UNIDENTIFIABLE_ROWS, held_deletions(MISSING[:2]), holds=False),
        HubStatus(),
    ],
)
def test_hold_of_the_guard_names_no_changed_rows(stored: HubStatus) -> None:
    assert stored_changed(stored, MISSING) == frozenset()
