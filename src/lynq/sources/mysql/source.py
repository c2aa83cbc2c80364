"""Reads tables of MySQL and MariaDB through asyncmy.

The session is set up so that a value has the same text on every server: UTC, no padding, no
limit on the number of rows.
"""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import asyncmy
from asyncmy import protocol
from asyncmy.cursors import SSCursor

from lynq.api.text import and_more
from lynq.sources.errors import (
    NotSelectable,
    SourceError,
    StatementRefused,
    translate_errors,
)
from lynq.sources.mysql.login import Login, announced_plugin
from lynq.sources.mysql.settings import DIALECT, MySQLSettings, login_arguments
from lynq.sources.mysql.types import (
    column,
    connect_error,
    may_be_large,
    read_error,
    uid_literals,
)
from lynq.sources.network import connect_within
from lynq.sources.pool import ServerSource
from lynq.sources.query import Query
from lynq.sources.read import Deadline, PageConverter
from lynq.sources.resolver import ServerAddress
from lynq.sources.rows import ConvertedPage, SourceColumn
from lynq.sources.statement import statement_failed

_BEGIN = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
_NO_ROW_LIMIT = 2**64 - 1
_RECEIVE_BUFFER = 1 << 18
"""Bytes of the kernel's receive buffer: enough for 5 MB/s at a round trip of 50 ms."""

_PARSED = 1 << 14
"""Bytes of rows that are parsed at once: a page that the processor's cache can hold."""

_parse_rows: Any = getattr(protocol, "parse_rows_from_buffer", None)
"""Parses rows of the driver's receive buffer; not public, and missing in its older releases."""

_NOT_TRANSACTIONAL = """
SELECT table_name FROM information_schema.tables JOIN information_schema.engines USING (engine)
WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' AND transactions <> 'YES'
ORDER BY table_name
"""

# asyncmy has no types.
DriverConnection = Any
_AsyncmyConnection: Any = asyncmy.Connection


def open_mysql(settings: MySQLSettings) -> ServerSource:
    """Return the source that the settings describe; it connects when it is first read."""

    async def connect() -> _MySQLConnection:
        return _MySQLConnection(await connect_server(settings), settings)

    return ServerSource(settings, connect)


async def connect_server(settings: MySQLSettings) -> DriverConnection:
    """Return a new connection."""

    async def attempt(context: ssl.SSLContext | None, address: ServerAddress) -> DriverConnection:
        with translate_errors(lambda error: connect_error(error, settings)):
            return await _log_in(settings, context, address)

    return await connect_within(settings, attempt)


class _ReadConnection(_AsyncmyConnection):  # type: ignore[misc]
    """asyncmy's connection, whose login `Login` answers."""

    _auth_plugin_name: str

    def __init__(self, settings: MySQLSettings, **arguments: object) -> None:
        super().__init__(**arguments)
        self._settings = settings
        self._is_logging_in = False
        self.login_risk = ""
        """Why a later login may fail; empty if it will not."""

    async def _get_server_information(self) -> None:
        self._is_logging_in = False
        await super()._get_server_information()
        self._auth_plugin_name = announced_plugin(self._auth_plugin_name)
        self._is_logging_in = True

    async def read_packet(self, *packet_type: type) -> Any:  # noqa: ANN401 - the driver has no types
        packet = await super().read_packet(*packet_type)
        if not self._is_logging_in:
            return packet
        login = Login(self._settings, self._auth_plugin_name, self.salt, is_encrypted=self._secure)
        while not packet.is_ok_packet():
            answer = login.answer(packet.get_all_data())
            if answer is not None:
                self.write_packet(answer)
            packet = await super().read_packet()
        self._is_logging_in = False
        self.login_risk = login.risk
        return packet


async def _log_in(
    settings: MySQLSettings, context: ssl.SSLContext | None, address: ServerAddress
) -> DriverConnection:
    connection = _ReadConnection(
        settings,
        **login_arguments(settings) | {"host": address.ip},
        ssl=context,
        connect_timeout=settings.connect_timeout,
        # Values are not converted: the server's own text is what templates see.
        conv={},
        autocommit=None,
        program_name="lynq",
    )
    try:
        await connection.connect()
        _limit_receive_buffer(connection)
        async with connection.cursor() as cursor:
            for statement in _session_statements(settings, connection.get_server_info()):
                await cursor.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


def _limit_receive_buffer(connection: DriverConnection) -> None:
    """Bound the bytes that arrive before they are asked for; see `_receiving`.

    uvloop reads until the kernel's buffer is empty, before the transport can be paused.
    """
    transport = connection._transport  # noqa: SLF001 - not public in the driver
    transport.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER
    )


def _session_statements(settings: MySQLSettings, version: str) -> list[str]:
    """Return the statements that set up a session.

    The server stops a statement a little after queryTimeout, so that no query keeps running when
    the connection is lost. A `sql_select_limit` of the server would truncate the result without an
    error. With PAD_CHAR_TO_FULL_LENGTH, a `yes` in a CHAR column would not be active.
    """
    limit = settings.query_timeout + 1
    statement_limit = (
        f"max_statement_time = {limit:.3f}"
        if "MariaDB" in version
        else f"max_execution_time = {limit * 1000:.0f}"
    )
    lock_limit = f"lock_wait_timeout = {max(1, int(settings.query_timeout * 0.9))}"
    limits = f"sql_select_limit = {_NO_ROW_LIMIT}, {statement_limit}, {lock_limit}"
    return [
        f"SET SESSION time_zone = '+00:00', {limits}",
        "SET SESSION sql_mode = REPLACE(@@sql_mode, 'PAD_CHAR_TO_FULL_LENGTH', '')",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    ]


class _MySQLConnection:
    """A connection of the pool."""

    def __init__(self, connection: DriverConnection, settings: MySQLSettings) -> None:
        self._connection = connection
        self._settings = settings

    async def begin(self) -> None:
        """Begin a read-only transaction; raise if the connection is dead."""
        with translate_errors(lambda error: connect_error(error, self._settings)):
            async with asyncio.timeout(self._settings.connect_timeout):
                await _execute(self._connection, _BEGIN)

    def cursor(
        self, query: Query, deadline: Deadline, uids: frozenset[str] | None = None
    ) -> "_MySQLCursor":
        """Return a cursor for the query, or for its rows with some uids; nothing is sent yet."""
        return _MySQLCursor(self._connection, self._settings, query, deadline, uids)

    async def begin_with(self, statement: str, deadline: Deadline) -> None:
        """Begin a transaction that writes, and run one statement in it."""
        with translate_errors(lambda error: statement_failed(error, self._settings.endpoint)):
            async with deadline.enforced():
                await self._check_transactional()
                wait = max(1, int(self._settings.query_timeout * 0.9))
                await _execute(self._connection, f"SET innodb_lock_wait_timeout = {wait}")
                await _execute(self._connection, "START TRANSACTION READ WRITE")
                # Prepared: the server accepts one statement only, whatever the driver allows.
                await _execute(self._connection, "SET @lynq_statement = %s", statement)
                await _execute(self._connection, "PREPARE lynq FROM @lynq_statement")
                await _execute(self._connection, "EXECUTE lynq")

    async def _check_transactional(self) -> None:
        """Raise StatementRefused if a table of the database cannot be rolled back."""
        self._connection._transport.resume_reading()  # noqa: SLF001 - not public in the driver
        async with self._connection.cursor() as cursor:
            await cursor.execute(_NOT_TRANSACTIONAL)
            names = [row[0] for row in await cursor.fetchall()]
        if names:
            raise StatementRefused(
                f"the database has tables that cannot be rolled back: {and_more(names)}",
                endpoint=self._settings.endpoint,
            )

    async def roll_back(self) -> None:
        """End the transaction without its changes."""
        with suppress(Exception):
            async with asyncio.timeout(self._settings.connect_timeout):
                await _execute(self._connection, "ROLLBACK")

    def close(self) -> None:
        """Close the connection at once."""
        self._connection.close()


class _MySQLCursor:
    """An unbuffered result: the server sends rows as fast as they are read."""

    def __init__(
        self,
        connection: DriverConnection,
        settings: MySQLSettings,
        query: Query,
        deadline: Deadline,
        uids: frozenset[str] | None = None,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._query = query
        self._deadline = deadline
        self._uids = uids
        self._cursor = connection.cursor(SSCursor)
        self._columns: list[SourceColumn] = []

    async def execute(self) -> None:
        """Run the query up to its first row."""
        with translate_errors(self._explain):
            async with self._deadline.enforced():
                # An expression has another type than its column: ask for the columns first.
                fields = await _fields(self._connection, f"{self._query.sql(DIALECT)} LIMIT 0")
                self._columns = [column(field) for field in fields]
                bounded = [at for at, field in enumerate(fields) if may_be_large(field)]
                condition = "" if self._uids is None else self._condition(fields[0], self._uids)
                statement = self._query.sql(DIALECT, bounded=bounded, condition=condition)
                with _receiving(self._connection):
                    await self._cursor.execute(statement)

    def _condition(self, field: Any, uids: frozenset[str]) -> str:  # noqa: ANN401 - the driver has no types
        literals = uid_literals(field, uids)
        if literals is None:
            raise NotSelectable(
                "rows cannot be selected by a uid column of this type",
                endpoint=self._settings.endpoint,
                table=self._query.table,
            )
        return f"IN ({', '.join(literals) or 'NULL'})"

    @property
    def columns(self) -> list[SourceColumn]:
        """The columns, in the order of the query."""
        return self._columns

    async def fetch(self, limit: int, convert: PageConverter) -> ConvertedPage:
        """Return rows that have arrived, else up to `limit`; none at the end of the result."""
        with translate_errors(self._explain):
            rows = _received_rows(self._connection) or await self._next_rows(limit)
        return convert(rows)

    async def _next_rows(self, limit: int) -> list[tuple[Any, ...]]:
        """Wait for rows. Whether a packet is a row, the end or an error, the driver decides."""
        async with self._deadline.enforced():
            with _receiving(self._connection):
                size = 1 if _parse_rows else limit
                rows: list[tuple[Any, ...]] = await self._cursor.fetchmany(size)
        return [*rows, *_received_rows(self._connection)] if rows else []

    async def commit(self) -> None:
        """End the transaction, so that the server can drop the snapshot."""
        with translate_errors(self._explain):
            async with self._deadline.enforced():
                await _execute(self._connection, "COMMIT")

    def _explain(self, error: Exception) -> SourceError:
        return read_error(error, self._settings, self._query)


@contextmanager
def _receiving(connection: DriverConnection) -> Iterator[None]:
    """Receive bytes only inside the block.

    The driver buffers all bytes that arrive, whether rows are asked for or not. Without the pause,
    the rest of the table would be buffered while the caller processes a page.
    """
    transport = connection._transport  # noqa: SLF001 - not public in the driver
    transport.resume_reading()
    try:
        yield
    finally:
        if not transport.is_closing():
            transport.pause_reading()


def _received_rows(connection: DriverConnection) -> list[tuple[Any, ...]]:
    """Return rows of the result that have arrived; none if the driver does not show them.

    `fetchmany` awaits each row, which takes longer than to parse it. It returns only rows that are
    not returned here, and only it ends the result.
    """
    rows: list[tuple[Any, ...]] = []
    result = connection._result  # noqa: SLF001 - this and all below: not public in the driver
    if not _parse_rows or not result.unbuffered_active:
        return rows
    received = connection._proto  # noqa: SLF001
    # The row may be larger than a page.
    for end in (min(received.length, received.pos + _PARSED), received.length):
        received.pos, connection._next_seq_id = _parse_rows(  # noqa: SLF001
            received.buffer,
            received.pos,
            end,
            tuple(result.converters),
            connection._next_seq_id,  # noqa: SLF001
            rows,
            connection._deprecate_eof,  # noqa: SLF001
        )
        if rows:
            break
    return rows


async def _execute(connection: DriverConnection, statement: str, *arguments: str) -> None:
    connection._transport.resume_reading()  # noqa: SLF001 - not public in the driver
    async with connection.cursor() as cursor:
        await cursor.execute(statement, arguments or None)


async def _fields(connection: DriverConnection, statement: str) -> list[Any]:
    """Return the fields of a statement's result."""
    connection._transport.resume_reading()  # noqa: SLF001 - not public in the driver
    async with connection.cursor() as cursor:
        await cursor.execute(statement)
        return list(cursor._result.fields)  # noqa: SLF001
