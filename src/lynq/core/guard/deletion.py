"""The deletion guard: decides whether the nodes of vanished rows are deleted or held.

The guard applies to rows that vanish from a source. Deleting a LynqHub or a LynqForm is explicit,
so its nodes are not guarded. Either all nodes of a plan are deleted or none: a guard that let a
part of them through would delete all tenants piece by piece. For the same reason the deletions of a
window of time count together (`lynq.core.guard.window`).

A read without any active row deletes no node of several tenants, whatever the limits: an emptied
table is a mistake until it is approved.

A hold is sticky (`lynq.core.guard.hold`): it ends when no row is missing, or when the missing ones
are approved.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from msgspec.structs import replace

from lynq.api import DeletionGuard, DeletionGuardStatus
from lynq.api.text import plural
from lynq.core.guard.approval import NO_APPROVAL, Approval, approval_instruction, digest_of
from lynq.core.guard.window import CountedDeletions

NOTHING_COUNTED: Final = CountedDeletions()


class GuardOutcome(Enum):
    """Whether the deletions of a plan are carried out."""

    ALLOWED = "allowed"
    """They are within the limits, or the guard is disabled."""
    HELD = "held"
    """They exceed the limits, are those of an emptied table or continue a hold, and are not
    approved."""
    APPROVED = "approved"
    """All of them are approved."""


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
    deleted_before: int = 0
    """Number of other deletions within the window."""
    exceeds: bool = False
    """Whether the limits are exceeded; False if only the hold continues."""
    emptied: bool = False
    """Whether no active row was read, while several tenants have nodes."""

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
    to_delete: Mapping[str, str],
    held: bool = False,
    counted: CountedDeletions = NOTHING_COUNTED,
    source_changed: bool = False,
    emptied: bool = False,
    approval: Approval = NO_APPROVAL,
    spent_approvals: Collection[str] = (),
    settled: int = 0,
) -> GuardVerdict:
    """Decide whether the nodes `to_delete` of the hub's `existing` nodes may be deleted.

    `to_delete` has uids by name. `held` says whether deletions are held already, and `emptied`
    whether no active row was read while several tenants have nodes. `settled` is the number of
    nodes besides the existing ones.
    """
    names, uids = tuple(sorted(to_delete)), to_delete.values()
    total = len({*existing, *names}) + settled
    uncounted = counted.uncounted(uids)
    nodes_at_start = counted.nodes_at_start(total, uids)
    exceeds = _exceeds(
        guard, counted.count + uncounted, nodes_at_start, source_changed=source_changed
    )
    if not names or guard.disabled:
        outcome = GuardOutcome.ALLOWED
    elif approval.covers(names):
        outcome = GuardOutcome.APPROVED
    else:
        outcome = GuardOutcome.HELD if exceeds or emptied or held else GuardOutcome.ALLOWED
    deleted_before = counted.count + uncounted - len(names)
    digest = digest_of(names, spent_approvals)
    return GuardVerdict(outcome, names, total, digest, deleted_before, exceeds, emptied)


def count_deletions(
    status: DeletionGuardStatus | None,
    verdict: GuardVerdict,
    uids: Collection[str],
    *,
    window: timedelta,
    now: datetime,
) -> DeletionGuardStatus | None:
    """Return the guard's status before nodes with these uids are deleted.

    Approved deletions do not count: a person knows them.
    """
    if verdict.outcome is not GuardOutcome.ALLOWED:
        return status
    before = CountedDeletions.within(status, window, now)
    after = before.add(uids, nodes=verdict.total, window=window, now=now)
    if after is before:
        return status
    return replace(status or DeletionGuardStatus(), periods=after.periods)


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
    if verdict.emptied:
        limit = ", and no active row was read at all"
    elif not verdict.exceeds:
        limit = ", and a hold ends when no row is missing"
    elif source_changed:
        limit = (
            f", and after a change of the source at most {guard.max_count} are deleted unapproved"
        )
    else:
        nodes = plural("node", guard.max_count)
        limit = f", and the limits are {guard.max_count} {nodes} and {guard.max_percent} %"
    if verdict.exceeds and not verdict.emptied and verdict.deleted_before > 0:
        limit = f", {verdict.deleted_before} more were deleted within {guard.window}{limit}"
    return (
        f"the rows of {count} of {verdict.total} nodes have vanished{limit}; no node is deleted "
        f"until the rows are back, or {approval_instruction(count, verdict.digest)}"
    )


def _exceeds(guard: DeletionGuard, count: int, total: int, *, source_changed: bool) -> bool:
    # A different database has different rows: after a change of the source no share is small.
    percent = 0 if source_changed else guard.max_percent
    return not guard.disabled and count > guard.max_count and count * 100 > percent * total
