"""When rows, forms and entries of a random history were absent, and what that permits.

A removal is remembered until the next convergence, because the operator may be down or behind. A
removal that ends before `confirmAfter` is none: a row that is inserted again, a form that is
replaced.
"""

import math
import time
from dataclasses import dataclass, field

from faults.history_recorder import Period

CONFIRM_AFTER = 2.0
"""Seconds of `spec.deletionGuard.confirmAfter`."""
UNSEEN = 4.0
"""Seconds for which a row may be present without a read that has it."""


@dataclass(slots=True)
class ReadClock:
    """A clock that stands still while the table is away or the hub paused: nothing is read."""

    _unread: float = 0.0
    _stopped: dict[str, float] = field(default_factory=dict)

    def now(self) -> float:
        return min([time.monotonic(), *self._stopped.values()]) - self._unread

    def stop(self, why: str) -> None:
        self._stopped[why] = time.monotonic()

    def go_on(self, why: str) -> None:
        """End one reason; the clock goes on when there is none."""
        first = min(self._stopped.values())
        del self._stopped[why]
        self._unread += min([time.monotonic(), *self._stopped.values()]) - first


@dataclass(slots=True)
class Removal:
    """The absence of a row, form or place."""

    period: Period
    confirm: float
    """Seconds after which its objects may be deleted."""
    back_at: float = math.inf
    """When it was back, by the clock of reads."""


class Removals:
    """When rows, forms and places of the form were absent since the last convergence."""

    def __init__(self, clock: ReadClock) -> None:
        self._clock = clock
        self._removals: dict[tuple[str, object], list[Removal]] = {}

    def begin(self, what: str, name: object, *, confirm: float = CONFIRM_AFTER) -> None:
        """Record that something is removed now; it may be deleted `confirm` seconds later."""
        removals = self._removals.setdefault((what, name), [])
        if removals and self._clock.now() - removals[-1].back_at < UNSEEN:
            # No read may have seen that it was back.
            last = removals.pop()
            removals.append(Removal(Period(last.period.since), min(confirm, last.confirm)))
        else:
            removals.append(Removal(Period(time.monotonic()), confirm))

    def end(self, what: str, name: object) -> None:
        """Record that something is back."""
        for removal in self._removals.get((what, name), ()):
            removal.period.until = min(removal.period.until, time.monotonic())
            removal.back_at = min(removal.back_at, self._clock.now())

    def permit(self, what: str, name: object, at: float) -> bool:
        """Return whether its objects may be deleted at this time."""
        return any(
            removal.period.since + removal.confirm <= at
            and removal.period.until - removal.period.since >= removal.confirm
            for removal in self._removals.get((what, name), ())
        )

    def forget(self) -> None:
        """Forget what is back: its objects exist again."""
        for name, removals in self._removals.items():
            self._removals[name] = [item for item in removals if item.back_at == math.inf]
