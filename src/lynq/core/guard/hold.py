"""The hold of deletions: its cause, and its memory in the status of a hub.

Every hold is sticky, whatever it began for. A table that is filled again passes every share of
missing rows down to none, and a row whose uid was spoilt may be deleted before it is inserted
again: the first read below the limits, or without the spoilt row, would delete the tenants that are
about to return. So the nodes of a hold stay until their rows are back or until they are approved.
The condition DeletionHeld and `status.heldDeletions` are the memory of a hold over a restart.
"""

from collections.abc import Iterable
from enum import Enum

from lynq.api import HubStatus
from lynq.api.conditions import find_condition
from lynq.api.reasons import ConditionReason, ConditionType


class HoldCause(Enum):
    """Why deletions are held: the reason of DeletionHeld. All of them are sticky."""

    GUARD = ConditionReason.DELETION_GUARD_EXCEEDED
    """More nodes are without row than the guard allows. While the hold lasts, each node whose row
    goes missing is part of it."""
    CHANGED_ROWS = ConditionReason.UNIDENTIFIABLE_ROWS
    """Rows were, or may have been, changed in place. The hold concerns their own nodes only."""

    @classmethod
    def of(cls, status: HubStatus) -> "HoldCause | None":
        """Return why the hub holds deletions according to its status; None if it holds none."""
        condition = find_condition(status.conditions, ConditionType.DELETION_HELD)
        if condition is None or condition.status != "True":
            return None
        # The reason of another version is taken for the hold that concerns all nodes.
        is_of_rows = condition.reason == cls.CHANGED_ROWS.value
        return cls.CHANGED_ROWS if is_of_rows else cls.GUARD


def stored_changed(status: HubStatus, missing: Iterable[str]) -> frozenset[str]:
    """Return the nodes that the status holds for changed rows, of those whose row is missing.

    The status lists the first nodes only. If there are more, all of the missing ones are returned.
    """
    if HoldCause.of(status) is not HoldCause.CHANGED_ROWS:
        return frozenset()
    held = status.held_deletions
    if held and held.count == len(held.nodes):
        return frozenset(held.nodes).intersection(missing)
    return frozenset(missing)
