"""The engine for MySQL and MariaDB: reads through asyncmy, change notifications by the binlog."""

from dataclasses import replace

from lynq.api import MySQL, SourceType
from lynq.api.source import PasswordReceiver
from lynq.sources.base import Driver, Engine
from lynq.sources.mysql.settings import DIALECT, MySQLSettings
from lynq.sources.settings import ResolvedValues, server_settings


def _settings(block: MySQL, values: ResolvedValues) -> MySQLSettings:
    settings = server_settings(MySQLSettings, block, block.port, values)
    is_any = block.send_password_to is PasswordReceiver.ANY_SERVER
    return replace(settings, accepts_any_server=is_any)


def _driver() -> Driver[MySQLSettings]:
    from lynq.sources.mysql.inspection import inspect  # noqa: PLC0415 - see `Engine.driver`
    from lynq.sources.mysql.push import listen  # noqa: PLC0415
    from lynq.sources.mysql.source import open_mysql  # noqa: PLC0415

    return Driver(open=open_mysql, inspect=inspect, listen=listen)


ENGINE = Engine(
    name=SourceType.MYSQL,
    dialect=DIALECT,
    settings=_settings,
    driver=_driver,
)
