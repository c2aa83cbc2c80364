"""What travels through the transport, and the shape of the hooks that see it pass."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the API server, before credentials are added."""

    verb: str
    """What the caller wants: "get", "apply", "watch" …, for messages and interceptors."""
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    timeout: float | None = None
    """Seconds for the whole answer, or of silence in a stream; None: the client's default."""
    repeatable: bool = False
    """Sending it twice leaves the cluster, and the answer, as sending it once would."""
    stream: bool = False
    """The answer is read as it comes, and takes no place among the requests in flight."""

    @property
    def writes(self) -> bool:
        """Whether the fence has a say."""
        return self.method != "GET"


def _nothing() -> None: ...


@dataclass(frozen=True, slots=True)
class Response:
    """An answer: whole in `body`, or for a stream that succeeded as it comes in `chunks`."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)
    chunks: AsyncIterator[bytes] | None = None
    close: Callable[[], None] = _nothing
    """Gives the connection of a stream back; whoever reads the stream calls it."""


Send: TypeAlias = Callable[[Request], Awaitable[Response]]

Interceptor: TypeAlias = Callable[[Request, Send], Awaitable[Response]]
"""A middleware around every attempt, retries and watches too: may delay, alter, fail or count."""

Fence: TypeAlias = Callable[[], None]
"""Raises `errors.Fenced` when writes must not be sent any more."""
