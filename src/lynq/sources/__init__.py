"""Rows from MySQL, PostgreSQL and SQLite: complete or failed, never some; see docs/sources.md."""

from lynq.sources.base import ChangeStream, Source, SourceChange, SourceChangeKind
from lynq.sources.engines import open_source
from lynq.sources.errors import Endpoint, SourceError
from lynq.sources.query import Query
from lynq.sources.read import Reading, ReadSummary
from lynq.sources.rows import Row
from lynq.sources.settings import TLS, MySQLSettings, PostgreSQLSettings, Settings, SQLiteSettings

__all__ = [
    "TLS",
    "ChangeStream",
    "Endpoint",
    "MySQLSettings",
    "PostgreSQLSettings",
    "Query",
    "ReadSummary",
    "Reading",
    "Row",
    "SQLiteSettings",
    "Settings",
    "Source",
    "SourceChange",
    "SourceChangeKind",
    "SourceError",
    "open_source",
]
