"""The tables of a database server, read over a pool of connections kept between reads."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeVar

from lynq.sources.deadline import Deadline
from lynq.sources.errors import Endpoint
from lynq.sources.pool import Pool
from lynq.sources.query import Query
from lynq.sources.read import Reading, ReadResult
from lynq.sources.settings import MySQLSettings, PostgreSQLSettings

C = TypeVar("C")


class Cursor(ReadResult, Protocol):
    """A result inside a transaction that the connection has begun."""

    async def begin(self, query: Query) -> None:
        """Run the query, up to its first row."""

    async def end(self) -> None:
        """End the transaction, so that the server can forget the snapshot."""


class ServerSource(Generic[C]):
    """The tables of one database of a server."""

    def __init__(
        self,
        settings: MySQLSettings | PostgreSQLSettings,
        *,
        connect: Callable[[], Awaitable[C]],
        begin: Callable[[C], Awaitable[None]],
        discard: Callable[[C], None],
        cursor: Callable[[C, Deadline, Query], Cursor],
    ) -> None:
        self._settings = settings
        self._cursor = cursor
        # To begin the transaction of a reading shows whether an idle connection still lives.
        self._pool = Pool(
            settings.place,
            connect=connect,
            greet=begin,
            discard=discard,
            size=settings.pool_size,
            lifetime=settings.pool_lifetime,
            patience=settings.connect_timeout,
        )

    @property
    def place(self) -> Endpoint:
        """Where it is."""
        return self._settings.place

    def read(self, query: Query) -> Reading:
        """Return the active rows at one moment; nothing happens yet."""
        return Reading(self.place, query, self._run)

    async def close(self) -> None:
        """Let go of every connection; running readings fail."""
        self._pool.close()

    @asynccontextmanager
    async def _run(self, query: Query) -> AsyncIterator[Cursor]:
        async with self._pool.lend() as connection:
            deadline = Deadline(self._settings.query_timeout, self.place, query.table)
            cursor = self._cursor(connection, deadline, query)
            await cursor.begin(query)
            yield cursor
            await cursor.end()
