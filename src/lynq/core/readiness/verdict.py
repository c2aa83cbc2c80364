"""What is said about an object: ready, not ready or failed, with a word and a sentence.

How long an object may still take to become ready. The time is an argument.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum

from lynq.api.wire import parse_rfc3339
from lynq.core.readiness.fields import bounded_line


class ReadinessState(Enum):
    """How an object stands."""

    READY = "ready"
    NOT_READY = "not ready"
    """Not yet, or no longer; it may still become ready."""
    FAILED = "failed"
    """Waiting longer is no use: the object itself, or its controller, has given up."""


class ReadinessReason(StrEnum):
    """The words of our own for why an object is not ready.

    Where another controller has given a reason that says more, it stands in place of ours.
    """

    READY = "Ready"
    DELETING = "Deleting"
    GENERATION_NOT_OBSERVED = "GenerationNotObserved"
    REPLICAS_NOT_READY = "ReplicasNotReady"
    REPLICA_FAILURE = "ReplicaFailure"
    PROGRESS_DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"
    PAUSED = "Paused"
    POD_NOT_READY = "PodNotReady"
    POD_FAILED = "PodFailed"
    JOB_NOT_COMPLETE = "JobNotComplete"
    JOB_SUSPENDED = "JobSuspended"
    JOB_FAILED = "JobFailed"
    NO_ADDRESS = "NoAddress"
    CLAIM_NOT_BOUND = "ClaimNotBound"
    NAMESPACE_NOT_ACTIVE = "NamespaceNotActive"
    UNABLE_TO_SCALE = "UnableToScale"
    NOT_ESTABLISHED = "NotEstablished"
    NAMES_NOT_ACCEPTED = "NamesNotAccepted"
    STALLED = "Stalled"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"
    CONDITION_MISSING = "ConditionMissing"


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether an object is ready, and if not, why not."""

    state: ReadinessState
    reason: str
    """One CamelCase word, for scripts."""
    message: str
    """One line of at most 300 characters, for people; empty for what is ready."""

    @property
    def is_ready(self) -> bool:
        """Whether what depends on the object may start."""
        return self.state is ReadinessState.READY


READY = Readiness(ReadinessState.READY, str(ReadinessReason.READY), "")


def not_ready(reason: str, message: str) -> Readiness:
    """Say what an object still waits for."""
    return Readiness(ReadinessState.NOT_READY, str(reason), bounded_line(message))


def failed(reason: str, message: str) -> Readiness:
    """Say why waiting for an object is no use."""
    return Readiness(ReadinessState.FAILED, str(reason), bounded_line(message))


NOT_OBSERVED = not_ready(
    ReadinessReason.GENERATION_NOT_OBSERVED, "the newest generation is not observed yet"
)


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
