"""The engine for PostgreSQL: reads through asyncpg, change notifications by LISTEN/NOTIFY."""

from lynq.api import PostgreSQL, SourceType
from lynq.sources.base import Driver, Engine
from lynq.sources.postgresql.settings import DIALECT, PostgreSQLSettings
from lynq.sources.settings import ResolvedValues, server_settings


def _settings(block: PostgreSQL, values: ResolvedValues) -> PostgreSQLSettings:
    return server_settings(PostgreSQLSettings, block, block.port, values)


def _driver() -> Driver[PostgreSQLSettings]:
    from lynq.sources.postgresql.inspection import inspect  # noqa: PLC0415 - see `Engine.driver`
    from lynq.sources.postgresql.push import listen  # noqa: PLC0415
    from lynq.sources.postgresql.source import open_postgresql  # noqa: PLC0415

    return Driver(open=open_postgresql, inspect=inspect, listen=listen)


ENGINE = Engine(
    name=SourceType.POSTGRESQL,
    dialect=DIALECT,
    settings=_settings,
    driver=_driver,
)
