"""Read a table of MySQL or MariaDB."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from asyncmy.cursors import SSCursor

from lynq.sources.columns import SourceColumn
from lynq.sources.deadline import Deadline
from lynq.sources.errors import SourceError
from lynq.sources.mysql.connecting import connect
from lynq.sources.mysql.failures import connect_error, read_error
from lynq.sources.mysql.types import column
from lynq.sources.query import MYSQL, Query
from lynq.sources.server import ServerSource
from lynq.sources.settings import MySQLSettings
from lynq.sources.telling import translate_errors

_BEGIN = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"


def open_mysql(settings: MySQLSettings) -> ServerSource[Any]:
    """Return the source that the settings describe; it connects when it is first read."""

    async def begin(connection: Any) -> None:  # noqa: ANN401 - the driver has no types
        with translate_errors(lambda error: connect_error(error, settings)):
            async with asyncio.timeout(settings.connect_timeout):
                await _execute(connection, _BEGIN)

    return ServerSource(
        settings,
        connect=lambda: connect(settings),
        begin=begin,
        discard=lambda connection: connection.close(),
        cursor=lambda connection, deadline, query: _MySQLCursor(
            connection, deadline, lambda error: read_error(error, settings, query)
        ),
    )


class _MySQLCursor:
    """An unbuffered result: the server sends as fast as we read."""

    def __init__(
        self,
        connection: Any,  # noqa: ANN401
        deadline: Deadline,
        explain: Callable[[Exception], SourceError],
    ) -> None:
        self._connection = connection
        self._deadline = deadline
        self._explain = explain
        self._cursor = connection.cursor(SSCursor)

    async def begin(self, query: Query) -> None:
        """Run the query, up to its first row."""
        with translate_errors(self._explain):
            async with self._deadline.kept():
                await self._cursor.execute(query.sql(MYSQL))

    @property
    def columns(self) -> list[SourceColumn]:
        """The columns, in the order of the query."""
        return [column(field) for field in self._cursor._result.fields]  # noqa: SLF001

    async def page(self, limit: int) -> Sequence[Sequence[Any]]:
        """Return up to that many rows; none once the server has marked the end."""
        with translate_errors(self._explain), _receiving(self._connection):
            async with self._deadline.kept():
                rows: list[tuple[Any, ...]] = await self._cursor.fetchmany(limit)
                return rows

    async def end(self) -> None:
        """End the transaction, so that the server can forget the snapshot."""
        with translate_errors(self._explain):
            async with self._deadline.kept():
                await _execute(self._connection, "COMMIT")


@contextmanager
def _receiving(connection: Any) -> Iterator[None]:  # noqa: ANN401
    """Take in bytes only while somebody waits for rows.

    The driver puts whatever arrives into its buffer, whether rows are asked for or not: while the
    caller is busy with a page, the whole rest of the table would pile up there.
    """
    transport = connection._transport  # noqa: SLF001 - the driver has no other way to say it
    transport.resume_reading()
    try:
        yield
    finally:
        if not transport.is_closing():
            transport.pause_reading()


async def _execute(connection: Any, statement: str) -> None:  # noqa: ANN401
    connection._transport.resume_reading()  # noqa: SLF001
    async with connection.cursor() as cursor:
        await cursor.execute(statement)
