"""How often the status of a hub or form is written: seldom, and more so while it is refused."""

import asyncio
from typing import Final

from lynq.kube import Backoff

_PACE: Final = 1.0
"""Seconds between two writes at least: ten thousand nodes becoming ready are a few writes."""
_BEHIND: Final = Backoff(base=0.05, cap=5.0)
"""Seconds until the next try while the cache is behind: as a rule a moment, but a watch that is cut
stays so for longer, and must not have the same write refused twenty times a second."""


class StatusLimiter:
    """When the status of one object may be written again."""

    __slots__ = ("_conflicts", "_due")

    def __init__(self) -> None:
        self._due: float | None = None
        self._conflicts = 0

    @property
    def wait(self) -> float:
        """How many seconds the next write has to wait; 0 or less: none."""
        return 0.0 if self._due is None else self._due - _now()

    def rest(self) -> None:
        """Put the next write off, as after every one."""
        self._due = _now() + _PACE

    def fall_behind(self) -> float:
        """Put it off because somebody changed the object and the cache does not know yet."""
        self._due = _now() + _BEHIND.delay(self._conflicts)
        self._conflicts += 1
        return self.wait

    def catch_up(self) -> None:
        """Take note that a write was taken: the cache is not behind any more."""
        self._conflicts = 0


def _now() -> float:
    return asyncio.get_running_loop().time()
