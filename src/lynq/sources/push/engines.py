"""Open the push channel of a source, whatever its engine.

Engines are imported when they are asked for: a driver costs memory, and most operators need one.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

from lynq.sources.base import ChangeStream
from lynq.sources.push.channel import PushTiming, listening
from lynq.sources.query import Table
from lynq.sources.settings import MySQLSettings, PostgreSQLSettings, Settings

# ruff: noqa: PLC0415


def open_changes(
    settings: Settings, table: str, timing: PushTiming | None = None
) -> AbstractAsyncContextManager[ChangeStream]:
    """Tell of changes to a table while the `async with` lasts; all failures are told there too.

    Only a table that could be no table at all is refused at once.
    """
    timing = timing or PushTiming()
    listen = partial(_engine(settings), settings, Table.named(table), timing)
    return listening(listen, timing)


def _engine(settings: Settings) -> Callable[..., Awaitable[None]]:
    if isinstance(settings, MySQLSettings):
        from lynq.sources.push import mysql

        return mysql.listen
    if isinstance(settings, PostgreSQLSettings):
        from lynq.sources.push import postgresql

        return postgresql.listen
    from lynq.sources.push import sqlite

    return sqlite.listen
