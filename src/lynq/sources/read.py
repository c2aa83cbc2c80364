"""A reading: pages of active rows, and at its end, only there, what the whole of it was.

The time that a read may take, all its waits together.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self

from lynq.sources.errors import Endpoint, NotComplete, QueryTimedOut
from lynq.sources.query import Query
from lynq.sources.rows import Row, RowLayout, SourceColumn, active_rows, encode, encode_all

FIRST_PAGE = 100
"""Rows of the first page: nobody knows yet how large they are."""

LARGEST_PAGE = 500
"""Rows of a page at most: enough to hide the round trip."""

PAGE_BYTES = 1 << 20
"""Bytes of text that a page should have at most; one row is a page if it is larger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What was read: the place, the table, and the columns with their types."""

    place: Endpoint
    table: str
    columns: tuple[tuple[str, str], ...]
    """Name and type of each."""

    @property
    def digest(self) -> str:
        """16 hex digits; others than before mean that something else is being read."""
        place = self.place
        where = (place.engine, place.host, place.port, place.database, self.table)
        return hashlib.sha256(encode((where, self.columns))).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSummary:
    """What a complete reading was."""

    seen: int
    """All rows of the table."""
    active: int
    digest: bytes
    """Of all active rows in their order: equal ones mean that nothing at all has changed."""
    identity: Identity


class ReadResult(Protocol):
    """What an engine makes of a query: columns, then pages, then the end.

    To return an empty page is to say that the server has marked the end of the result. Whatever
    else ends it must raise.
    """

    @property
    def columns(self) -> Sequence[SourceColumn]:
        """The columns, in the order of the query."""

    async def page(self, limit: int) -> Sequence[Sequence[Any]]:
        """Return up to that many rows; none at the end."""


Run = Callable[[Query], AbstractAsyncContextManager[ReadResult]]
"""Runs a query in a transaction of its own, which lasts as long as the block."""


class Reading:
    """The active rows of one moment: iterate once, over pages, to the end.

    Whoever may stop early puts `async with` around it, so that the connection is given up then
    and not when the garbage collector comes by.
    """

    def __init__(self, place: Endpoint, query: Query, run: Run) -> None:
        self._place = place
        self._query = query
        self._run = run
        self._pages: AsyncGenerator[list[Row], None] | None = None
        self._summary: ReadSummary | None = None

    @property
    def summary(self) -> ReadSummary:
        """What the reading was, once its last page has been taken; until then this raises."""
        if self._summary is None:
            raise NotComplete(
                "the reading has not come to its end", place=self._place, table=self._query.table
            )
        return self._summary

    async def all(self) -> list[Row]:
        """Return all active rows at once: complete, or an error."""
        return [row async for page in self for row in page]

    def __aiter__(self) -> AsyncIterator[list[Row]]:
        """Begin; a reading is of one moment, so a second time is an error."""
        if self._pages is not None:
            raise RuntimeError("a reading can be iterated over only once")
        self._pages = self._read()
        return self._pages

    async def __aenter__(self) -> Self:
        """Promise to give up the connection at the end of the block."""
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Give up the connection, if it is still held."""
        if self._pages is not None:
            await self._pages.aclose()

    async def _read(self) -> AsyncGenerator[list[Row], None]:
        seen = active = size = 0
        async with self._run(self._query) as result:
            layout = RowLayout.of(self._query, result.columns)
            digest = hashlib.sha256(layout.salt)
            while page := await result.page(_limit(active, size)):
                rows = active_rows(layout, page)
                encoded = encode_all([row.texts for row in rows])
                digest.update(encoded)
                seen, active, size = seen + len(page), active + len(rows), size + len(encoded)
                if rows:
                    yield rows
        self._summary = ReadSummary(
            seen=seen,
            active=active,
            digest=digest.digest(),
            identity=self._identity(layout.columns),
        )

    def _identity(self, columns: Sequence[SourceColumn]) -> Identity:
        types = tuple((column.name, column.type) for column in columns)
        return Identity(place=self._place, table=self._query.table, columns=types)


def _limit(rows: int, size: int) -> int:
    """Return how many rows the next page should have, going by those before it."""
    if not rows:
        return FIRST_PAGE
    return max(1, min(LARGEST_PAGE, PAGE_BYTES * rows // size))


class Deadline:
    """Begins when it is made. What the caller does between two pages counts too."""

    def __init__(self, seconds: float, place: Endpoint, table: str) -> None:
        self._seconds = seconds
        self._place = place
        self._table = table
        self.at = asyncio.get_running_loop().time() + seconds

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Run the block, and end it when the time is up."""
        try:
            async with asyncio.timeout_at(self.at):
                yield
        except TimeoutError:
            raise QueryTimedOut(
                f"reading took longer than {self._seconds:g} s",
                place=self._place,
                table=self._table,
            ) from None
