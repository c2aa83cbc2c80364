"""A bounded pool of connections, kept between reads.

A connection that has seen trouble of any kind, a reading that was given up included, is never
lent again. One that has been idle may have died meanwhile without a word: it is greeted before it
is lent, and if it does not answer a new one takes its place.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from lynq.sources.errors import (
    Endpoint,
    Interrupted,
    SourceConnectionFailed,
    SourceTimedOut,
    TooManyConnections,
)

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
