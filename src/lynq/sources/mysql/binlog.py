"""Follows a MySQL or MariaDB server's binlog in a thread, and reports changes of a table.

The binlog contains every change of the whole server. Only events of the watched table are
evaluated. Of their rows only the uid is decoded (`lynq.sources.mysql.row_images`): the hub's rows
come from its own read. A change whose rows are unknown, as of an event that the library cannot
parse, is reported too: an unnecessary read is cheap, while a missed change waits for the next poll.

Following starts at the current end of the binlog and never resumes: after a reconnect, the hub
reads the table. So no position is stored, and none can be purged while the channel is down.

The library reconnects by itself, without a report, when the connection is lost. It gets its
connections from `connect` below, one of each kind, so its third request means that a connection was
lost.
"""

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pymysql
from pymysql.cursors import Cursor, DictCursor
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.event import NotImplementedEvent, QueryEvent, RotateEvent, XidEvent
from pymysqlreplication.row_event import (
    DeleteRowsEvent,
    TableMapEvent,
    UpdateRowsEvent,
    WriteRowsEvent,
)

from lynq.api import TlsMode
from lynq.sources.errors import Interrupted, SourceError
from lynq.sources.mysql.login import Login, announced_plugin
from lynq.sources.mysql.preflight import (
    BinlogStart,
    Rows,
    WatchedTable,
    binlog_error,
    preflight,
)
from lynq.sources.mysql.row_images import UidColumn, changed_uids, find_uid_column
from lynq.sources.mysql.settings import MySQLSettings, login_arguments
from lynq.sources.network import tls_context
from lynq.sources.push.thread import CancellableSocket
from lynq.sources.query import Table
from lynq.sources.settings import TLS

# Manually assigned ids are far smaller. Two channels rarely draw the same of two billion ids; the
# channel that is disconnected then draws another one.
_SERVER_IDS = range(2**31, 2**32)
_HEARTBEATS_PER_SILENCE = 3
_ROWS = (WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent)
# Events that do not show their tables: MySQL's compressed transactions and MariaDB's compressed
# statements.
_OPAQUE = frozenset((40, 165))
_TRANSACTIONS = ("begin", "commit", "rollback", "savepoint", "release savepoint")

# It warns about columns without names, which are not needed, and reconnects, which are prevented.
logging.getLogger("pymysqlreplication").setLevel(logging.ERROR)

# Neither driver has types.
Connection = Any
BinlogReader = Any
_PymysqlConnection: Any = pymysql.Connection


class _BinlogConnection(_PymysqlConnection):  # type: ignore[misc]
    """pymysql's connection, whose login `Login` answers."""

    _auth_plugin_name: str

    def __init__(self, settings: MySQLSettings, **arguments: object) -> None:
        super().__init__(**arguments)
        self._settings = settings
        self._is_logging_in = False

    def _get_server_information(self) -> None:
        self._is_logging_in = False
        super()._get_server_information()
        self._auth_plugin_name = announced_plugin(self._auth_plugin_name)
        self._is_logging_in = True

    def _read_packet(self, *packet_type: type) -> Any:  # noqa: ANN401 - the driver has no types
        packet = super()._read_packet(*packet_type)
        if not self._is_logging_in:
            return packet
        login = Login(self._settings, self._auth_plugin_name, self.salt, is_encrypted=self._secure)
        while not packet.is_ok_packet():
            answer = login.answer(packet.get_all_data())
            if answer is not None:
                self.write_packet(answer)
            packet = super()._read_packet()
        self._is_logging_in = False
        return packet


@dataclass(frozen=True, slots=True)
class BinlogFollower:
    """The work of the thread; `connected` and `changed` are thread-safe."""

    settings: MySQLSettings
    table: Table
    silence: float
    connected: Callable[[], object]
    changed: Callable[[frozenset[str] | None], object]
    uid: str = ""
    """The uid column; empty if the uids of changed rows are not needed."""

    def follow(self, control: CancellableSocket, stream: CancellableSocket) -> None:
        """Log in on both sockets and report changes; raise when the connection is lost."""
        try:
            with self._logged_in(control) as connection:
                execute = _execute_on(connection)
                start, watched = preflight(execute, self.table, self.settings.endpoint)
                reader = self._reader(connection, stream, start, watched)
                changes = RowChanges(watched, partial(find_uid_column, execute, watched, self.uid))
                try:
                    self._report(reader, changes)
                finally:
                    with suppress(pymysql.Error):
                        reader.close()
        except (pymysql.Error, OSError) as error:
            raise binlog_error(error, self.settings) from None

    def _report(self, reader: BinlogReader, changes: "RowChanges") -> None:
        # The first event confirms that the server sends from the requested position.
        reader.fetchone()
        self.connected()
        while event := self._next_event(reader):
            for uids in changes.of(event):
                self.changed(uids)
            if isinstance(event, XidEvent | QueryEvent):
                # It would grow with every ALTER TABLE.
                reader.table_map.clear()
        raise Interrupted("the server ended the stream of changes", endpoint=self.settings.endpoint)

    def _next_event(self, reader: BinlogReader) -> object:
        while True:
            try:
                event: object = reader.fetchone()
            except (pymysql.Error, OSError, SourceError):
                raise
            except Exception:  # noqa: BLE001 - an event that cannot be parsed may be a change
                self.changed(None)
            else:
                return event

    def _reader(
        self,
        control: Connection,
        stream: CancellableSocket,
        start: BinlogStart,
        watched: WatchedTable,
    ) -> BinlogReader:
        # The library requests the stream's connection first.
        connections: list[Callable[[], Connection]] = [
            lambda: control,
            lambda: self._log_in(stream, Cursor),
        ]

        def connect(**_: object) -> Connection:
            if connections:
                return connections.pop()()
            raise Interrupted("the connection was lost", endpoint=self.settings.endpoint)

        return BinLogStreamReader(
            # The library halves it, so that heartbeats arrive before the read times out.
            connection_settings={"read_timeout": self.silence},
            pymysql_wrapper=connect,
            server_id=random.choice(_SERVER_IDS),  # noqa: S311 - no secret
            slave_heartbeat=self.silence / _HEARTBEATS_PER_SILENCE,
            blocking=True,
            resume_stream=True,
            log_file=start.file,
            log_pos=start.position,
            only_events=[
                RotateEvent,
                TableMapEvent,
                *_ROWS,
                XidEvent,
                QueryEvent,
                NotImplementedEvent,
            ],
            filter_non_implemented_events=False,
            # With lower_case_table_names=2, names in the binlog are in lower case.
            only_schemas=_both_cases(watched.schema),
            only_tables=_both_cases(watched.table) if watched.table else None,
            enable_logging=False,
        )

    @contextmanager
    def _logged_in(self, control: CancellableSocket) -> Iterator[Connection]:
        connection = self._log_in(control, DictCursor)
        try:
            yield connection
        finally:
            with suppress(pymysql.Error):
                connection.close()

    def _log_in(self, cancellable: CancellableSocket, cursor_class: type) -> Connection:
        connection = _BinlogConnection(
            self.settings,
            **login_arguments(self.settings),
            autocommit=True,
            cursorclass=cursor_class,
            read_timeout=self.silence,
            write_timeout=self.silence,
            program_name="lynq push",
            defer_connect=True,
            **_tls_arguments(self.settings.tls),
        )
        connection.connect(cancellable.socket)
        return connection


def _both_cases(name: str) -> set[str]:
    return {name, name.lower()}


def _tls_arguments(tls: TLS) -> dict[str, object]:
    """Return the driver's arguments; without any, it encrypts if the server offers TLS."""
    if tls.mode is TlsMode.PREFER:
        return {}
    return {"ssl": tls_context(tls), "ssl_disabled": tls.mode is TlsMode.DISABLE}


class RowChanges:
    """Which rows of the watched table the events of the binlog have changed."""

    def __init__(self, watched: WatchedTable, find_uid: Callable[[], UidColumn | None]) -> None:
        self._watched = watched
        self._find_uid = find_uid
        self._uid = find_uid()
        self._is_announced = False
        """Whether the table was announced, and none of its rows has followed."""

    def of(self, event: object) -> Iterator[frozenset[str] | None]:
        """Yield the uids of the rows that an event has changed; None if they are unknown."""
        if isinstance(event, TableMapEvent):
            self._is_announced = True
            return
        was_announced, self._is_announced = self._is_announced, False
        if isinstance(event, _ROWS):
            yield changed_uids(event, self._uid) if self._uid else None
        elif is_relevant(event, self._watched):
            # A DDL statement may move the column.
            self._uid = self._find_uid()
            yield None
        elif was_announced:
            # The rows are in an event that the library does not know, as a compressed one.
            yield None


def is_relevant(event: object, watched: WatchedTable) -> bool:
    """Return whether an event without rows may be a change of the table; True in doubt."""
    if isinstance(event, QueryEvent):
        return _mentions(event.query.casefold(), event.schema.decode(errors="replace"), watched)
    return isinstance(event, NotImplementedEvent) and event.event_type in _OPAQUE


def _mentions(statement: str, schema: str, watched: WatchedTable) -> bool:
    """Return whether a TRUNCATE, DDL or XA COMMIT statement may change the watched table."""
    if statement.startswith(_TRANSACTIONS):
        return False
    if statement.startswith("xa commit") or watched.schema.casefold() in statement:
        return True
    return watched.table.casefold() in statement if watched.table else schema == watched.schema


def _execute_on(connection: Connection) -> Callable[..., Rows]:
    def execute(statement: str, *values: str) -> Rows:
        with connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall())

    return execute
