"""Reads tables of PostgreSQL through asyncpg.

The transaction is set up so that a value has the same text on every server.
"""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import asyncpg

from lynq.sources.errors import Interrupted, NotSelectable, SourceError, translate_errors
from lynq.sources.network import connect_within
from lynq.sources.pool import ServerSource
from lynq.sources.postgresql.login import guard_logins
from lynq.sources.postgresql.settings import DIALECT, PostgreSQLSettings
from lynq.sources.postgresql.types import (
    column,
    connect_error,
    is_sent_as_text,
    may_be_large,
    read_error,
    uid_parameter,
)
from lynq.sources.query import Query
from lynq.sources.read import Deadline, PageConverter
from lynq.sources.resolver import ServerAddress
from lynq.sources.rows import ConvertedPage, SourceColumn
from lynq.sources.statement import statement_failed

# asyncpg has no types.
DriverConnection = Any

# The snapshot is taken before the locks. While the read waits for a lock, another transaction may
# truncate, rewrite or replace the table. PostgreSQL then shows a table without rows, and no error.
# In the snapshot, pg_class has another file for such a table than the server has, or no entry at
# all. (Mapped catalogs have 0.)
_REWRITTEN = """
SELECT EXISTS (
  SELECT FROM pg_catalog.pg_locks AS held
  LEFT JOIN pg_catalog.pg_class AS class ON class.oid = held.relation
  WHERE held.locktype = 'relation' AND held.pid = pg_catalog.pg_backend_pid()
    AND held.database <> 0
    AND (class.oid IS NULL OR class.relfilenode <> 0
      AND class.relfilenode <> pg_catalog.pg_relation_filenode(class.oid))
)
"""


def open_postgresql(settings: PostgreSQLSettings) -> ServerSource:
    """Return the source that the settings describe; it connects when it is first read."""

    async def connect_pooled() -> _PostgreSQLConnection:
        return _PostgreSQLConnection(await connect(settings), settings)

    return ServerSource(settings, connect_pooled)


async def connect(settings: PostgreSQLSettings) -> DriverConnection:
    """Return a new connection.

    Every parameter is set explicitly: the driver takes missing ones from the environment.
    """
    guard_logins()

    async def attempt(context: ssl.SSLContext | None, address: ServerAddress) -> DriverConnection:
        with translate_errors(lambda error: connect_error(error, settings)):
            return await asyncpg.connect(
                host=address.ip,
                port=settings.port,
                user=settings.username,
                password=settings.password,
                database=settings.database,
                ssl=context or False,
                direct_tls=False,
                target_session_attrs="any",
                timeout=settings.connect_timeout,
                # A cached plan would outlive a change of the table's columns.
                statement_cache_size=0,
                server_settings={"application_name": "lynq"},
            )

    return await connect_within(settings, attempt)


def _begin_statements(settings: PostgreSQLSettings, mode: str = "READ ONLY") -> str:
    """Return the statements that begin a transaction, for one round trip.

    They are local to the transaction: a connection pooler shares sessions with other clients. The
    server stops a statement a little after queryTimeout, so that no query keeps running when the
    connection is lost. It gives up on a lock a little earlier, so that the error names the lock.
    Sequential scans start at the beginning of the table, so that rows come in the same order each
    time.
    """
    limit = int(settings.query_timeout * 1000)
    local = {
        "statement_timeout": limit + 1000,
        "idle_in_transaction_session_timeout": limit + 1000,
        "lock_timeout": max(1, int(limit * 0.9)),
        "timezone": "'UTC'",
        "datestyle": "'ISO, YMD'",
        "intervalstyle": "'postgres'",
        "extra_float_digits": 1,
        "synchronize_seqscans": "off",
    }
    statements = [f"SET LOCAL {name} = {value}" for name, value in local.items()]
    return "; ".join([f"BEGIN ISOLATION LEVEL REPEATABLE READ {mode}", *statements])


class _PostgreSQLConnection:
    """A connection of the pool."""

    def __init__(self, connection: DriverConnection, settings: PostgreSQLSettings) -> None:
        self._connection = connection
        self._settings = settings

    async def begin(self) -> None:
        """Begin a read-only transaction; raise if the connection is dead."""
        with translate_errors(lambda error: connect_error(error, self._settings)):
            async with asyncio.timeout(self._settings.connect_timeout):
                await self._connection.execute(_begin_statements(self._settings))

    def cursor(
        self, query: Query, deadline: Deadline, uids: frozenset[str] | None = None
    ) -> "_PostgreSQLCursor":
        """Return a cursor for the query, or for its rows with some uids; nothing is sent yet."""
        return _PostgreSQLCursor(self._connection, self._settings, query, deadline, uids)

    async def begin_with(self, statement: str, deadline: Deadline) -> None:
        """Begin a transaction that writes, and run one statement in it."""
        with translate_errors(lambda error: statement_failed(error, self._settings.endpoint)):
            async with deadline.enforced():
                await self._connection.execute(_begin_statements(self._settings, "READ WRITE"))
                # Prepared: the server accepts one statement only.
                prepared = await self._connection.prepare(statement)
                await prepared.fetch()

    async def roll_back(self) -> None:
        """End the transaction without its changes."""
        with suppress(Exception):
            async with asyncio.timeout(self._settings.connect_timeout):
                await self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection at once."""
        self._connection.terminate()


class _PostgreSQLCursor:
    """A server-side cursor."""

    def __init__(
        self,
        connection: DriverConnection,
        settings: PostgreSQLSettings,
        query: Query,
        deadline: Deadline,
        uids: frozenset[str] | None = None,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._query = query
        self._deadline = deadline
        self._uids = uids
        self._cursor: Any = None
        self._columns: list[SourceColumn] = []

    async def execute(self) -> None:
        """Open the cursor."""
        with translate_errors(self._explain):
            async with self._deadline.enforced():
                prepared = await self._connection.prepare(self._query.sql(DIALECT))
                self._columns = [column(each) for each in prepared.get_attributes()]
                as_text = _positions(self._columns, is_sent_as_text)
                bounded = _positions(self._columns, may_be_large)
                condition, parameters = self._condition()
                if as_text or bounded or condition:
                    sql = self._query.sql(
                        DIALECT, as_text=as_text, bounded=bounded, condition=condition
                    )
                    prepared = await self._connection.prepare(sql)
                self._cursor = await prepared.cursor(*parameters)

    def _condition(self) -> tuple[str, tuple[list[Any], ...]]:
        """Return the condition that selects the uids, and its parameters."""
        if self._uids is None:
            return "", ()
        selection = uid_parameter(self._columns[0], self._uids)
        if selection is None:
            raise NotSelectable(
                "rows cannot be selected by a uid column of this type",
                endpoint=self._settings.endpoint,
                table=self._query.table,
            )
        cast, values = selection
        return f"= ANY($1{cast})", (values,)

    @property
    def columns(self) -> list[SourceColumn]:
        """The columns, in the order of the query."""
        return self._columns

    async def fetch(self, limit: int, convert: PageConverter) -> ConvertedPage:
        """Return up to `limit` rows; none at the end of the result."""
        with translate_errors(self._explain):
            async with self._deadline.enforced():
                rows: list[Sequence[Any]] = await self._cursor.fetch(limit)
        return convert(rows)

    async def commit(self) -> None:
        """End the transaction; raise if the snapshot is older than the table's content."""
        with translate_errors(self._explain):
            async with self._deadline.enforced():
                if await self._connection.fetchval(_REWRITTEN):
                    raise Interrupted(
                        "the table was rewritten or replaced while the read began; the next read"
                        " sees its rows",
                        endpoint=self._settings.endpoint,
                        table=self._query.table,
                    )
                await self._connection.execute("COMMIT")

    def _explain(self, error: Exception) -> SourceError:
        return read_error(error, self._settings, self._query)


def _positions(
    columns: Sequence[SourceColumn], predicate: Callable[[SourceColumn], bool]
) -> list[int]:
    return [position for position, each in enumerate(columns) if predicate(each)]
