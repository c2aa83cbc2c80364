"""What SQLite's error codes mean."""

import sqlite3

from lynq.sources import errors
from lynq.sources.errors import SourceError
from lynq.sources.query import Query
from lynq.sources.settings import SQLiteSettings

_CODES: dict[int, tuple[type[SourceError], str]] = {
    sqlite3.SQLITE_BUSY: (errors.Locked, "somebody holds a lock on the file"),
    sqlite3.SQLITE_LOCKED: (errors.Locked, "somebody holds a lock on it"),
    sqlite3.SQLITE_INTERRUPT: (errors.Interrupted, "the reading was broken off"),
    sqlite3.SQLITE_IOERR: (errors.Interrupted, "the file could not be read to its end"),
    sqlite3.SQLITE_CANTOPEN: (
        errors.MissingGrant,
        "the operator may not open the file, or its journal",
    ),
    # To roll back what is half done is to write, which is not for us.
    sqlite3.SQLITE_READONLY: (
        errors.QueryFailed,
        "a writer died in the middle of a transaction: the next one to open the file repairs it",
    ),
    sqlite3.SQLITE_PERM: (errors.MissingGrant, "the operator may not read the file"),
    sqlite3.SQLITE_AUTH: (errors.MissingGrant, "the operator may not read it"),
    sqlite3.SQLITE_NOTADB: (errors.QueryFailed, "the file is no SQLite database"),
    sqlite3.SQLITE_CORRUPT: (errors.QueryFailed, "the file is damaged"),
}

_PRIMARY = 0xFF
"""Extended codes keep the primary one in their lowest byte."""


def read_error(error: Exception, settings: SQLiteSettings, query: Query) -> SourceError:
    """Say what an error means for a read that is under way."""
    stopped = sqlite3.SQLITE_INTERRUPT if isinstance(error, InterruptedError) else 0
    code = getattr(error, "sqlite_errorcode", stopped)
    kind, cause = _CODES.get(code & _PRIMARY) or _by_sentence(str(error), query)
    shown = getattr(error, "sqlite_errorname", type(error).__name__)
    return kind(f"{cause} ({shown})", place=settings.place, table=query.table, code=str(shown))


def _by_sentence(sentence: str, query: Query) -> tuple[type[SourceError], str]:
    """Tell apart what has no code of its own; SQLite's sentences are the same in all countries."""
    if sentence.startswith("no such table"):
        return errors.MissingTable, "there is no such table or view"
    if sentence.startswith("no such column"):
        missing = sentence.removeprefix("no such column: ")
        known = missing if missing in query.columns else "of that name"
        return errors.MissingColumn, f"there is no column {known}"
    if sentence.startswith("Could not decode to UTF-8"):
        return errors.QueryFailed, "a text in it is not UTF-8"
    return errors.QueryFailed, "SQLite said no"
