"""Read a table of PostgreSQL.

Connect to PostgreSQL, and begin a transaction that reads the same everywhere.
"""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from typing import Any

import asyncpg

from lynq.sources.errors import Interrupted, SourceError, translate_errors
from lynq.sources.network import connect_within
from lynq.sources.pool import ServerSource
from lynq.sources.postgresql.types import column, connect_error, read_error, written_by_server
from lynq.sources.query import POSTGRESQL, Query
from lynq.sources.read import Deadline
from lynq.sources.rows import SourceColumn
from lynq.sources.settings import PostgreSQLSettings


async def connect(settings: PostgreSQLSettings) -> Any:  # noqa: ANN401 - the driver has no types
    """Return a new connection. Every parameter is given: the driver would ask the environment."""

    async def attempt(context: ssl.SSLContext | None) -> Any:  # noqa: ANN401
        with translate_errors(lambda error: connect_error(error, settings)):
            return await asyncpg.connect(
                host=settings.host,
                port=settings.port,
                user=settings.username,
                password=settings.password,
                database=settings.database,
                ssl=context or False,
                direct_tls=False,
                target_session_attrs="any",
                timeout=settings.connect_timeout,
                # A plan that outlives the reading would be one for the columns of yesterday.
                statement_cache_size=0,
                server_settings={"application_name": "lynq"},
            )

    return await connect_within(settings, settings.place, attempt)


async def begin(connection: Any, settings: PostgreSQLSettings) -> None:  # noqa: ANN401
    """Begin the transaction of a reading, in one round trip."""
    with translate_errors(lambda error: connect_error(error, settings)):
        async with asyncio.timeout(settings.connect_timeout):
            await connection.execute(_beginning(settings))


def _beginning(settings: PostgreSQLSettings) -> str:
    """Return what makes a transaction ours.

    The settings are the transaction's own, not the session's: a connection pooler between us and
    the server would let others have them. The server gives up a little after we have, so that
    nothing runs on when we cannot tell it any more; a lock it gives up on a little before, to be
    able to say so. Scans always begin at the table's begin, so that the order is the same each
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
    return "; ".join(["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", *statements])


# The snapshot comes before the locks. If one of them was waited for, the table may have been
# truncated, rewritten or replaced meanwhile, by a transaction that the snapshot knows nothing of:
# PostgreSQL then shows a table without rows, and no error. Seen from the snapshot, pg_class has
# another file for it than the server has, or does not know it at all. (Mapped catalogs have 0.)
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


def open_postgresql(settings: PostgreSQLSettings) -> ServerSource[Any]:
    """Return the source that the settings describe; it connects when it is first read."""
    return ServerSource(
        settings,
        connect=lambda: connect(settings),
        begin=lambda connection: begin(connection, settings),
        discard=lambda connection: connection.terminate(),
        cursor=lambda connection, deadline, query: _PostgreSQLCursor(
            connection,
            deadline,
            lambda error: read_error(error, settings, query),
            Interrupted(
                "it was rewritten or replaced as the reading began; the next one sees its rows",
                place=settings.place,
                table=query.table,
            ),
        ),
    )


class _PostgreSQLCursor:
    """A server-side cursor, fetched from page by page."""

    def __init__(
        self,
        connection: Any,  # noqa: ANN401 - the driver has no types
        deadline: Deadline,
        explain: Callable[[Exception], SourceError],
        rewritten: SourceError,
    ) -> None:
        self._connection = connection
        self._deadline = deadline
        self._explain = explain
        self._rewritten = rewritten
        self._cursor: Any = None
        self._columns: list[SourceColumn] = []

    async def begin(self, query: Query) -> None:
        """Open the cursor."""
        with translate_errors(self._explain):
            async with self._deadline.kept():
                prepared = await self._connection.prepare(query.sql(POSTGRESQL))
                self._columns = [column(attribute) for attribute in prepared.get_attributes()]
                written = [
                    position
                    for position, each in enumerate(self._columns)
                    if written_by_server(each)
                ]
                if written:
                    sql = query.sql(POSTGRESQL, as_text=written)
                    prepared = await self._connection.prepare(sql)
                self._cursor = await prepared.cursor()

    @property
    def columns(self) -> list[SourceColumn]:
        """The columns, in the order of the query."""
        return self._columns

    async def page(self, limit: int) -> Sequence[Sequence[Any]]:
        """Return up to that many rows; none once the server has marked the end."""
        with translate_errors(self._explain):
            async with self._deadline.kept():
                rows: list[Sequence[Any]] = await self._cursor.fetch(limit)
                return rows

    async def end(self) -> None:
        """End the transaction, unless its snapshot could not see what was in the tables."""
        with translate_errors(self._explain):
            async with self._deadline.kept():
                if await self._connection.fetchval(_REWRITTEN):
                    raise self._rewritten
                await self._connection.execute("COMMIT")
