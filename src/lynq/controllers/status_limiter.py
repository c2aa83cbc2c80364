"""How often the status of a hub or form is written: seldom, and more so while it is refused."""

import asyncio

from lynq.controllers.timing import DEFAULT_TIMING, Timing


class StatusLimiter:
    """When the status of one object may be written again."""

    __slots__ = ("_conflicts", "_due", "_timing")

    def __init__(self, timing: Timing = DEFAULT_TIMING) -> None:
        self._timing = timing
        self._due: float | None = None
        self._conflicts = 0

    @property
    def wait(self) -> float:
        """How many seconds the next write has to wait; 0 or less: none."""
        return 0.0 if self._due is None else self._due - _now()

    def rest(self) -> None:
        """Put the next write off, as after every one."""
        self._due = _now() + self._timing.status_write_interval

    def fall_behind(self) -> float:
        """Put it off because somebody changed the object and the cache does not know yet."""
        self._due = _now() + self._timing.status_conflict_backoff.delay(self._conflicts)
        self._conflicts += 1
        return self.wait

    def catch_up(self) -> None:
        """Take note that a write was taken: the cache is not behind any more."""
        self._conflicts = 0


def _now() -> float:
    return asyncio.get_running_loop().time()
