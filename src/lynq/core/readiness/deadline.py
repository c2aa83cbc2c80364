"""How long an object may still take to become ready. The time is an argument."""

from dataclasses import dataclass
from datetime import datetime

from lynq.api.wire import parse_rfc3339

_DEFAULT_TIMEOUT = 300


@dataclass(frozen=True, slots=True)
class Countdown:
    """How long an object has taken so far, and how long it may take."""

    elapsed: float
    """Seconds since the present manifest was first written."""
    timeout: int
    """Seconds that it may take."""

    @property
    def remaining(self) -> float:
        """Seconds until the deadline: when to look again at the latest; 0 once it has passed."""
        return max(0.0, self.timeout - self.elapsed)

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed; the very moment counts as passed."""
        return self.elapsed >= self.timeout


def countdown(
    started: str, timeout_seconds: int, *, now: datetime, otherwise: datetime
) -> Countdown:
    """Return the countdown of an object whose annotation lynq.sh/apply-start-time is `started`.

    `otherwise` stands in for an annotation that is missing or was made unreadable. A start in the
    future is another machine's clock going ahead, and counts as now. No timeout means 300 seconds.
    """
    elapsed = now - (parse_rfc3339(started) or otherwise)
    timeout = timeout_seconds if timeout_seconds > 0 else _DEFAULT_TIMEOUT
    return Countdown(max(0.0, elapsed.total_seconds()), timeout)
