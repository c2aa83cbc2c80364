"""Find out whether a MySQL or MariaDB server lets us follow its binlog, from where and for what.

All of it is asked before the binlog is, because a server that lacks something says so late, in a
word that explains little, or not at all: with the binlog off, or written as statements, a channel
would be up and silent. Grants are tried, not parsed: they also come by role, by wildcard and under
other names, and only the server knows what they amount to.

No driver here: `ask` runs a statement and returns rows by column, so every answer can be played.

What it means when a MySQL or MariaDB server refuses its binlog, or stops sending it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lynq.sources.errors import (
    Endpoint,
    Interrupted,
    MissingGrant,
    MissingSetting,
    MissingTable,
    SourceError,
)
from lynq.sources.mysql.types import connect_error
from lynq.sources.network import network_failure
from lynq.sources.query import Table
from lynq.sources.settings import MySQLSettings

Rows = list[dict[str, Any]]
Ask = Callable[..., Rows]

_VARIABLES = (
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_bin', 'binlog_format', 'server_id')"
)
_TABLE = (
    "SELECT TABLE_SCHEMA AS `schema`, TABLE_NAME AS `name`, TABLE_TYPE AS `type`"
    " FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
)
# MySQL renamed the statement in 8.2 and dropped the old one in 8.4; MariaDB kept it.
_STATUS = "SHOW MASTER STATUS"
_STATUS_RENAMED = "SHOW BINARY LOG STATUS"
_RENAMED_IN = (8, 2)


@dataclass(frozen=True, slots=True)
class WatchedTable:
    """What wakes the hub: a table, or for a view every table of its database."""

    schema: str
    table: str | None


@dataclass(frozen=True, slots=True)
class BinlogStart:
    """Where in the binlog to start."""

    file: str
    position: int


def preflight(ask: Ask, table: Table, place: Endpoint) -> tuple[BinlogStart, WatchedTable]:
    """Return where to start and what to watch, or raise what is in the way."""
    values = {row["Variable_name"]: row["Value"] for row in ask(_VARIABLES)}
    if problems := list(missing_settings(values)):
        raise MissingSetting(
            f"push needs {' and '.join(problems)} in the server's configuration", place=place
        )
    status = ask(status_statement(ask("SELECT VERSION() AS version")[0]["version"]))
    watched = _find(ask, table, place)
    if not status or is_filtered(watched.schema, status[0]):
        raise MissingSetting(
            "push needs the database in the binlog, but binlog_do_db or binlog_ignore_db"
            " leaves it out",
            place=place,
        )
    return BinlogStart(status[0]["File"], int(status[0]["Position"])), watched


def missing_settings(values: Mapping[str, str]) -> Iterator[str]:
    """Yield the settings that are not as push needs them, each with what it is now."""
    if values.get("log_bin", "ON") != "ON":
        yield "log_bin (is OFF)"
    # MySQL announced the end of this variable: without it, rows are what is logged.
    if (written := values.get("binlog_format", "ROW")) != "ROW":
        yield f"binlog_format=ROW (is {written})"
    if values.get("server_id", "1") == "0":
        yield "a server_id other than 0"


def status_statement(version: str) -> str:
    """Return how a server of that version is asked for the end of its binlog."""
    if "mariadb" in version.lower():
        return _STATUS
    try:
        major, minor = (int(part) for part in version.split(".")[:2])
    except ValueError:
        return _STATUS
    return _STATUS_RENAMED if (major, minor) >= _RENAMED_IN else _STATUS


def is_filtered(schema: str, status: Mapping[str, Any]) -> bool:
    """Say whether the server keeps that database out of its binlog."""
    only, never = (
        {name.strip() for name in str(status.get(key) or "").split(",") if name.strip()}
        for key in ("Binlog_Do_DB", "Binlog_Ignore_DB")
    )
    return (bool(only) and schema not in only) or schema in never


def _find(ask: Ask, table: Table, place: Endpoint) -> WatchedTable:
    """Look up how the server itself spells the table, and whether it is a view.

    With lower_case_table_names the hub may write Tenants for what the binlog calls tenants.
    """
    found = ask(_TABLE, table.schema or place.database, table.name)
    if not found:
        raise MissingTable(
            "there is no such table or view, or the user may not see it",
            place=place,
            table=str(table),
        )
    row = found[0]
    return WatchedTable(row["schema"], None if "VIEW" in row["type"] else row["name"])


_NO_PRIVILEGE = 1227
_NO_BINLOG = 1236
_BROKEN = frozenset((1152, 1158, 1317, 1927, 2006, 2013, 3169, 4031))
# The server's sentence is the only thing that tells these two apart; it is looked at, not shown.
_CLASH = "same server"


def binlog_error(error: Exception, settings: MySQLSettings) -> SourceError:
    """Return the error to raise for one of the driver or the network."""
    place = settings.place
    if isinstance(cause := getattr(error, "original_exception", error), OSError):
        return network_failure(cause, place)
    code = error.args[0] if error.args else 0
    if code == _NO_PRIVILEGE:
        return MissingGrant(
            f"user {settings.username} may not follow the binlog:"
            " GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO that user"
            " (MariaDB shows the second one as BINLOG MONITOR)",
            place=place,
            code=str(code),
        )
    if code == _NO_BINLOG and _CLASH in str(error.args[-1]):
        return Interrupted("another replica has our server id; we take another one", place=place)
    if code == _NO_BINLOG:
        return Interrupted("the server cannot send its binlog from there (1236)", place=place)
    if code in _BROKEN:
        return Interrupted(f"the connection broke off ({code})", place=place, code=str(code))
    return connect_error(error, settings)
