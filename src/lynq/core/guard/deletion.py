"""The deletion guard: decides whether the nodes of vanished rows are deleted or held.

The guard applies to rows that vanish from a source. Deleting a LynqHub or a LynqForm is explicit,
so its nodes are not guarded. Either all nodes of a plan are deleted or none: a guard that let a
part of them through would delete all tenants piece by piece.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from lynq.api import DeletionGuard
from lynq.api.names import ANNOTATION_APPROVE_DELETION
from lynq.core.guard.approval import NO_APPROVAL, Approval, digest_of


class GuardOutcome(Enum):
    """Whether the deletions of a plan are carried out."""

    ALLOWED = "allowed"
    """They are within the limits, or the guard is disabled."""
    HELD = "held"
    """They exceed the limits, and are not approved."""
    APPROVED = "approved"
    """They exceed the limits, and all of them are approved."""


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    """The guard's decision about the deletions of one plan."""

    outcome: GuardOutcome
    names: tuple[str, ...]
    """The nodes whose rows have vanished, sorted."""
    total: int
    """Number of the hub's nodes, including these."""
    digest: str
    """The digest of the names; as the value of the annotation it approves their deletion."""

    @property
    def deletable(self) -> tuple[str, ...]:
        """The nodes that may be deleted now: all or none."""
        return () if self.outcome is GuardOutcome.HELD else self.names

    @property
    def held(self) -> tuple[str, ...]:
        """The nodes whose deletion waits for approval: all or none."""
        return self.names if self.outcome is GuardOutcome.HELD else ()

    @property
    def guarded(self) -> tuple[str, ...]:
        """The nodes that are deleted only with an approval: all or none."""
        return () if self.outcome is GuardOutcome.ALLOWED else self.names


def evaluate_deletion(
    guard: DeletionGuard,
    *,
    existing: Collection[str],
    to_delete: Collection[str],
    source_changed: bool = False,
    approval: Approval = NO_APPROVAL,
) -> GuardVerdict:
    """Decide whether the nodes `to_delete` of the hub's `existing` nodes may be deleted."""
    names = tuple(sorted(set(to_delete)))
    total = len({*existing, *names})
    if not _exceeds(guard, len(names), total, source_changed=source_changed):
        outcome = GuardOutcome.ALLOWED
    else:
        outcome = GuardOutcome.APPROVED if approval.covers(names) else GuardOutcome.HELD
    return GuardVerdict(outcome, names, total, digest_of(names))


def rows_allow_deletion(
    read_at: datetime, now: datetime, *, interval: timedelta, max_row_age: timedelta
) -> bool:
    """Return whether a row that was missing in a read at that time still counts as vanished.

    A plan may wait for its turn longer than the sync interval, and the row may be back by then.
    `max_row_age` applies where the interval is shorter.
    """
    return now - read_at <= max(interval, max_row_age)


def held_message(
    verdict: GuardVerdict, guard: DeletionGuard, *, source_changed: bool = False
) -> str:
    """Return the message of DeletionHeld; it ends with the number of nodes and the digest."""
    count = len(verdict.names)
    nodes = "1 node" if count == 1 else f"{count} nodes"
    if source_changed:
        limit = f"after a change of the source at most {guard.max_count} are deleted unapproved"
    else:
        limit = f"the limits are {guard.max_count} nodes and {guard.max_percent} %"
    return (
        f"the rows of {count} of {verdict.total} nodes have vanished, and {limit}; no node is "
        f"deleted until the annotation {ANNOTATION_APPROVE_DELETION} approves {nodes}, "
        f"{verdict.digest}"
    )


def _exceeds(guard: DeletionGuard, count: int, total: int, *, source_changed: bool) -> bool:
    # A different database has different rows: after a change of the source no share is small.
    percent = 0 if source_changed else guard.max_percent
    return not guard.disabled and count > guard.max_count and count * 100 > percent * total
