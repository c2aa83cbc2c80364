"""How long to wait before the next try: exponential, capped, with jitter.

Pure: it counts nothing and reads no clock. Whoever retries keeps the number of failures.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

# Beyond this exponent every sensible base has met its cap; 2.0**1024 would overflow.
_LAST_DOUBLING = 60


@dataclass(frozen=True, slots=True)
class Backoff:
    """`base`, doubled with every failure up to `cap`, stretched by up to `jitter` of itself."""

    base: float
    cap: float
    jitter: float = 0.0
    chance: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        """Refuse what would spin or go back in time."""
        if not 0 < self.base <= self.cap or self.jitter < 0:
            raise ValueError(f"back-off needs 0 < base <= cap and jitter >= 0, not {self}")

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after that many failures in a row (0: the first one)."""
        grown = self.base * 2.0 ** min(failures, _LAST_DOUBLING)
        return min(grown, self.cap) * (1 + self.jitter * self.chance())
