"""The engine for SQLite files: reads in a thread, change notifications by `data_version`."""

from lynq.api import SourceType
from lynq.api.source import SQLite
from lynq.sources.base import Driver, Engine
from lynq.sources.settings import ResolvedValues
from lynq.sources.sqlite.settings import DIALECT, SQLiteSettings


def _settings(block: SQLite, values: ResolvedValues) -> SQLiteSettings:
    return SQLiteSettings(
        path=block.path, directory=values.sqlite_directory, max_bytes=values.max_bytes
    )


def _driver() -> Driver[SQLiteSettings]:
    from lynq.sources.sqlite.push import listen  # noqa: PLC0415 - see `Engine.driver`
    from lynq.sources.sqlite.source import SQLiteSource, inspect  # noqa: PLC0415

    return Driver(open=SQLiteSource, inspect=inspect, listen=listen)


ENGINE = Engine(
    name=SourceType.SQLITE,
    dialect=DIALECT,
    settings=_settings,
    driver=_driver,
)
