"""The engine for SQLite files: reads in a thread, change notifications by `data_version`."""

import sqlite3

from lynq.api import SourceType
from lynq.api.source import SQLite
from lynq.sources.base import Engine, SourceFacts
from lynq.sources.query import Table
from lynq.sources.settings import ResolvedValues
from lynq.sources.sqlite.push import listen
from lynq.sources.sqlite.settings import DIALECT, SQLiteSettings
from lynq.sources.sqlite.source import SQLiteSource


def _settings(block: SQLite, values: ResolvedValues) -> SQLiteSettings:
    return SQLiteSettings(
        path=block.path, directory=values.sqlite_directory, max_bytes=values.max_bytes
    )


async def _inspect(_settings: SQLiteSettings, _table: Table) -> SourceFacts:
    """Return the facts of a file: it has no users."""
    return SourceFacts(
        version=f"SQLite {sqlite3.sqlite_version}", grants=("the file is opened read-only",)
    )


ENGINE = Engine(
    name=SourceType.SQLITE,
    dialect=DIALECT,
    settings=_settings,
    open=SQLiteSource,
    inspect=_inspect,
    listen=listen,
)
