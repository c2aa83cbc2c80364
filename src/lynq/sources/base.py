"""What every engine offers: rows to read, and word of changes."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from lynq.sources.query import Query
from lynq.sources.read import Reading


class Source(Protocol):
    """A database whose tables can be read, any number of times, until it is closed."""

    def read(self, query: Query) -> Reading:
        """Return the active rows at one moment, as pages to iterate over; nothing happens yet."""

    async def close(self) -> None:
        """Let go of every connection; running readings fail."""


class SourceChangeKind(Enum):
    """What a push channel can say."""

    CONNECTED = "connected"
    """The channel is up. An ARRIVED follows, for what may have been missed before."""
    ARRIVED = "arrived"
    """The table may have changed, once or many times: read it."""
    LOST = "lost"
    """The channel cannot be relied on: polling is all there is until it is CONNECTED again."""


@dataclass(frozen=True, slots=True)
class SourceChange:
    """One word from a push channel."""

    kind: SourceChangeKind
    reason: str = ""
    """Why the channel was lost, in one word: the name of the error's type."""
    message: str = ""
    """The same for people: what happened and what to do; safe to show."""


class ChangeStream(Protocol):
    """Word from a push channel, for as long as the `async with open_changes(...)` lasts.

    The channel reconnects by itself, with back-off. The iteration never ends on its own.
    """

    def __aiter__(self) -> "ChangeStream":
        """Return itself: there is one hub at the other end."""

    async def __anext__(self) -> SourceChange:
        """Wait for the next word. At most one of each kind waits to be taken, the latest."""
