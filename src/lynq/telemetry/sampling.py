"""Keeps a message that repeats itself from filling the log, by the rule of zap's sampler."""

import time
from collections.abc import Callable
from typing import Final

_FIRST: Final = 100
_THEREAFTER: Final = 100


class Sampler:
    """Lets the first hundred equal messages of a second pass, and of the rest every hundredth."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._second = -1
        # Forgotten every second, so it cannot grow without messages growing with it.
        self._seen: dict[tuple[str, str], int] = {}

    def passes(self, level: str, message: str) -> bool:
        """Return whether this message is to be written."""
        second = int(self._clock())
        if second != self._second:
            self._second = second
            self._seen = {}
        count = self._seen[level, message] = self._seen.get((level, message), 0) + 1
        return count <= _FIRST or (count - _FIRST) % _THEREAFTER == 0
