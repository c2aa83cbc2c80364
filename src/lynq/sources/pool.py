"""A bounded pool of connections, kept between reads.

A connection that has seen trouble of any kind, a reading that was given up included, is never
lent again. One that has been idle may have died meanwhile without a word: it is greeted before it
is lent, and if it does not answer a new one takes its place.

The tables of a database server, read over a pool of connections kept between reads.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeVar

from lynq.sources.errors import (
    Endpoint,
    Interrupted,
    SourceConnectionFailed,
    SourceTimedOut,
    TooManyConnections,
)
from lynq.sources.query import Query
from lynq.sources.read import Deadline, Reading, ReadResult
from lynq.sources.settings import MySQLSettings, PostgreSQLSettings

C = TypeVar("C")


class Pool(Generic[C]):
    """Lends connections, at most `size` at a time."""

    def __init__(
        self,
        place: Endpoint,
        *,
        connect: Callable[[], Awaitable[C]],
        greet: Callable[[C], Awaitable[None]],
        discard: Callable[[C], None],
        size: int,
        lifetime: float,
        patience: float,
    ) -> None:
        self._place = place
        self._connect = connect
        self._greet = greet
        self._discard = discard
        self._size = size
        self._lifetime = lifetime
        self._patience = patience
        self._free = asyncio.Semaphore(size)
        self._born: dict[C, float] = {}
        """All open connections, lent or idle, and when they were made."""
        self._idle: list[C] = []
        self._closed = False

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[C]:
        """Lend a connection that has just answered; it comes back only if the block succeeds."""
        await self._wait()
        try:
            connection = await self._answering()
            try:
                yield connection
            except BaseException:
                self._drop(connection)
                raise
            self._take_back(connection)
        finally:
            self._free.release()

    def close(self) -> None:
        """Close all connections, those that are lent included."""
        self._closed = True
        self._idle.clear()
        for connection in list(self._born):
            self._drop(connection)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError:
            raise TooManyConnections(
                f"all {self._size} connections that this source may hold are in use",
                place=self._place,
            ) from None

    async def _answering(self) -> C:
        while connection := self._youngest():
            try:
                return await self._greeted(connection)
            except (SourceConnectionFailed, Interrupted, SourceTimedOut):
                continue
        self._check_open()
        connection = await self._connect()
        self._born[connection] = asyncio.get_running_loop().time()
        return await self._greeted(connection)

    def _youngest(self) -> C | None:
        """Take an idle connection, and drop on the way those that have lived long enough."""
        while self._idle:
            connection = self._idle.pop()
            if not self._outlived(connection):
                return connection
            self._drop(connection)
        return None

    async def _greeted(self, connection: C) -> C:
        try:
            self._check_open()
            await self._greet(connection)
        except BaseException:
            self._drop(connection)
            raise
        return connection

    def _take_back(self, connection: C) -> None:
        if self._closed or self._outlived(connection):
            self._drop(connection)
        else:
            self._idle.append(connection)

    def _outlived(self, connection: C) -> bool:
        age = asyncio.get_running_loop().time() - self._born[connection]
        return age > self._lifetime

    def _drop(self, connection: C) -> None:
        if self._born.pop(connection, None) is not None:
            self._discard(connection)

    def _check_open(self) -> None:
        if self._closed:
            raise SourceConnectionFailed("the source has been closed", place=self._place)


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
