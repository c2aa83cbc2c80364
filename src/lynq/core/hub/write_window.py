"""How many writes of one hub may be in flight. Pure: durations are arguments.

A hub with a thousand rows keeps as many writes in flight as it may. An API server that answers
quickly is used fully that way. A loaded one answers none of them sooner: they only wait there, and
each write of another hub waits behind them. The window follows the answers, as the window of a TCP
connection does: it is halved when writes wait for each other, and grows by one with each write that
does not.

A write has waited for others if it took a quarter longer than the quickest one. Writes that take
as long in the smallest window do not wait for each other: a webhook delays them, and a small window
would only add to that.

All hubs write to the same API server. So they share one window: each learns from the answers that
the others got.

Nodes are written no faster than they are reconciled. The order of writes is that of the plan, in
which new writes alternate with those that wait; written nodes are reconciled in the order of their
writes. A thousand nodes that wait for their reconcile would delay each change behind them.
"""

import math
from dataclasses import dataclass
from typing import Final

MAX_WINDOW: Final = 32
"""Number of writes in flight while the API server answers quickly."""
MIN_WINDOW: Final = 2
"""Number of writes in flight, however long they take."""
_FIRST_WINDOW: Final = 4
"""Number of writes in flight before the first answer, which shows how long a write takes."""
TOLERANCE: Final = 1.25
"""How many times as long as the quickest write one may take that did not wait."""
SHORT_WRITE: Final = 0.2
"""Seconds up to which no write counts as waiting. A row of another hub needs four writes."""


@dataclass(slots=True)
class WriteWindow:
    """The number of writes that may be in flight at the same time."""

    size: int = _FIRST_WINDOW
    _quickest: float = math.inf
    """Seconds of a write that did not wait for others."""
    _stale: int = 0
    """Number of answers to come for writes that were sent before the last cut."""

    def limit(self, backlog: int, max_backlog: int) -> int:
        """Return how many writes may be in flight while nodes wait for their reconcile."""
        return max(0, min(self.size, max_backlog - backlog))

    def record(self, seconds: float) -> None:
        """Record the duration of a write that was answered."""
        is_stale = self._stale > 0
        self._stale = max(0, self._stale - 1)
        self._quickest = min(self._quickest, seconds)
        if seconds <= max(SHORT_WRITE, TOLERANCE * self._quickest):
            self.size = min(MAX_WINDOW, self.size + 1)
        elif is_stale:
            return
        elif self.size > MIN_WINDOW:
            self._stale = self.size
            self.size = max(MIN_WINDOW, self.size // 2)
        else:
            self._quickest = seconds
