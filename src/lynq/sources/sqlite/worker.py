"""One reading of a SQLite file, all of it on one thread, ready to be stopped at any time."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lynq.sources import text_values
from lynq.sources.columns import ColumnKind, SourceColumn
from lynq.sources.query import SQLITE, Query, Table

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
