"""The result of a readiness rule, and the deadline for an object to become ready."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from msgspec import Struct

from lynq.api.reasons import ReadinessReason
from lynq.api.wire import parse_rfc3339
from lynq.core.readiness.fields import bounded_line


class ReadinessState(Enum):
    """Whether an object is ready."""

    READY = "ready"
    NOT_READY = "not ready"
    """Not yet, or no longer; the object may still become ready."""
    FAILED = "failed"
    """The object will not become ready: it failed, or its controller reports Stalled."""


class Readiness(Struct, frozen=True):
    """Whether an object is ready, and if not, why not."""

    state: ReadinessState
    reason: str
    """One CamelCase word."""
    message: str
    """One line of at most 300 characters; empty if the object is ready."""

    @property
    def is_ready(self) -> bool:
        """Whether dependents of the object may be applied."""
        return self.state is ReadinessState.READY


READY: Final = Readiness(ReadinessState.READY, str(ReadinessReason.READY), "")


def not_ready(reason: str, message: str) -> Readiness:
    """Return that the object is not ready yet."""
    return Readiness(ReadinessState.NOT_READY, str(reason), bounded_line(message))


def failed(reason: str, message: str) -> Readiness:
    """Return that the object failed."""
    return Readiness(ReadinessState.FAILED, str(reason), bounded_line(message))


NOT_OBSERVED: Final = not_ready(
    ReadinessReason.GENERATION_NOT_OBSERVED, "latest generation is not observed yet"
)

_DEFAULT_TIMEOUT: Final = 300


@dataclass(frozen=True, slots=True)
class Countdown:
    """The time that an object has taken to become ready, and its timeout."""

    elapsed: float
    """Seconds since the current manifest was first applied, or since the loss of readiness."""
    timeout: int
    """Seconds until the object counts as failed."""

    @property
    def remaining(self) -> float:
        """Seconds until the deadline; 0 once it has passed."""
        return max(0.0, self.timeout - self.elapsed)

    @property
    def has_expired(self) -> bool:
        """Whether the deadline has passed or is reached."""
        return self.elapsed >= self.timeout


def countdown(
    started: str,
    timeout_seconds: int,
    *,
    now: datetime,
    default_start: datetime,
    lost_at: datetime | None = None,
) -> Countdown:
    """Return the countdown of an object whose annotation lynq.sh/apply-start-time is `started`.

    `default_start` replaces an annotation that is missing or malformed. A start in the future is
    clock skew between machines and counts as now. A timeout of 0 means 300 seconds. An object that
    has lost its readiness at `lost_at` has its whole timeout again.
    """
    start = parse_rfc3339(started) or default_start
    elapsed = now - (max(start, lost_at) if lost_at else start)
    timeout = timeout_seconds if timeout_seconds > 0 else _DEFAULT_TIMEOUT
    return Countdown(max(0.0, elapsed.total_seconds()), timeout)
