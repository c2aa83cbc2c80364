"""Read a table of PostgreSQL."""

from collections.abc import Callable, Sequence
from typing import Any

from lynq.sources.columns import SourceColumn
from lynq.sources.deadline import Deadline
from lynq.sources.errors import Interrupted, SourceError
from lynq.sources.postgresql.connecting import begin, connect
from lynq.sources.postgresql.failures import read_error
from lynq.sources.postgresql.types import column, written_by_server
from lynq.sources.query import POSTGRESQL, Query
from lynq.sources.server import ServerSource
from lynq.sources.settings import PostgreSQLSettings
from lynq.sources.telling import translate_errors

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
