"""A bounded pool of connections to a database server, and the source that reads over it.

A connection on which anything failed, an abandoned read included, is never reused. An idle
connection may be dead: it is pinged before use, and replaced if it does not answer. The ping costs
no round trip of its own, because it begins the transaction of the read.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
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
from lynq.sources.settings import ServerSettings
from lynq.sources.statement import check_statement


class Cursor(ReadResult, Protocol):
    """The result of a query inside the transaction of its connection."""

    async def execute(self) -> None:
        """Run the query up to its first row."""

    async def commit(self) -> None:
        """End the transaction, so that the server can drop the snapshot."""


class PooledConnection(Protocol):
    """A connection as the pool needs it."""

    async def begin(self) -> None:
        """Begin a read-only transaction; raise if the connection is dead."""

    def close(self) -> None:
        """Close the connection at once."""


class ServerConnection(PooledConnection, Protocol):
    """A connection of a database server's engine."""

    def cursor(
        self, query: Query, deadline: Deadline, uids: frozenset[str] | None = None
    ) -> Cursor:
        """Return a cursor for the query, or for its rows with some uids; nothing is sent yet."""

    async def begin_with(self, statement: str, deadline: Deadline) -> None:
        """Begin a transaction that writes, and run one statement in it."""

    async def roll_back(self) -> None:
        """End the transaction without its changes."""


C = TypeVar("C", bound=PooledConnection)


class Pool(Generic[C]):
    """Holds at most `size` connections."""

    def __init__(
        self,
        endpoint: Endpoint,
        connect: Callable[[], Awaitable[C]],
        *,
        size: int,
        lifetime: float,
        acquire_timeout: float,
    ) -> None:
        self._endpoint = endpoint
        self._connect = connect
        self._size = size
        self._lifetime = lifetime
        self._acquire_timeout = acquire_timeout
        self._free = asyncio.Semaphore(size)
        self._opened_at: dict[C, float] = {}
        """All open connections, in use or idle."""
        self._idle: list[C] = []
        self._closed = False

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[C]:
        """Yield a connection with a new transaction; it is reused only if the block succeeds."""
        await self._acquire_slot()
        try:
            connection = await self._begun_connection()
            try:
                yield connection
            except BaseException:
                self._discard(connection)
                raise
            self._release(connection)
        finally:
            self._free.release()

    def close(self) -> None:
        """Close all connections, including those in use."""
        self._closed = True
        self._idle.clear()
        for connection in list(self._opened_at):
            self._discard(connection)

    async def _acquire_slot(self) -> None:
        try:
            async with asyncio.timeout(self._acquire_timeout):
                await self._free.acquire()
        except TimeoutError:
            raise TooManyConnections(
                f"all {self._size} connections of this source are in use", endpoint=self._endpoint
            ) from None

    async def _begun_connection(self) -> C:
        while connection := self._pop_idle():
            try:
                return await self._begin(connection)
            except (SourceConnectionFailed, Interrupted, SourceTimedOut):
                continue
        self._check_open()
        connection = await self._connect()
        self._opened_at[connection] = asyncio.get_running_loop().time()
        return await self._begin(connection)

    def _pop_idle(self) -> C | None:
        """Return the youngest idle connection; discard expired ones."""
        while self._idle:
            connection = self._idle.pop()
            if not self._is_expired(connection):
                return connection
            self._discard(connection)
        return None

    async def _begin(self, connection: C) -> C:
        try:
            self._check_open()
            await connection.begin()
        except BaseException:
            self._discard(connection)
            raise
        return connection

    def _release(self, connection: C) -> None:
        if self._closed or self._is_expired(connection):
            self._discard(connection)
        else:
            self._idle.append(connection)

    def _is_expired(self, connection: C) -> bool:
        age = asyncio.get_running_loop().time() - self._opened_at[connection]
        return age > self._lifetime

    def _discard(self, connection: C) -> None:
        if self._opened_at.pop(connection, None) is not None:
            connection.close()

    def _check_open(self) -> None:
        if self._closed:
            raise SourceConnectionFailed("the source is closed", endpoint=self._endpoint)


class ServerSource:
    """The tables of one database of a server."""

    def __init__(
        self, settings: ServerSettings, connect: Callable[[], Awaitable[ServerConnection]]
    ) -> None:
        self._settings = settings
        self._connect = connect
        self._pool = Pool(
            settings.endpoint,
            connect,
            size=settings.pool_size,
            lifetime=settings.pool_lifetime,
            acquire_timeout=settings.connect_timeout,
        )

    def read(self, query: Query, *, tracked: frozenset[str] = frozenset()) -> Reading:
        """Return the active rows of one snapshot. The read starts with the iteration."""
        return Reading(self._settings, query, self._run, tracked)

    def read_selected(self, query: Query, uids: frozenset[str]) -> Reading:
        """Return the active rows with these uids, of one snapshot; see `Source`."""
        return Reading(self._settings, query, partial(self._run, uids=uids), uids)

    def read_after(
        self, statement: str, query: Query, *, tracked: frozenset[str] = frozenset()
    ) -> Reading:
        """Return the active rows as a statement would leave them; see `Source`."""
        check_statement(statement)
        return Reading(self._settings, query, partial(self._run_after, statement), tracked)

    async def close(self) -> None:
        """Close every connection; reads in progress fail."""
        self._pool.close()

    @asynccontextmanager
    async def _run(self, query: Query, uids: frozenset[str] | None = None) -> AsyncIterator[Cursor]:
        async with self._pool.acquire() as connection:
            settings = self._settings
            deadline = Deadline(settings.query_timeout, settings.endpoint, query.table)
            cursor = connection.cursor(query, deadline, uids)
            await cursor.execute()
            yield cursor
            await cursor.commit()

    @asynccontextmanager
    async def _run_after(self, statement: str, query: Query) -> AsyncIterator[Cursor]:
        """Run a query after a statement, on a connection that is not reused.

        Nothing is committed: the server rolls back, too, when the connection is lost.
        """
        settings = self._settings
        deadline = Deadline(settings.query_timeout, settings.endpoint, query.table)
        connection = await self._connect()
        try:
            await connection.begin_with(statement, deadline)
            cursor = connection.cursor(query, deadline)
            await cursor.execute()
            yield cursor
        finally:
            try:
                await connection.roll_back()
            finally:
                connection.close()
