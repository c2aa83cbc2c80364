"""The limits that a client keeps."""

from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from lynq.kube.backoff import Backoff

_MIB = 1024 * 1024


def _user_agent() -> str:
    try:
        return f"lynq/{version('lynq')}"
    except PackageNotFoundError:
        return "lynq/unreleased"


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """How long to wait, how much to hold, how often to try; seconds and bytes."""

    timeout: float = 30.0
    """For one attempt, from the first byte sent to the last one received."""
    connect_timeout: float = 5.0
    """For the connection alone: name, socket, proxy, TLS. It passes between the fence's yes and the
    first byte sent, so it stays within what a lease keeps in reserve (duration less renew
    deadline)."""
    max_in_flight: int = 64
    """Requests under way at once; watches do not count."""
    max_response: int = 64 * _MIB
    max_event: int = 16 * _MIB
    """One event of a watch; etcd's limit on an object is a tenth of that."""
    attempts: int = 5
    backoff: Backoff = field(default_factory=lambda: Backoff(base=0.1, cap=5.0, jitter=1.0))
    patience: float = 30.0
    """The longest Retry-After that is waited for; past it the error goes to the caller."""
    user_agent: str = field(default_factory=_user_agent)
