"""Reads a watch stream as typed events.

One line is one event; chunks can end anywhere, also inside of a character. The iterator ends when
the API server ends the watch, which it does every few minutes; the caller resumes from the last
resourceVersion. Errors are raised, 410 as `Gone`.
"""

from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic

import msgspec
import structlog
from msgspec import Struct

from lynq.api.wire import Wire
from lynq.kube import errors
from lynq.kube.codec import T, decode
from lynq.kube.requests import Request
from lynq.kube.resource import PartialObject
from lynq.kube.transport import Transport

_log = structlog.get_logger(__name__)

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
"""The annotation of the bookmark at the end of a streamed list."""


class EventType(Enum):
    """The type of a watch event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class WatchEvent(Struct, Generic[T], frozen=True):
    """A change of an object; `object` is its new state, or the last state before its deletion."""

    type: EventType
    object: T


@dataclass(frozen=True, slots=True)
class Bookmark:
    """All events up to this resourceVersion have been sent.

    A type of its own, because its object contains only the version and cannot be decoded to a
    struct with required fields.
    """

    resource_version: str
    initial_events_end: bool = False
    """Whether the streamed list is complete; changes follow."""


class _Envelope(Wire, frozen=True):
    type: str
    object: msgspec.Raw


class LineSplitter:
    """Splits a stream of chunks into lines of bounded size, in linear time."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pending: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that this chunk completes, without line ends and empty lines."""
        head, newline, rest = chunk.partition(b"\n")
        while newline:
            self._append(head)
            if line := b"".join(self._pending):
                yield line
            self._pending, self._size = [], 0
            head, newline, rest = rest.partition(b"\n")
        self._append(head)

    def _append(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            raise errors.ResponseTooLarge(f"an event is larger than {self._limit} bytes")
        if part:
            self._pending.append(part)

    @property
    def unfinished(self) -> bool:
        """Whether the stream stopped inside a line."""
        return self._size > 0


async def watch_events(
    transport: Transport,
    request: Request,
    into: type[T],
    on_open: Callable[[], None] | None = None,
) -> AsyncGenerator[WatchEvent[T] | Bookmark, None]:
    """Send a watch request and yield its events until the API server ends it or falls silent."""
    response = await transport.send(request)
    lines = LineSplitter(transport.options.max_event)
    try:
        if response.chunks is None:
            raise errors.UnexpectedResponse(f"watch {request.path}: the response is not a stream")
        if on_open:
            on_open()
        async for chunk in response.chunks:
            for line in lines.feed(chunk):
                yield _event(line, into, request)
    except errors.TimedOut:
        # The caller resumes from the last resourceVersion over another connection.
        _log.info("watch silent, opening it again", path=request.path)
        return
    finally:
        response.close()
    if lines.unfinished:
        raise errors.ConnectionFailed(f"watch {request.path}: ended inside an event")


def _event(line: bytes, into: type[T], request: Request) -> WatchEvent[T] | Bookmark:
    what = f"watch {request.path}"
    envelope = decode(line, _Envelope, what=what, level=1)
    match envelope.type:
        case "ERROR":
            status = decode(envelope.object, errors.Status, what=what)
            raise errors.from_status(status, verb=request.verb, path=request.path)
        case "BOOKMARK":
            return _bookmark(decode(envelope.object, PartialObject, what=what))
        case _:
            return WatchEvent(_type(envelope.type, what), decode(envelope.object, into, what=what))


def _bookmark(partial: PartialObject) -> Bookmark:
    ended = partial.metadata.annotations.get(INITIAL_EVENTS_END) == "true"
    return Bookmark(partial.metadata.resource_version, ended)


def _type(name: str, what: str) -> EventType:
    try:
        return EventType(name)
    except ValueError:
        raise errors.UnexpectedResponse(f"{what}: an event with an unknown type") from None
