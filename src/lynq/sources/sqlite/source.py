"""Reads tables of a SQLite file.

A read runs on one thread, because SQLite blocks. It can be stopped at any time: the progress
handler ends a running statement, and locks are waited for in the event loop. A thread that a hung
file system blocks is given up.

Every value has its own type, so every column may hold a text of any size, but few tables do. So a
read begins with a plain statement, in which SQLite refuses a value that is longer than a share of
the largest row. Only then the read asks whether a row is too large, and continues, in the same
snapshot, with a statement for such rows. It passes over the rows that it has already returned, and
fails if these are others: a view may have a random order. Later reads begin with that statement.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from lynq.api.source import VALUES_LIMIT
from lynq.sources import text_values
from lynq.sources.base import SourceFacts
from lynq.sources.errors import (
    Interrupted,
    InvalidSettings,
    Locked,
    MissingDatabase,
    MissingGrant,
    NotSelectable,
    SourceConnectionFailed,
    SourceError,
    translate_errors,
)
from lynq.sources.query import Query, Table
from lynq.sources.read import PAGE_BYTES, Deadline, PageConverter, Reading
from lynq.sources.rows import ConvertedPage, SourceColumn, joined_pages
from lynq.sources.settings import MIB
from lynq.sources.sqlite.settings import DIALECT, SQLiteSettings
from lynq.sources.sqlite.thread import GRACE, WorkerThread, WorkerThreads
from lynq.sources.sqlite.types import read_error
from lynq.sources.statement import check_statement, statement_failed

_PATH_FIELD = "sqlite.path"

_INSTRUCTIONS = 10_000
"""SQLite instructions between two calls of the progress handler: well under 1 ms."""

_LOCK_RETRY = 0.02
"""Seconds between two attempts to read a locked file."""

_LONGEST_VALUE = 64 * MIB
"""Bytes of a value that SQLite loads into memory to find its size."""

_LONGEST_ROW = VALUES_LIMIT
"""Bytes of a row of the plain statement. `Dialect.size` counts half of them, so that no such row is
too large, though SQLite may accept a value that is somewhat longer than its share: it compares the
length only if the value does not fit into the memory of the last one."""

_MOST_COLUMNS = 64
"""Columns of the plain statement: with more, a share would be smaller than that memory."""

_BATCH = 250
"""Rows that are fetched and converted at once, which the processor's cache can hold."""

_PAGE = 1000
"""Rows of a page: a change of threads takes as long as many rows."""

_TIMESTAMPS = frozenset(("DATE", "DATETIME", "TIMESTAMP"))

# pragma_table_info, without the x, leaves out generated columns.
_TYPES = "SELECT name, type FROM pragma_table_xinfo(?, ?)"

T = TypeVar("T")


async def inspect(_settings: SQLiteSettings, _table: Table) -> SourceFacts:
    """Return the facts of a file: it has no users."""
    return SourceFacts(
        version=f"SQLite {sqlite3.sqlite_version}", grants=("the file is opened read-only",)
    )


def locate(settings: SQLiteSettings) -> Path:
    """Return the file with symbolic links resolved; raise if it is not below `directory`."""
    if settings.directory is None:
        raise InvalidSettings("SQLite files are disabled without --sqlite-dir", field=_PATH_FIELD)
    if "\0" in settings.path:
        raise InvalidSettings("the path contains a control character", field=_PATH_FIELD)
    directory = settings.directory.resolve()
    try:
        file = (directory / settings.path).resolve()
    except RuntimeError:
        raise InvalidSettings(
            "the path contains a cycle of symbolic links", field=_PATH_FIELD
        ) from None
    except (OSError, UnicodeError):
        raise InvalidSettings("the path is no valid file name", field=_PATH_FIELD) from None
    if directory not in file.parents:
        raise InvalidSettings("the path leads out of --sqlite-dir", field=_PATH_FIELD)
    if not _is_file(file, settings):
        raise MissingDatabase("the file does not exist", endpoint=settings.endpoint)
    return file


def _is_file(file: Path, settings: SQLiteSettings) -> bool:
    try:
        return file.is_file()
    except PermissionError:
        raise MissingGrant(
            "the operator may not enter the directory of the file", endpoint=settings.endpoint
        ) from None
    except OSError:
        raise InvalidSettings("the path is no valid file name", field=_PATH_FIELD) from None


def read_only_uri(file: Path) -> str:
    """Return the URI that opens a file read-only."""
    return f"file:{quote(str(file))}?mode=ro"


def _uri(file: Path, *, writes: bool) -> str:
    return f"file:{quote(str(file))}?mode=rw" if writes else read_only_uri(file)


def _hash_of_uids(page: Sequence[Sequence[Any]]) -> int:
    """Return a hash of the uids of rows, in their order; the uid is the first column."""
    return hash(tuple(map(itemgetter(0), page)))


class SQLiteWorker:
    """The connection of one read. All methods but `stop` run on the worker thread."""

    def __init__(
        self,
        settings: SQLiteSettings,
        query: Query,
        statement: str = "",
        *,
        expects_large_values: bool = False,
    ) -> None:
        """Read `query`; with a `statement`, as it would leave the table."""
        self._settings = settings
        self._query = query
        self._statement = statement
        self._connection: sqlite3.Connection | None = None
        self._rows: sqlite3.Cursor | None = None
        self._fetched: list[tuple[int, int]] = []
        """Of each fetch from the plain statement, the number of rows and the hash of their uids."""
        self._stopped = False
        self.expects_large_values = expects_large_values or len(query.columns) > _MOST_COLUMNS
        """Whether the plain statement is not used, or is not used any more."""

    def stop(self) -> None:
        """Make the running or next statement fail soon. Any thread may call this."""
        self._stopped = True

    def execute(self) -> list[SourceColumn]:
        """Run the query up to its first row; raise at once if the file is locked.

        A lock is not waited for here, because a wait on this thread cannot be stopped. The file is
        located here, because a file system may not answer.
        """
        connection = self._connection = sqlite3.connect(
            _uri(locate(self._settings), writes=bool(self._statement)),
            uri=True,
            timeout=0,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        connection.set_progress_handler(lambda: self._stopped, _INSTRUCTIONS)
        # The file may come from an untrusted party: its views may use only functions that compute.
        connection.execute("PRAGMA trusted_schema = OFF")
        if self._statement:
            connection.execute("BEGIN IMMEDIATE")
            self._execute_statement(connection)
        else:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN DEFERRED")
        self._rows = self._execute_query(connection)
        return self._columns(connection)

    def _execute_query(self, connection: sqlite3.Connection) -> sqlite3.Cursor:
        if self.expects_large_values:
            return self._execute_bounded(connection)
        # The limit is not for the definitions of tables and views: load them before.
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
        longest = _LONGEST_ROW // len(self._query.columns)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
        try:
            return connection.execute(self._query.sql(DIALECT))
        except sqlite3.DataError:
            return self._execute_bounded(connection)

    def _execute_bounded(self, connection: sqlite3.Connection) -> sqlite3.Cursor:
        """Run the statement that leaves rows in the file that are too large, from the next row on.

        Such a statement computes the size of a row again for each column, so whether there is such
        a row is asked first.
        """
        self.expects_large_values = True
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        (has_large_rows,) = connection.execute(self._query.large_rows_sql(DIALECT)).fetchone()
        bounded = range(len(self._query.columns)) if has_large_rows else ()
        rows = connection.execute(self._query.sql(DIALECT, bounded=bounded))
        for count, uids in self._fetched:
            page = rows.fetchmany(count)
            if len(page) != count or _hash_of_uids(page) != uids:
                raise Interrupted(
                    "the view returned other rows when it was read again because of a large value;"
                    " the next read expects it",
                    endpoint=self._settings.endpoint,
                    table=self._query.table,
                )
        return rows

    def _execute_statement(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute(self._statement)
        except sqlite3.Error as error:
            raise statement_failed(error, self._settings.endpoint) from None

    def fetch(self, limit: int) -> Sequence[Sequence[Any]]:
        """Return up to `limit` rows; none at the end of the result."""
        if self._connection is None or self._rows is None or self._stopped:
            raise InterruptedError
        if self.expects_large_values:
            return self._rows.fetchmany(limit)
        try:
            page = self._rows.fetchmany(limit)
        except sqlite3.DataError:
            self._rows = self._execute_bounded(self._connection)
            return self._rows.fetchmany(limit)
        if page:
            self._fetched.append((len(page), _hash_of_uids(page)))
        return page

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            # A transaction that is open is rolled back: nothing is ever committed here.
            self._connection.close()
            self._connection = self._rows = None

    def _columns(self, connection: sqlite3.Connection) -> list[SourceColumn]:
        table = Table.named(self._query.table)
        declared = connection.execute(_TYPES, (table.name, table.schema or None))
        # Names are case-insensitive in SQLite, for ASCII letters.
        types = {name.lower(): _base_type(type_) for name, type_ in declared}
        return [_column(name, types.get(name.lower(), "")) for name in self._query.columns]


def _column(name: str, declared: str) -> SourceColumn:
    is_timestamp = declared in _TIMESTAMPS
    texts = text_values.sqlite_timestamp_texts if is_timestamp else text_values.sqlite_texts
    return SourceColumn(name, declared, texts)


def _base_type(declared: str) -> str:
    """Return a declared type without length and precision."""
    return declared.partition("(")[0].strip().upper()


class SQLiteSource:
    """The tables of one file."""

    def __init__(self, settings: SQLiteSettings) -> None:
        self._settings = settings
        self._threads = WorkerThreads(settings.endpoint)
        self._workers: set[SQLiteWorker] = set()
        self._tables_with_large_values: set[str] = set()
        self._closed = False

    def read(self, query: Query, *, tracked: frozenset[str] = frozenset()) -> Reading:
        """Return the active rows of one snapshot. The read starts with the iteration."""
        return Reading(self._settings, query, self._run, tracked)

    def read_selected(self, query: Query, uids: frozenset[str]) -> Reading:
        """Raise NotSelectable: values of one column have different types; see `Source`."""
        del uids
        raise NotSelectable(
            "rows of a SQLite file are not selected by their uid",
            endpoint=self._settings.endpoint,
            table=query.table,
        )

    def read_after(
        self, statement: str, query: Query, *, tracked: frozenset[str] = frozenset()
    ) -> Reading:
        """Return the active rows as a statement would leave them; see `Source`."""
        check_statement(statement)
        return Reading(self._settings, query, partial(self._run, statement=statement), tracked)

    async def close(self) -> None:
        """Close the file; reads in progress fail."""
        self._closed = True
        for worker in self._workers:
            worker.stop()

    @asynccontextmanager
    async def _run(self, query: Query, statement: str = "") -> AsyncIterator["_Result"]:
        settings = self._settings
        if self._closed:
            raise SourceConnectionFailed("the source is closed", endpoint=settings.endpoint)
        large = self._tables_with_large_values
        worker = SQLiteWorker(settings, query, statement, expects_large_values=query.table in large)
        thread = self._threads.start()
        self._workers.add(worker)
        result = _Result(
            worker,
            thread,
            Deadline(settings.query_timeout, settings.endpoint, query.table),
            lambda error: read_error(error, settings, query),
        )
        try:
            await result.execute()
            yield result
        finally:
            if not await result.close():
                self._threads.abandon(thread)
            thread.end()
            self._workers.discard(worker)
            if worker.expects_large_values:
                large.add(query.table)


class _Result:
    """The result of a worker, as the event loop awaits it."""

    def __init__(
        self,
        worker: SQLiteWorker,
        thread: WorkerThread,
        deadline: Deadline,
        explain: Callable[[Exception], SourceError],
    ) -> None:
        self._worker = worker
        self._thread = thread
        self._deadline = deadline
        self._explain = explain
        self._columns: list[SourceColumn] = []

    async def execute(self) -> None:
        """Run the query; retry while the file is locked, until the deadline."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                self._columns = await self._on_thread(self._worker.execute)
            except Locked:
                if loop.time() + _LOCK_RETRY > self._deadline.at:
                    raise
                await self.close()
                await asyncio.sleep(_LOCK_RETRY)
            else:
                return

    @property
    def columns(self) -> list[SourceColumn]:
        """The columns, in the order of the query."""
        return self._columns

    async def fetch(self, limit: int, convert: PageConverter) -> ConvertedPage:
        """Return up to `limit` rows, or more if they are small; none at the end of the result."""
        return await self._on_thread(lambda: self._fetch(limit, convert))

    def _fetch(self, limit: int, convert: PageConverter) -> ConvertedPage:
        batches: list[ConvertedPage] = []
        rows = size = 0
        while rows < _PAGE and size < PAGE_BYTES:
            batch = convert(self._worker.fetch(min(limit, _BATCH)))
            if not batch.seen:
                break
            batches.append(batch)
            rows, size = rows + batch.seen, size + batch.size
        return joined_pages(batches)

    async def close(self) -> bool:
        """Close the file; return False if the thread does not answer.

        The thread closes the file itself once its system call returns.
        """
        closed = self._thread.submit(self._worker.close)
        done, _ = await asyncio.wait([closed], timeout=GRACE)
        return bool(done)

    async def _on_thread(self, work: Callable[[], T]) -> T:
        with translate_errors(self._explain):
            async with self._deadline.enforced():
                try:
                    return await self._thread.submit(work)
                except asyncio.CancelledError:
                    # The running statement fails soon; `close` waits for it, but not for long.
                    self._worker.stop()
                    raise
