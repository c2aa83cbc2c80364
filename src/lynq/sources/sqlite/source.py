"""Read a table of a SQLite file.

One reading of a SQLite file, all of it on one thread, ready to be stopped at any time.

Where a SQLite file may lie: below one directory, and really there.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from lynq.sources import text_values
from lynq.sources.errors import (
    Endpoint,
    InvalidSettings,
    Locked,
    MissingDatabase,
    MissingGrant,
    SourceConnectionFailed,
    SourceError,
    translate_errors,
)
from lynq.sources.query import SQLITE, Query, Table
from lynq.sources.read import Deadline, Reading
from lynq.sources.rows import ColumnKind, SourceColumn
from lynq.sources.settings import SQLiteSettings
from lynq.sources.sqlite.types import read_error

_INSTRUCTIONS = 10_000
"""How many of SQLite's instructions run before it asks whether to go on: well under 1 ms."""

_MOMENTS = frozenset(("DATE", "DATETIME", "TIMESTAMP"))

# With the x: the other pragma leaves out generated columns.
_TYPES = "SELECT name, type FROM pragma_table_xinfo(?, ?)"


class SQLiteWorker:
    """Holds the connection. All methods but `stop` belong to the thread."""

    def __init__(self, file: Path, query: Query) -> None:
        self._file = file
        self._query = query
        self._connection: sqlite3.Connection | None = None
        self._rows: sqlite3.Cursor | None = None
        self._stopped = False

    def stop(self) -> None:
        """Make whatever is running, or about to run, fail soon."""
        self._stopped = True

    def begin(self) -> list[SourceColumn]:
        """Run the query up to its first row; raise at once if the file is locked.

        To wait for a lock is not for the thread: in there, nobody could stop it.
        """
        connection = self._connection = sqlite3.connect(
            f"file:{quote(str(self._file))}?mode=ro",
            uri=True,
            timeout=0,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.set_progress_handler(lambda: self._stopped, _INSTRUCTIONS)
        # A view in a stranger's file may use no function that does more than compute.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN DEFERRED")
        self._rows = connection.execute(self._query.sql(SQLITE))
        return self._columns(connection)

    def page(self, limit: int) -> Sequence[Sequence[Any]]:
        """Return up to that many rows; none at the end."""
        if self._rows is None or self._stopped:
            raise InterruptedError
        return self._rows.fetchmany(limit)

    def end(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = self._rows = None

    def _columns(self, connection: sqlite3.Connection) -> list[SourceColumn]:
        table = Table.named(self._query.table)
        declared = connection.execute(_TYPES, (table.name, table.schema or None))
        # SQLite, too, takes no notice of the case of ASCII letters in a name.
        types = {name.lower(): _plain(type_) for name, type_ in declared}
        return [_column(name, types.get(name.lower(), "")) for name in self._query.columns]


def _column(name: str, declared: str) -> SourceColumn:
    texts = text_values.stored_moments if declared in _MOMENTS else text_values.stored
    return SourceColumn(name, declared, ColumnKind.STORED, texts)


def _plain(declared: str) -> str:
    """Return a declared type without length and precision."""
    return declared.partition("(")[0].strip().upper()


_FIELD = "sqlite.path"


def locate(settings: SQLiteSettings) -> Path:
    """Return the file with symbolic links resolved; refuse one that lies elsewhere."""
    if settings.directory is None:
        raise InvalidSettings(
            "this operator reads no SQLite files: it was started without --sqlite-dir",
            field=_FIELD,
        )
    if "\0" in settings.path:
        raise InvalidSettings("a path has a control character in it", field=_FIELD)
    directory = settings.directory.resolve()
    try:
        file = (directory / settings.path).resolve()
    except RuntimeError:
        raise InvalidSettings("the path leads in a circle", field=_FIELD) from None
    except (OSError, UnicodeError):
        raise InvalidSettings("no file can have such a path", field=_FIELD) from None
    if directory not in file.parents:
        raise InvalidSettings("the path leads out of --sqlite-dir", field=_FIELD)
    if not _is_file(file, settings):
        raise MissingDatabase("there is no such file", place=settings.place)
    return file


def _is_file(file: Path, settings: SQLiteSettings) -> bool:
    try:
        return file.is_file()
    except PermissionError:
        raise MissingGrant(
            "the operator may not enter the folder of the file", place=settings.place
        ) from None
    except OSError:
        raise InvalidSettings("no file can have such a path", field=_FIELD) from None


T = TypeVar("T")

_LOOK_AGAIN = 0.02
"""Seconds between two looks at a locked file."""


class SQLiteSource:
    """The tables of one file."""

    def __init__(self, settings: SQLiteSettings) -> None:
        self._settings = settings
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite")
        self._workers: set[SQLiteWorker] = set()
        self._closed = False

    @property
    def place(self) -> Endpoint:
        """Where it is."""
        return self._settings.place

    def read(self, query: Query) -> Reading:
        """Return the active rows at one moment; nothing happens yet."""
        return Reading(self.place, query, self._run)

    async def close(self) -> None:
        """Let go of the file; running readings fail."""
        self._closed = True
        for worker in self._workers:
            worker.stop()
        self._end_thread()

    @asynccontextmanager
    async def _run(self, query: Query) -> AsyncIterator["_Result"]:
        if self._closed:
            raise SourceConnectionFailed("the source has been closed", place=self.place)
        worker = SQLiteWorker(locate(self._settings), query)
        self._workers.add(worker)
        result = _Result(
            worker,
            self._thread,
            Deadline(self._settings.query_timeout, self.place, query.table),
            lambda error: read_error(error, self._settings, query),
        )
        try:
            await result.begin()
            yield result
        finally:
            await result.end()
            self._workers.discard(worker)
            self._end_thread()

    def _end_thread(self) -> None:
        """End the thread, once the last reading has closed its file on it."""
        if self._closed and not self._workers:
            self._thread.shutdown(wait=False)


class _Result:
    """What a worker reads, page by page."""

    def __init__(
        self,
        worker: SQLiteWorker,
        thread: ThreadPoolExecutor,
        deadline: Deadline,
        explain: Callable[[Exception], SourceError],
    ) -> None:
        self._worker = worker
        self._thread = thread
        self._deadline = deadline
        self._explain = explain
        self._columns: list[SourceColumn] = []

    async def begin(self) -> None:
        """Run the query, as soon as no lock is in the way."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                self._columns = await self._on_thread(self._worker.begin)
            except Locked:
                if loop.time() + _LOOK_AGAIN > self._deadline.at:
                    raise
                await self.end()
                await asyncio.sleep(_LOOK_AGAIN)
            else:
                return

    @property
    def columns(self) -> list[SourceColumn]:
        """The columns, in the order of the query."""
        return self._columns

    async def page(self, limit: int) -> Sequence[Sequence[Any]]:
        """Return up to that many rows; none at the end."""
        return await self._on_thread(lambda: self._worker.page(limit))

    async def end(self) -> None:
        """Close the file."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._worker.end)

    async def _on_thread(self, work: Callable[[], T]) -> T:
        with translate_errors(self._explain):
            async with self._deadline.kept():
                return await self._unless_cancelled(work)

    async def _unless_cancelled(self, work: Callable[[], T]) -> T:
        """Run work on the thread. Cancelled, it is stopped there, and its end is waited for."""
        job = asyncio.get_running_loop().run_in_executor(self._thread, work)
        try:
            return await asyncio.shield(job)
        except asyncio.CancelledError:
            self._worker.stop()
            await asyncio.wait([job])
            job.exception()
            raise
