"""The deletion guard: whether nodes of vanished rows may go, or a person has to say so first.

It is asked about rows that vanish, not about a hub or form that somebody deletes. Either all of
the nodes may go or none: a guard that let through a part would delete tenants bit by bit.
"""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from lynq.api import DeletionGuard
from lynq.api.names import ANNOTATION_APPROVE_DELETION

DIGITS: Final = 16
"""How long a digest is."""


class GuardOutcome(Enum):
    """What becomes of the removals."""

    ALLOWED = "allowed"
    """They are few, or the guard is off."""
    HELD = "held"
    """None is carried out until a person approves."""
    RELEASED = "released"
    """They are many, and a person approved exactly these."""


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    """What the guard says about one sync's removals."""

    outcome: GuardOutcome
    names: tuple[str, ...]
    """The nodes that the sync would remove, sorted."""
    total: int
    """How many nodes the hub has, those included."""
    digest: str
    """Stands for the names; its value as annotation approves them."""
    spent: bool
    """Whether the hub has an approval that nothing is waiting for: take it off, or it would
    release the same names once more after the rows have come back."""

    @property
    def removable(self) -> tuple[str, ...]:
        """The nodes that may be removed now: all or none."""
        return () if self.outcome is GuardOutcome.HELD else self.names


def digest_of(names: Iterable[str]) -> str:
    """Return the digest of a set of names; no name of an object holds a line break."""
    return hashlib.sha256("\n".join(sorted(set(names))).encode()).hexdigest()[:DIGITS]


def evaluate_deletion(
    guard: DeletionGuard,
    *,
    existing: Collection[str],
    doomed: Collection[str],
    leaving: Collection[str] = (),
    source_changed: bool = False,
    approval: str | None = None,
) -> GuardVerdict:
    """Decide about the nodes `doomed` among the hub's `existing` ones.

    `leaving` are nodes that are being deleted already. They count for nothing but the approval:
    when the operator is stopped half way through an approved removal, the rest together with them
    is still the set that was approved.
    """
    names = tuple(sorted(set(doomed)))
    total = len({*existing, *names})
    digest = digest_of(names)
    if not _exceeds(guard, len(names), total, source_changed=source_changed):
        return GuardVerdict(GuardOutcome.ALLOWED, names, total, digest, spent=bool(approval))
    approved = approval in (digest, digest_of({*names, *leaving}))
    outcome = GuardOutcome.RELEASED if approved else GuardOutcome.HELD
    return GuardVerdict(outcome, names, total, digest, spent=False)


def _exceeds(guard: DeletionGuard, count: int, total: int, *, source_changed: bool) -> bool:
    # Another database knows other rows: then no share of the nodes is small enough.
    percent = 0 if source_changed else guard.max_percent
    return not guard.disabled and count > guard.max_count and count * 100 > percent * total


def held_message(
    verdict: GuardVerdict, guard: DeletionGuard, *, source_changed: bool = False
) -> str:
    """Return the sentence of `DeletionHeld`; it ends with the number of nodes and the digest."""
    count = len(verdict.names)
    nodes = "1 node" if count == 1 else f"{count} nodes"
    if source_changed:
        limit = f"after a change of the source no more than {guard.max_count} go unasked"
    else:
        limit = f"the limits are {guard.max_count} nodes and {guard.max_percent} %"
    return (
        f"the rows of {count} of {verdict.total} nodes have vanished, and {limit}; none is removed "
        f"until the annotation {ANNOTATION_APPROVE_DELETION} approves {nodes}, {verdict.digest}"
    )
