"""Exponential back-off with a cap and jitter.

Pure: the caller counts the failures and waits.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

# A larger exponent would overflow; every practical base has reached its cap before.
_MAX_DOUBLINGS = 60


@dataclass(frozen=True, slots=True)
class Backoff:
    """`base`, doubled with every failure up to `cap`, stretched by up to `jitter` of itself."""

    base: float
    cap: float
    jitter: float = 0.0
    random: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        """Reject values that would make a busy loop or a negative delay."""
        if not 0 < self.base <= self.cap or self.jitter < 0:
            raise ValueError(f"a back-off requires 0 < base <= cap and jitter >= 0, got {self}")

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after this failure; `failures` counts those before it."""
        delay = self.base * 2.0 ** min(failures, _MAX_DOUBLINGS)
        return min(delay, self.cap) * (1 + self.jitter * self.random())
