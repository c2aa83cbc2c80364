"""Follow a MySQL or MariaDB server's binlog in a thread, and say when a table has changed.

The binlog carries every change of the whole server. We look only at the events that name a table:
rows are skipped undecoded, so no column type can surprise us, no row metadata is needed in the
binlog, and what the hub sees comes from its own read. An event that the library cannot parse wakes
the hub too: one read too many costs little, a change overlooked waits for the poll.

We start at the end of the binlog, wherever that is, and never resume: whoever was away reads the
table anew. So no position is kept, and none can be purged while we are away.

The library reconnects by itself when the connection breaks, in silence. It gets its connections
from us, one of each kind, so the second time it asks we know, and the channel is lost properly.
"""

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql.constants import CR
from pymysql.cursors import Cursor, DictCursor
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.event import NotImplementedEvent, QueryEvent, RotateEvent
from pymysqlreplication.row_event import TableMapEvent

from lynq.api import TlsMode
from lynq.sources.errors import Interrupted, SourceError
from lynq.sources.push.mysql_preflight import (
    BinlogStart,
    Rows,
    WatchedTable,
    binlog_error,
    preflight,
)
from lynq.sources.push.thread import CancellableSocket
from lynq.sources.query import Table
from lynq.sources.settings import TLS, MySQLSettings
from lynq.sources.tls import tls_context

# Replicas that people number by hand are found far below; two of us rarely meet in two thousand
# millions, and who loses the number draws another one when it reconnects.
_SERVER_IDS = range(2**31, 2**32)
_HEARTBEATS_PER_SILENCE = 3
# Ways to log in that hand the server the password itself; the server chooses the way.
_IN_CLEAR = ("mysql_clear_password", "dialog", "mysql_old_password")
# Events that hide which tables they are about: MySQL's compressed transactions and MariaDB's
# compressed statements.
_OPAQUE = frozenset((40, 165))
_TRANSACTIONS = ("begin", "commit", "rollback", "savepoint", "release savepoint")

# It warns of columns without names, which we do not need, and of reconnecting, which we prevent.
logging.getLogger("pymysqlreplication").setLevel(logging.ERROR)

# Neither driver has types.
Connection = Any
BinlogReader = Any


@dataclass(frozen=True, slots=True)
class BinlogFollower:
    """Everything that the thread needs to know; `connected` and `changed` may be called there."""

    settings: MySQLSettings
    table: Table
    silence: float
    connected: Callable[[], object]
    changed: Callable[[], object]

    def follow(self, control: CancellableSocket, stream: CancellableSocket) -> None:
        """Log in on both lines and report until the connection is lost, which is raised."""
        try:
            with self._logged_in(control) as connection:
                start, watched = preflight(_asking(connection), self.table, self.settings.place)
                reader = self._reader(connection, stream, start, watched)
                try:
                    self._report(reader, watched)
                finally:
                    with suppress(pymysql.Error):
                        reader.close()
        except (pymysql.Error, OSError) as error:
            raise binlog_error(error, self.settings) from None

    def _report(self, reader: BinlogReader, watched: WatchedTable) -> None:
        # The first event is the server's word that it sends from where we asked.
        reader.fetchone()
        self.connected()
        while event := self._next(reader):
            if concerns(event, watched):
                self.changed()
        raise Interrupted("the server ended the stream of changes", place=self.settings.place)

    def _next(self, reader: BinlogReader) -> object:
        while True:
            try:
                event: object = reader.fetchone()
            except (pymysql.Error, OSError, SourceError):
                raise
            except Exception:  # noqa: BLE001 - whatever the parser tripped over, it was a change
                self.changed()
            else:
                return event
            finally:
                # Kept for decoding rows, which we do not; it would grow with every ALTER TABLE.
                reader.table_map.clear()

    def _reader(
        self,
        control: Connection,
        stream: CancellableSocket,
        start: BinlogStart,
        watched: WatchedTable,
    ) -> BinlogReader:
        log_ins: list[Callable[[], Connection]] = [
            lambda: control,
            lambda: self._log_in(stream, Cursor),
        ]

        def connect(**_: object) -> Connection:
            if log_ins:
                return log_ins.pop()()
            raise Interrupted("the connection broke off", place=self.settings.place)

        return BinLogStreamReader(
            # The library halves it to be sure that heartbeats come before we lose patience.
            connection_settings={"read_timeout": self.silence},
            pymysql_wrapper=connect,
            server_id=random.choice(_SERVER_IDS),  # noqa: S311 - no secret
            slave_heartbeat=self.silence / _HEARTBEATS_PER_SILENCE,
            blocking=True,
            resume_stream=True,
            log_file=start.file,
            log_pos=start.position,
            only_events=[RotateEvent, TableMapEvent, QueryEvent, NotImplementedEvent],
            filter_non_implemented_events=False,
            # With lower_case_table_names=2 the binlog has small letters where the server has not.
            only_schemas=_both_cases(watched.schema),
            only_tables=_both_cases(watched.table) if watched.table else None,
            enable_logging=False,
        )

    @contextmanager
    def _logged_in(self, line: CancellableSocket) -> Iterator[Connection]:
        connection = self._log_in(line, DictCursor)
        try:
            yield connection
        finally:
            with suppress(pymysql.Error):
                connection.close()

    def _log_in(self, line: CancellableSocket, cursors: type) -> Connection:
        settings = self.settings
        connection = pymysql.Connection(
            host=settings.host,
            port=settings.port,
            user=settings.username,
            # As text, the driver would encode it as Latin-1.
            password=settings.password.encode(),
            database=settings.database,
            charset="utf8mb4",
            autocommit=True,
            cursorclass=cursors,
            read_timeout=self.silence,
            write_timeout=self.silence,
            auth_plugin_map=dict.fromkeys(_IN_CLEAR, _only_encrypted),
            program_name="lynq push",
            defer_connect=True,
            **_encryption(settings.tls),
        )
        connection.connect(line.socket)
        return connection


def _both_cases(name: str) -> set[str]:
    return {name, name.lower()}


def _encryption(tls: TLS) -> dict[str, object]:
    """Return how the driver is told; without a word from us, it encrypts if the server offers."""
    if tls.mode is TlsMode.PREFER:
        return {}
    return {"ssl": tls_context(tls), "ssl_disabled": tls.mode is TlsMode.DISABLE}


def _only_encrypted(connection: Connection) -> None:
    """Refuse to show the password on a connection that anybody on the way can read."""
    if not connection._secure:  # noqa: SLF001 - the driver tells it nowhere else
        raise pymysql.OperationalError(CR.CR_AUTH_PLUGIN_CANNOT_LOAD, "not without TLS")


def concerns(event: object, watched: WatchedTable) -> bool:
    """Say whether an event may be about what is watched; in doubt, it is."""
    if isinstance(event, TableMapEvent):
        return True
    if isinstance(event, QueryEvent):
        return _names(event.query.casefold(), event.schema.decode(errors="replace"), watched)
    return isinstance(event, NotImplementedEvent) and event.event_type in _OPAQUE


def _names(statement: str, schema: str, watched: WatchedTable) -> bool:
    """Say whether a statement may be about what is watched: TRUNCATE, DDL and the end of XA."""
    if statement.startswith(_TRANSACTIONS):
        return False
    if statement.startswith("xa commit") or watched.schema.casefold() in statement:
        return True
    return watched.table.casefold() in statement if watched.table else schema == watched.schema


def _asking(connection: Connection) -> Callable[..., Rows]:
    def ask(statement: str, *values: str) -> Rows:
        with connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall())

    return ask
