"""Read a table of MySQL or MariaDB.

Connect to MySQL or MariaDB, with a session that reads the same everywhere.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import asyncmy
from asyncmy.cursors import SSCursor
from asyncmy.errors import OperationalError

from lynq.sources.errors import SourceError, translate_errors
from lynq.sources.mysql.types import column, connect_error, read_error
from lynq.sources.network import connect_within
from lynq.sources.pool import ServerSource
from lynq.sources.query import MYSQL, Query
from lynq.sources.read import Deadline
from lynq.sources.rows import SourceColumn
from lynq.sources.settings import MySQLSettings

# Some ways to log in hand the server the password itself, and the server chooses the way.
_IN_CLEAR = ("mysql_clear_password", "dialog", "mysql_old_password")
_UNKNOWN_PLUGIN = 2059

_EVERYTHING = 2**64 - 1

_RECEIVED = 1 << 18
"""Bytes that the kernel holds for us: enough for 5 MB/s at a round trip of 50 ms."""


async def connect(settings: MySQLSettings) -> Any:  # noqa: ANN401 - the driver has no types
    """Return a new connection, ready to begin a reading."""

    async def attempt(context: ssl.SSLContext | None) -> Any:  # noqa: ANN401
        with translate_errors(lambda error: connect_error(error, settings)):
            return await _connect(settings, context)

    return await connect_within(settings, settings.place, attempt)


async def _connect(settings: MySQLSettings, context: ssl.SSLContext | None) -> Any:  # noqa: ANN401
    connection = await asyncmy.connect(
        host=settings.host,
        port=settings.port,
        user=settings.username,
        # As text, the driver would encode it as Latin-1.
        password=settings.password.encode(),
        database=settings.database,
        charset="utf8mb4",
        ssl=context,
        connect_timeout=settings.connect_timeout,
        # Nothing is converted: MySQL's own text is what we are after.
        conv={},
        autocommit=None,
        auth_plugin_map=dict.fromkeys(_IN_CLEAR, _only_encrypted),
        program_name="lynq",
    )
    try:
        _receive_little(connection)
        async with connection.cursor() as cursor:
            for statement in _session(settings, connection.get_server_info()):
                await cursor.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


def _receive_little(connection: Any) -> None:  # noqa: ANN401
    """Let no more arrive unasked than we are willing to hold; see `_receiving` in source.py.

    uvloop reads on for as long as there is something, before anybody can tell it to pause.
    """
    transport = connection._transport  # noqa: SLF001 - the driver has no other way to reach it
    arriving = transport.get_extra_info("socket")
    arriving.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)


def _session(settings: MySQLSettings, version: str) -> list[str]:
    """Return what makes a session ours.

    The server stops a statement a little after we have given up, so that nothing runs on when we
    cannot tell it any more. A `sql_select_limit` set by somebody would cut the result in silence,
    and a `yes` that is padded to the width of its CHAR column would be active no more.
    """
    limit = settings.query_timeout + 1
    stop = (
        f"max_statement_time = {limit:.3f}"
        if "MariaDB" in version
        else f"max_execution_time = {limit * 1000:.0f}"
    )
    locks = f"lock_wait_timeout = {max(1, int(settings.query_timeout * 0.9))}"
    return [
        f"SET SESSION time_zone = '+00:00', sql_select_limit = {_EVERYTHING}, {stop}, {locks}",
        "SET SESSION sql_mode = REPLACE(@@sql_mode, 'PAD_CHAR_TO_FULL_LENGTH', '')",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    ]


def _only_encrypted(connection: Any) -> None:  # noqa: ANN401
    """Refuse to show the password on a connection that anybody on the way can read."""
    if not connection._secure:  # noqa: SLF001 - the driver tells it nowhere else
        raise OperationalError(_UNKNOWN_PLUGIN, "not without TLS")


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
