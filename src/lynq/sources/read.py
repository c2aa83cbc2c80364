"""A read of a table: pages of active rows, and a summary that exists only at the end.

A read is complete or it fails. An engine reports the end of the result by an empty page; every
other end raises. So an incomplete table is never mistaken for a small one.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self

from lynq.sources.errors import Endpoint, NotComplete, QueryTimedOut, TooLarge
from lynq.sources.query import Query
from lynq.sources.rows import ConvertedPage, Row, RowLayout, SourceColumn, converted_page, encode
from lynq.sources.settings import MIB, Settings

FIRST_PAGE = 50
"""Rows of the first page, when the size of rows is not known yet."""

LARGEST_PAGE = 250
"""Maximum number of rows of a page: enough to hide the round trip.

It bounds rows, not bytes. A row whose texts have more than VALUES_LIMIT stays on the server, but
`Dialect.size` may be lower than their bytes in UTF-8, and columns with a declared length are not
counted."""

PAGE_BYTES = 1 << 20
"""Target for the bytes of text of a page; a row that is larger is a page of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Identifies the table that was read: the endpoint, the table, the columns and their types."""

    endpoint: Endpoint
    table: str
    columns: tuple[tuple[str, str], ...]
    """Name and type of each column."""

    @property
    def digest(self) -> str:
        """16 hex digits; a different digest means that another table is read."""
        endpoint = self.endpoint
        table = (endpoint.engine, endpoint.host, endpoint.port, endpoint.database, self.table)
        return hashlib.sha256(encode((table, self.columns))).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSummary:
    """The totals of a complete read."""

    seen: int
    """All rows of the table."""
    returned: int
    """The active rows, and those whose activate text is unclear."""
    inactive: frozenset[str]
    """The tracked uids that have a row whose activate text means no."""
    identity: Identity


PageConverter = Callable[[Sequence[Sequence[Any]]], ConvertedPage]
"""Converts rows as a driver returns them."""


class ReadResult(Protocol):
    """The result of a query: columns, then pages of rows."""

    @property
    def columns(self) -> Sequence[SourceColumn]:
        """The columns, in the order of the query."""

    async def fetch(self, limit: int, convert: PageConverter) -> ConvertedPage:
        """Return up to `limit` rows; none only if the server has marked the end of the result.

        More rows are returned if an engine has them at hand and they are small.
        """


Run = Callable[[Query], AbstractAsyncContextManager[ReadResult]]
"""Runs a query in its own transaction, which lasts as long as the block."""


class Reading:
    """The active and unclear rows of one snapshot: iterate once, over pages, to the end.

    A caller that may stop early uses `async with`, so that the connection is released at once and
    not by the garbage collector.
    """

    def __init__(
        self,
        settings: Settings,
        query: Query,
        run: Run,
        tracked: frozenset[str] = frozenset(),
    ) -> None:
        self._endpoint = settings.endpoint
        self._max_bytes = settings.max_bytes
        self._query = query
        self._run = run
        self._tracked = tracked
        self._inactive: set[str] = set()
        self._pages: AsyncGenerator[list[Row], None] | None = None
        self._summary: ReadSummary | None = None
        self._columns: tuple[SourceColumn, ...] = ()

    @property
    def columns(self) -> tuple[SourceColumn, ...]:
        """The columns, in the order of the query; empty before the first page."""
        return self._columns

    @property
    def summary(self) -> ReadSummary:
        """The totals, after the last page; before that, this raises NotComplete."""
        if self._summary is None:
            raise NotComplete(
                "the read is not complete", endpoint=self._endpoint, table=self._query.table
            )
        return self._summary

    def __aiter__(self) -> AsyncIterator[list[Row]]:
        """Start the read. It belongs to one snapshot, so a second iteration is an error."""
        if self._pages is not None:
            raise RuntimeError("a reading can be iterated over only once")
        self._pages = self._read()
        return self._pages

    async def __aenter__(self) -> Self:
        """Return itself; the connection is released at the end of the block."""
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Release the connection if it is still held."""
        if self._pages is not None:
            await self._pages.aclose()

    async def _read(self) -> AsyncGenerator[list[Row], None]:
        seen = returned = size = 0
        async with self._run(self._query) as result:
            layout = RowLayout.of(self._query, result.columns)
            self._columns = layout.columns
            convert = partial(converted_page, layout, self._tracked)
            while True:
                page = await result.fetch(_page_limit(returned, size), convert)
                if not page.seen:
                    break
                self._inactive |= page.inactive
                seen, returned = seen + page.seen, returned + len(page.rows)
                size += page.size
                self._check_size(size)
                if page.rows:
                    yield page.rows
        self._summary = ReadSummary(
            seen=seen,
            returned=returned,
            inactive=frozenset(self._inactive),
            identity=self._identity(layout.columns),
        )

    def _check_size(self, size: int) -> None:
        if size > self._max_bytes:
            raise TooLarge(
                f"the active rows have more than {self._max_bytes // MIB} MiB: map fewer columns,"
                " or raise the operator's --max-read-mib and its memory limit",
                endpoint=self._endpoint,
                table=self._query.table,
            )

    def _identity(self, columns: Sequence[SourceColumn]) -> Identity:
        types = tuple((column.name, column.type) for column in columns)
        return Identity(endpoint=self._endpoint, table=self._query.table, columns=types)


def _page_limit(rows: int, size: int) -> int:
    """Return the number of rows of the next page, given the rows and bytes read so far."""
    if not rows:
        return FIRST_PAGE
    return max(1, min(LARGEST_PAGE, PAGE_BYTES * rows // size))


class Deadline:
    """The queryTimeout of one read. It starts now and includes the caller's time between pages."""

    def __init__(self, seconds: float, endpoint: Endpoint, table: str) -> None:
        self._seconds = seconds
        self._endpoint = endpoint
        self._table = table
        self.at = asyncio.get_running_loop().time() + seconds

    @asynccontextmanager
    async def enforced(self) -> AsyncIterator[None]:
        """Run the block; cancel it at the deadline and raise QueryTimedOut."""
        try:
            async with asyncio.timeout_at(self.at):
                yield
        except TimeoutError:
            raise QueryTimedOut(
                f"the read took longer than {self._seconds:g} s",
                endpoint=self._endpoint,
                table=self._table,
            ) from None
