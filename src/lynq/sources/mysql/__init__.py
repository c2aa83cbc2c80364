"""The engine for MySQL and MariaDB: reads through asyncmy, change notifications by the binlog."""

from lynq.api import MySQL, SourceType
from lynq.sources.base import Engine
from lynq.sources.mysql.inspection import inspect
from lynq.sources.mysql.push import listen
from lynq.sources.mysql.settings import DIALECT, MySQLSettings
from lynq.sources.mysql.source import open_mysql
from lynq.sources.settings import ResolvedValues, server_settings


def _settings(block: MySQL, values: ResolvedValues) -> MySQLSettings:
    return server_settings(MySQLSettings, block, block.port, values)


ENGINE = Engine(
    name=SourceType.MYSQL,
    dialect=DIALECT,
    settings=_settings,
    open=open_mysql,
    inspect=inspect,
    listen=listen,
)
