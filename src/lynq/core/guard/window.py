"""The deletions of a hub within the guard's window, as its status counts them.

The guard counts the deletions of a window together, or a table that is emptied row by row would
lose every tenant. Their number is part of the hub's status, and it is written before a node is
deleted: whatever a crash interrupts, every deletion that was sent is counted.

Deletions are counted per period, a tenth of the window. A period counts until all of it is older
than the window, so no deletion is forgotten early. A node that was counted and still exists is
counted again by the next attempt, and taken off the period of the last one; the status has a short
digest of its uid for that. A node whose digest is not in the status counts twice. Every
approximation overstates the number of deletions.
"""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from lynq.api import DeletionGuardStatus, DeletionPeriod
from lynq.api.hub import MAX_DELETION_PERIODS

_PERIODS: Final = 10
"""Number of periods of a window."""
_MIN_PERIOD: Final = timedelta(seconds=1)
_DIGITS: Final = 8
"""Hexadecimal digits of a uid's digest."""
_MAX_DIGESTS: Final = 5000
"""Number of uids that the status remembers."""


@dataclass(frozen=True, slots=True)
class CountedDeletions:
    """The deletions of the window that ends now."""

    periods: tuple[DeletionPeriod, ...] = ()
    """The oldest first."""

    @classmethod
    def within(
        cls, status: DeletionGuardStatus | None, window: timedelta, now: datetime
    ) -> "CountedDeletions":
        """Return the deletions that count at this time."""
        if status is None:
            return cls()
        # A clock that was set back must not make a period count for longer than a window.
        longest = now + period_length(window) + _MIN_PERIOD
        periods = (replace(period, until=min(period.until, longest)) for period in status.periods)
        return cls(tuple(period for period in periods if period.until > now - window))

    @property
    def count(self) -> int:
        """Number of deletions."""
        return sum(period.deleted for period in self.periods)

    def uncounted(self, uids: Iterable[str]) -> int:
        """Return how many of these nodes are not counted yet."""
        digests = self._digests()
        return sum(_digest(uid) not in digests for uid in uids)

    def nodes_at_start(self, nodes: int, uids: Collection[str]) -> int:
        """Return the number of nodes against which deletions are compared.

        That is the number at the beginning of the window, without those that have gone since for
        another reason: with their form, with an approval, or by hand. `nodes` is the number of
        nodes now, including those to delete, which have these `uids`.
        """
        if not self.periods:
            return nodes
        attempted_before = len(uids) - self.uncounted(uids)
        return min(self.periods[0].nodes, nodes + self.count - attempted_before)

    def add(
        self, uids: Collection[str], *, nodes: int, window: timedelta, now: datetime
    ) -> "CountedDeletions":
        """Count deletions that are sent now; unchanged if the current period has all of them."""
        digests = {_digest(uid) for uid in uids}
        current = self.periods[-1] if self.periods and self.periods[-1].until > now else None
        if current:
            digests -= _digests_of(current)
        if not digests:
            return self
        earlier = [_without(period, digests) for period in self.periods]
        if current is None and len(earlier) < MAX_DELETION_PERIODS:
            earlier.append(DeletionPeriod(until=_end(window, now), nodes=nodes))
        elif current is None:
            earlier[-1] = replace(earlier[-1], until=_end(window, now))
        latest = earlier[-1]
        room = max(_MAX_DIGESTS - len(self._digests()), 0)
        earlier[-1] = replace(
            latest,
            deleted=latest.deleted + len(digests),
            uids=latest.uids + "".join(sorted(digests)[:room]),
        )
        return CountedDeletions(tuple(period for period in earlier if period.deleted))

    def _digests(self) -> set[str]:
        return {digest for period in self.periods for digest in _digests_of(period)}


def period_length(window: timedelta) -> timedelta:
    """Return the length of the periods of a window."""
    return max(window / _PERIODS, _MIN_PERIOD)


def _end(window: timedelta, now: datetime) -> datetime:
    # The status has whole seconds: rounded up, so that no deletion is forgotten early.
    return (now + period_length(window)).replace(microsecond=0) + _MIN_PERIOD


def _without(period: DeletionPeriod, digests: Collection[str]) -> DeletionPeriod:
    own = _digests_of(period)
    left = [digest for digest in own if digest not in digests]
    if len(left) == len(own):
        return period
    deleted = period.deleted - (len(own) - len(left))
    return replace(period, deleted=deleted, uids="".join(left))


def _digests_of(period: DeletionPeriod) -> set[str]:
    uids = period.uids
    return {uids[start : start + _DIGITS] for start in range(0, len(uids), _DIGITS)}


def _digest(uid: str) -> str:
    return hashlib.sha256(uid.encode()).hexdigest()[:_DIGITS]
