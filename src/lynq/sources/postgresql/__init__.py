"""The engine for PostgreSQL: reads through asyncpg, change notifications by LISTEN/NOTIFY."""

from lynq.api import PostgreSQL, SourceType
from lynq.sources.base import Engine
from lynq.sources.postgresql.inspection import inspect
from lynq.sources.postgresql.push import listen
from lynq.sources.postgresql.settings import DIALECT, PostgreSQLSettings
from lynq.sources.postgresql.source import open_postgresql
from lynq.sources.settings import ResolvedValues, server_settings


def _settings(block: PostgreSQL, values: ResolvedValues) -> PostgreSQLSettings:
    return server_settings(PostgreSQLSettings, block, block.port, values)


ENGINE = Engine(
    name=SourceType.POSTGRESQL,
    dialect=DIALECT,
    settings=_settings,
    open=open_postgresql,
    inspect=inspect,
    listen=listen,
)
