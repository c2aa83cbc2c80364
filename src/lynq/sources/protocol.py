"""What every engine offers: rows to read, and word of changes."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from lynq.sources.errors import Place
from lynq.sources.query import Query
from lynq.sources.rows import Reading


class Source(Protocol):
    """A database whose tables can be read, any number of times, until it is closed."""

    @property
    def place(self) -> Place:
        """Where it is."""

    def read(self, query: Query) -> Reading:
        """Return the active rows at one moment, as pages to iterate over; nothing happens yet."""

    async def close(self) -> None:
        """Let go of every connection; running readings fail."""


class ChangeKind(Enum):
    """What a push channel can say."""

    CONNECTED = "connected"
    """The channel is up. Changes made before may have been missed: read once."""
    ARRIVED = "arrived"
    """Something in the table has changed, once or many times."""
    LOST = "lost"
    """The channel is down: polling is all there is until it is CONNECTED again."""


@dataclass(frozen=True, slots=True)
class Change:
    """One word from a push channel."""

    kind: ChangeKind
    reason: str = ""
    """Why the channel was lost; safe to show."""


class Changes(Protocol):
    """A push channel: it reconnects by itself, with back-off, until it is closed."""

    def __aiter__(self) -> AsyncIterator[Change]:
        """Yield what happens, coalesced: never more than one ARRIVED waits to be taken."""

    async def close(self) -> None:
        """End the channel, and with it the iteration."""
