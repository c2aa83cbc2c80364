"""From settings to a source."""

from typing import assert_never

from lynq.sources.base import Source
from lynq.sources.mysql.source import open_mysql
from lynq.sources.postgresql.source import open_postgresql
from lynq.sources.settings import MySQLSettings, PostgreSQLSettings, Settings, SQLiteSettings
from lynq.sources.sqlite.source import SQLiteSource


def open_source(settings: Settings) -> Source:
    """Return the source that the settings describe; it connects when it is first read."""
    match settings:
        case MySQLSettings():
            return open_mysql(settings)
        case PostgreSQLSettings():
            return open_postgresql(settings)
        case SQLiteSettings():
            return SQLiteSource(settings)
        case _:
            assert_never(settings)
