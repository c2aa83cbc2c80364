"""Rows from MySQL, PostgreSQL and SQLite: complete or failed, never some; see docs/sources.md."""

from lynq.sources.errors import Place, SourceError
from lynq.sources.opening import open_source
from lynq.sources.protocol import Change, ChangeKind, Changes, Source
from lynq.sources.query import Query
from lynq.sources.reading import Reading, Summary
from lynq.sources.rows import Row
from lynq.sources.settings import TLS, MySQLSettings, PostgreSQLSettings, Settings, SQLiteSettings

__all__ = [
    "TLS",
    "Change",
    "ChangeKind",
    "Changes",
    "MySQLSettings",
    "Place",
    "PostgreSQLSettings",
    "Query",
    "Reading",
    "Row",
    "SQLiteSettings",
    "Settings",
    "Source",
    "SourceError",
    "Summary",
    "open_source",
]
