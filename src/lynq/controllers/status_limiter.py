"""Limits how often the status of a hub or form is written, and backs off on conflicts."""

import asyncio

from lynq.controllers.timing import DEFAULT_TIMING, Timing


class StatusLimiter:
    """The time of the next status write of one object."""

    __slots__ = ("_conflicts", "_next_write", "_timing")

    def __init__(self, timing: Timing = DEFAULT_TIMING) -> None:
        self._timing = timing
        self._next_write: float | None = None
        self._conflicts = 0

    @property
    def wait(self) -> float:
        """Seconds until the next write is allowed; 0 or less: now."""
        return 0.0 if self._next_write is None else self._next_write - _loop_time()

    def mark_written(self) -> None:
        """Postpone the next write by the write interval."""
        self._next_write = _loop_time() + self._timing.status_write_interval

    def backoff_conflict(self) -> float:
        """Postpone the next write after a conflict; return the seconds until then.

        The cache does not have the new version of the object yet.
        """
        delay = self._timing.status_conflict_backoff.delay(self._conflicts)
        self._next_write = _loop_time() + delay
        self._conflicts += 1
        return self.wait

    def reset(self) -> None:
        """Reset the back-off after a successful write."""
        self._conflicts = 0


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
