"""Push from PostgreSQL: one connection listens, for as long as the channel lasts.

The connection is not one of the pool's: it listens for hours, and a pool would unlisten it. It is
asked something every few seconds. The answer shows that the connection is alive, which a silent
one does not, and whether a trigger notifies the channel at all: without one the channel would be
up and silent for ever. Notifications are taken even then, they may be an application's own.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import asyncpg

from lynq.sources.errors import Interrupted, MissingTable, MissingTrigger
from lynq.sources.postgresql.source import connect
from lynq.sources.postgresql.types import connect_error
from lynq.sources.push.channel import ChangeNotifier, PushTiming
from lynq.sources.push.postgresql_trigger import channel_of
from lynq.sources.query import POSTGRESQL, Table
from lynq.sources.settings import PostgreSQLSettings

_FAREWELL_SECONDS = 1.0
_TABLES = frozenset(("r", "p", "f"))

_FIND = """
SELECT namespace.nspname, class.relname, class.relkind::text
FROM pg_catalog.pg_class AS class
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = class.relnamespace
WHERE class.oid = pg_catalog.to_regclass($1)
"""
# Arguments of a trigger are stored one after the other, each ended by a zero byte. O and A fire for
# ordinary sessions; D is disabled, R fires for replication alone.
_NOTIFIED = """
SELECT EXISTS (
  SELECT FROM pg_catalog.pg_trigger
  WHERE tgargs = convert_to($1, getdatabaseencoding()) || '\\x00'::bytea AND tgenabled IN ('O', 'A')
)
"""


async def listen(
    settings: PostgreSQLSettings, table: Table, timing: PushTiming, bell: ChangeNotifier
) -> None:
    """Ring the bell when the table changes, until the channel is lost or closed."""
    connection = await connect(settings)
    try:
        # Logged in is not answered: silence counts from here on.
        async with asyncio.timeout(timing.silence):
            watched = await _find(connection, table, settings)
        await _follow(connection, watched, timing, bell)
    except TimeoutError:
        raise Interrupted("the server has gone silent", place=settings.place) from None
    except asyncpg.PostgresError as error:
        raise connect_error(error, settings) from None
    except (asyncpg.InterfaceError, OSError):
        raise _broken(settings) from None
    finally:
        await _hang_up(connection)


@dataclass(frozen=True, slots=True)
class _WatchedRelations:
    """The table as the server names it, and the channel that tells of it."""

    table: Table
    is_view: bool
    settings: PostgreSQLSettings

    @property
    def channel(self) -> str:
        return channel_of(self.table.schema, self.table.name)

    def missing_trigger(self) -> MissingTrigger:
        where = f"--table THE_TABLE --for {self.table}" if self.is_view else f"--table {self.table}"
        on = "the tables behind this view notify" if self.is_view else "the table notifies"
        return MissingTrigger(
            f"no trigger on {on} the channel {self.channel!r}: run what"
            f" `lynq source sql-trigger {where}` prints",
            place=self.settings.place,
            table=str(self.table),
        )


async def _find(connection: Any, table: Table, settings: PostgreSQLSettings) -> _WatchedRelations:  # noqa: ANN401
    found = await connection.fetchrow(_FIND, table.quoted(POSTGRESQL))
    if not found:
        raise MissingTable("there is no such table or view", place=settings.place, table=str(table))
    schema, name, kind = found
    return _WatchedRelations(Table(schema, name), kind not in _TABLES, settings)


async def _follow(
    connection: Any,  # noqa: ANN401 - the driver has no types
    watched: _WatchedRelations,
    timing: PushTiming,
    bell: ChangeNotifier,
) -> None:
    """Listen, and see every now and then whether there is anything to hear."""
    gone = asyncio.Event()
    connection.add_termination_listener(lambda _: gone.set())
    async with asyncio.timeout(timing.silence):
        await connection.add_listener(watched.channel, lambda *_: bell.changed())
    notified = False
    # Half of the silence may pass before we ask, and half before we give up on the answer.
    patience = timing.silence / 2
    while True:
        before, notified = (
            notified,
            await connection.fetchval(_NOTIFIED, watched.channel, timeout=patience),
        )
        if not notified:
            bell.lost(watched.missing_trigger())
        elif not before:
            bell.connected()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await gone.wait()
            raise _broken(watched.settings)


def _broken(settings: PostgreSQLSettings) -> Interrupted:
    return Interrupted("the connection broke off", place=settings.place)


async def _hang_up(connection: Any) -> None:  # noqa: ANN401
    """Say goodbye, but do not wait long for an answer."""
    with suppress(Exception):
        await connection.close(timeout=_FAREWELL_SECONDS)
