"""Push from PostgreSQL: one connection listens for as long as the channel is open.

The connection does not belong to the pool of the reads. It is queried every few seconds. The
response shows that the connection is alive, and whether a trigger notifies the channel at all:
without one the channel would be connected and silent forever. Notifications are reported even then,
because an application may send them itself.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

import asyncpg

from lynq.sources.errors import Interrupted, MissingTable, MissingTrigger
from lynq.sources.postgresql.settings import DIALECT, PostgreSQLSettings
from lynq.sources.postgresql.source import DriverConnection, connect
from lynq.sources.postgresql.trigger import channel_of, uids_in
from lynq.sources.postgresql.types import connect_error
from lynq.sources.push.channel import ChangeNotifier, PushTiming
from lynq.sources.query import Table

_CLOSE_TIMEOUT = 1.0
_TABLE_KINDS = frozenset(("r", "p", "f"))

_FIND = """
SELECT namespace.nspname, class.relname, class.relkind::text
FROM pg_catalog.pg_class AS class
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = class.relnamespace
WHERE class.oid = pg_catalog.to_regclass($1)
"""
# tgargs holds the arguments of a trigger, each ended by a zero byte. O and A fire in ordinary
# sessions; D is disabled, R fires only in replication.
_HAS_TRIGGER = """
SELECT EXISTS (
  SELECT FROM pg_catalog.pg_trigger
  WHERE tgargs = convert_to($1, getdatabaseencoding()) || '\\x00'::bytea AND tgenabled IN ('O', 'A')
)
"""


async def listen(
    settings: PostgreSQLSettings,
    table: Table,
    uid: str,
    timing: PushTiming,
    notifier: ChangeNotifier,
) -> None:
    """Report changes of the table until the channel is lost or closed."""
    connection = await connect(settings)
    try:
        # connectTimeout covers the login; every later query is bounded by the silence timeout.
        async with asyncio.timeout(timing.silence):
            watched = await _find_table(connection, table, uid, settings)
        await _follow(connection, watched, timing, notifier)
    except TimeoutError:
        raise Interrupted("the server does not respond", endpoint=settings.endpoint) from None
    except asyncpg.PostgresError as error:
        raise connect_error(error, settings) from None
    except (asyncpg.InterfaceError, OSError):
        raise _connection_lost(settings) from None
    finally:
        await _close(connection)


@dataclass(frozen=True, slots=True)
class _WatchedTable:
    """The table under the server's own name, and its notification channel."""

    table: Table
    is_view: bool
    uid: str
    settings: PostgreSQLSettings

    @property
    def channel(self) -> str:
        return channel_of(self.table.schema, self.table.name)

    def missing_trigger(self) -> MissingTrigger:
        if self.is_view:
            subject, options = "the tables of this view", f"--table TABLE --for {self.table}"
        else:
            subject, options = "the table", f"--table {self.table}"
        return MissingTrigger(
            f"no trigger on {subject} notifies the channel {self.channel!r}: run the SQL that"
            f" `lynq source sql-trigger {options}` prints",
            endpoint=self.settings.endpoint,
            table=str(self.table),
        )


async def _find_table(
    connection: DriverConnection, table: Table, uid: str, settings: PostgreSQLSettings
) -> _WatchedTable:
    row = await connection.fetchrow(_FIND, table.quoted(DIALECT))
    if not row:
        raise MissingTable(
            "the table or view does not exist", endpoint=settings.endpoint, table=str(table)
        )
    schema, name, kind = row
    return _WatchedTable(Table(schema, name), kind not in _TABLE_KINDS, uid, settings)


async def _follow(
    connection: DriverConnection,
    watched: _WatchedTable,
    timing: PushTiming,
    notifier: ChangeNotifier,
) -> None:
    """Listen, and check periodically that the connection is alive and a trigger exists."""
    terminated = asyncio.Event()
    connection.add_termination_listener(lambda _: terminated.set())
    async with asyncio.timeout(timing.silence):
        await connection.add_listener(
            watched.channel,
            lambda _connection, _pid, _channel, payload: notifier.changed(
                uids_in(payload, watched.uid)
            ),
        )
    had_trigger = False
    # A dead connection is noticed within `silence`: half between two checks, half for a response.
    interval = timing.silence / 2
    while True:
        has_trigger = await connection.fetchval(_HAS_TRIGGER, watched.channel, timeout=interval)
        if not has_trigger:
            notifier.lost(watched.missing_trigger())
        elif not had_trigger:
            notifier.connected()
        had_trigger = has_trigger
        with suppress(TimeoutError):
            async with asyncio.timeout(interval):
                await terminated.wait()
            raise _connection_lost(watched.settings)


def _connection_lost(settings: PostgreSQLSettings) -> Interrupted:
    return Interrupted("the connection was lost", endpoint=settings.endpoint)


async def _close(connection: DriverConnection) -> None:
    """Close the connection gracefully, but do not wait long for the server."""
    with suppress(Exception):
        await connection.close(timeout=_CLOSE_TIMEOUT)
