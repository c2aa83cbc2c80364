"""The clockwork of a push channel: how often it may wake the hub, when it tries again."""

import random
from dataclasses import dataclass

# Past this exponent every sensible first delay has met the longest; 2.0**1024 would overflow.
_LAST_DOUBLING = 60
_LEAST_JITTER = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTiming:
    """Seconds, all of them."""

    interval: float = 2.0
    """Between two wake-ups at least; the first one of a burst comes at once."""
    first_retry: float = 0.5
    """Before a lost channel is set up again; doubled with every failure."""
    longest_retry: float = 30.0
    """Between two attempts at most."""
    steady: float = 60.0
    """That a channel must have lasted for the next retry to be a first one again."""
    silence: float = 15.0
    """Without a sign of life after which a connection counts as dead."""
    look: float = 0.025
    """Between two looks at a SQLite file."""

    def retry(self, failures: int) -> float:
        """Return how long to wait after that many failures in a row (0: the first one).

        A server that comes back is met by all its hubs, so half of the delay is left to chance.
        """
        delay = min(self.longest_retry, self.first_retry * 2.0 ** min(failures, _LAST_DOUBLING))
        return delay * random.uniform(_LEAST_JITTER, 1.0)  # noqa: S311 - no secret
