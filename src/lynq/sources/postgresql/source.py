"""Read a table of PostgreSQL."""

from collections.abc import Callable, Sequence
from typing import Any

from lynq.sources.columns import Column
from lynq.sources.deadline import Deadline
from lynq.sources.errors import SourceError
from lynq.sources.postgresql.columns import column, written_by_server
from lynq.sources.postgresql.connecting import begin, connect
from lynq.sources.postgresql.failures import while_reading
from lynq.sources.query import POSTGRESQL, Query
from lynq.sources.server import ServerSource
from lynq.sources.settings import PostgreSQLSettings
from lynq.sources.telling import told


def open_postgresql(settings: PostgreSQLSettings) -> ServerSource[Any]:
    """Return the source that the settings describe; it connects when it is first read."""
    return ServerSource(
        settings,
        connect=lambda: connect(settings),
        begin=lambda connection: begin(connection, settings),
        discard=lambda connection: connection.terminate(),
        cursor=lambda connection, deadline, query: _Cursor(
            connection, deadline, lambda error: while_reading(error, settings, query)
        ),
    )


class _Cursor:
    """A server-side cursor, fetched from page by page."""

    def __init__(
        self,
        connection: Any,  # noqa: ANN401 - the driver has no types
        deadline: Deadline,
        explain: Callable[[Exception], SourceError],
    ) -> None:
        self._connection = connection
        self._deadline = deadline
        self._explain = explain
        self._cursor: Any = None
        self._columns: list[Column] = []

    async def begin(self, query: Query) -> None:
        """Open the cursor."""
        with told(self._explain):
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
    def columns(self) -> list[Column]:
        """The columns, in the order of the query."""
        return self._columns

    async def page(self, limit: int) -> Sequence[Sequence[Any]]:
        """Return up to that many rows; none once the server has marked the end."""
        with told(self._explain):
            async with self._deadline.kept():
                rows: list[Sequence[Any]] = await self._cursor.fetch(limit)
                return rows

    async def end(self) -> None:
        """End the transaction, so that the server can forget the snapshot."""
        with told(self._explain):
            async with self._deadline.kept():
                await self._connection.execute("COMMIT")
