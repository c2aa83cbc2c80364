"""Rows from databases: a read is complete or it fails; see docs/reference/sources.md."""

from lynq.sources.base import Source
from lynq.sources.engines import ENGINES, open_changes, open_source
from lynq.sources.errors import Endpoint, SourceError
from lynq.sources.mysql.settings import MySQLSettings
from lynq.sources.postgresql.settings import PostgreSQLSettings
from lynq.sources.push.channel import ChangeStream, SourceChange, SourceChangeKind
from lynq.sources.query import Query
from lynq.sources.read import Reading, ReadSummary
from lynq.sources.rows import Row
from lynq.sources.settings import TLS, ResolvedValues, Settings
from lynq.sources.sqlite.settings import SQLiteSettings

__all__ = [
    "ENGINES",
    "TLS",
    "ChangeStream",
    "Endpoint",
    "MySQLSettings",
    "PostgreSQLSettings",
    "Query",
    "ReadSummary",
    "Reading",
    "ResolvedValues",
    "Row",
    "SQLiteSettings",
    "Settings",
    "Source",
    "SourceChange",
    "SourceChangeKind",
    "SourceError",
    "open_changes",
    "open_source",
]
