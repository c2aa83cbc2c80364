"""The error codes of SQLite."""

import sqlite3

from lynq.sources import errors
from lynq.sources.errors import SourceError
from lynq.sources.query import Query
from lynq.sources.sqlite.settings import SQLiteSettings

_CODES: dict[int, tuple[type[SourceError], str]] = {
    sqlite3.SQLITE_BUSY: (errors.Locked, "the file is locked by another process"),
    sqlite3.SQLITE_LOCKED: (errors.Locked, "the table is locked by another process"),
    sqlite3.SQLITE_INTERRUPT: (errors.Interrupted, "the read was interrupted"),
    sqlite3.SQLITE_IOERR: (errors.Interrupted, "the file could not be read completely"),
    sqlite3.SQLITE_CANTOPEN: (
        errors.MissingGrant,
        "the operator may not open the file or its journal",
    ),
    # A rollback of the unfinished transaction would write to the file, which is opened read-only.
    sqlite3.SQLITE_READONLY: (
        errors.QueryFailed,
        "a writer died in the middle of a transaction; the next writer repairs the file",
    ),
    sqlite3.SQLITE_PERM: (errors.MissingGrant, "the operator may not read the file"),
    sqlite3.SQLITE_AUTH: (errors.MissingGrant, "the operator may not read the table"),
    sqlite3.SQLITE_TOOBIG: (
        errors.TooLarge,
        "a value of a mapped column has more than 64 MiB: shorten it, or map another column",
    ),
    sqlite3.SQLITE_NOTADB: (errors.QueryFailed, "the file is no SQLite database"),
    sqlite3.SQLITE_CORRUPT: (errors.QueryFailed, "the file is damaged"),
}

PRIMARY_CODE = 0xFF
"""Extended codes contain the primary code in their lowest byte."""


def read_error(error: Exception, settings: SQLiteSettings, query: Query) -> SourceError:
    """Return the SourceError for an exception during a read."""
    default = sqlite3.SQLITE_INTERRUPT if isinstance(error, InterruptedError) else 0
    code = getattr(error, "sqlite_errorcode", default)
    kind, cause = _CODES.get(code & PRIMARY_CODE) or _by_message(str(error), query)
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return kind(f"{cause} ({name})", endpoint=settings.endpoint, table=query.table, code=str(name))


def _by_message(message: str, query: Query) -> tuple[type[SourceError], str]:
    """Classify errors without a code of their own; SQLite's messages are never translated."""
    if message.startswith("no such table"):
        return errors.MissingTable, "the table or view does not exist"
    if message.startswith("no such column"):
        missing = message.removeprefix("no such column: ")
        column = missing if missing in query.columns else "of that name"
        return errors.MissingColumn, f"there is no column {column}"
    if message.startswith("Could not decode to UTF-8"):
        return errors.QueryFailed, "the table contains a text that is not UTF-8"
    return errors.QueryFailed, "SQLite rejected the query"
