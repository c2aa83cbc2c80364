"""Read a table of a SQLite file."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from lynq.sources.columns import SourceColumn
from lynq.sources.deadline import Deadline
from lynq.sources.errors import Endpoint, Locked, SourceConnectionFailed, SourceError
from lynq.sources.query import Query
from lynq.sources.read import Reading
from lynq.sources.settings import SQLiteSettings
from lynq.sources.sqlite.location import locate
from lynq.sources.sqlite.types import read_error
from lynq.sources.sqlite.worker import SQLiteWorker
from lynq.sources.telling import translate_errors

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
