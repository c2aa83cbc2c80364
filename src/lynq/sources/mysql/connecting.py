"""Connect to MySQL or MariaDB, with a session that reads the same everywhere."""

import socket
import ssl
from typing import Any

import asyncmy
from asyncmy.errors import OperationalError

from lynq.sources.mysql.failures import connect_error
from lynq.sources.network import connect_within
from lynq.sources.settings import MySQLSettings
from lynq.sources.telling import translate_errors

# Some ways to log in hand the server the password itself, and the server chooses the way.
_IN_CLEAR = ("mysql_clear_password", "dialog", "mysql_old_password")
_UNKNOWN_PLUGIN = 2059

_EVERYTHING = 2**64 - 1

_RECEIVED = 1 << 18
"""Bytes that the kernel holds for us: enough for 5 MB/s at a round trip of 50 ms."""


async def connect(settings: MySQLSettings) -> Any:  # noqa: ANN401 - the driver has no types
    """Return a new connection, ready to begin a reading."""

    async def attempt(context: ssl.SSLContext | None) -> Any:  # noqa: ANN401
        with translate_errors(lambda error: connect_error(error, settings)):
            return await _connect(settings, context)

    return await connect_within(settings, settings.place, attempt)


async def _connect(settings: MySQLSettings, context: ssl.SSLContext | None) -> Any:  # noqa: ANN401
    connection = await asyncmy.connect(
        host=settings.host,
        port=settings.port,
        user=settings.username,
        # As text, the driver would encode it as Latin-1.
        password=settings.password.encode(),
        database=settings.database,
        charset="utf8mb4",
        ssl=context,
        connect_timeout=settings.connect_timeout,
        # Nothing is converted: MySQL's own text is what we are after.
        conv={},
        autocommit=None,
        auth_plugin_map=dict.fromkeys(_IN_CLEAR, _only_encrypted),
        program_name="lynq",
    )
    try:
        _receive_little(connection)
        async with connection.cursor() as cursor:
            for statement in _session(settings, connection.get_server_info()):
                await cursor.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


def _receive_little(connection: Any) -> None:  # noqa: ANN401
    """Let no more arrive unasked than we are willing to hold; see `_receiving` in source.py.

    uvloop reads on for as long as there is something, before anybody can tell it to pause.
    """
    transport = connection._transport  # noqa: SLF001 - the driver has no other way to reach it
    arriving = transport.get_extra_info("socket")
    arriving.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)


def _session(settings: MySQLSettings, version: str) -> list[str]:
    """Return what makes a session ours.

    The server stops a statement a little after we have given up, so that nothing runs on when we
    cannot tell it any more. A `sql_select_limit` set by somebody would cut the result in silence,
    and a `yes` that is padded to the width of its CHAR column would be active no more.
    """
    limit = settings.query_timeout + 1
    stop = (
        f"max_statement_time = {limit:.3f}"
        if "MariaDB" in version
        else f"max_execution_time = {limit * 1000:.0f}"
    )
    locks = f"lock_wait_timeout = {max(1, int(settings.query_timeout * 0.9))}"
    return [
        f"SET SESSION time_zone = '+00:00', sql_select_limit = {_EVERYTHING}, {stop}, {locks}",
        "SET SESSION sql_mode = REPLACE(@@sql_mode, 'PAD_CHAR_TO_FULL_LENGTH', '')",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    ]


def _only_encrypted(connection: Any) -> None:  # noqa: ANN401
    """Refuse to show the password on a connection that anybody on the way can read."""
    if not connection._secure:  # noqa: SLF001 - the driver tells it nowhere else
        raise OperationalError(_UNKNOWN_PLUGIN, "not without TLS")
