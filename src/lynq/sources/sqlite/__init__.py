"""The engine for SQLite files: reads in a thread, change notifications by `data_version`."""

from lynq.api import SourceType
from lynq.api.source import SQLite
from lynq.sources.base import Engine
from lynq.sources.settings import ResolvedValues
from lynq.sources.sqlite.push import listen
from lynq.sources.sqlite.settings import DIALECT, SQLiteSettings
from lynq.sources.sqlite.source import SQLiteSource


def _settings(block: SQLite, values: ResolvedValues) -> SQLiteSettings:
    return SQLiteSettings(
        path=block.path, directory=values.sqlite_directory, max_bytes=values.max_bytes
    )


ENGINE = Engine(
    name=SourceType.SQLITE,
    dialect=DIALECT,
    settings=_settings,
    open=SQLiteSource,
    listen=listen,
)
