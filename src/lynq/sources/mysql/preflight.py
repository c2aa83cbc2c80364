"""Checks before a MySQL or MariaDB server's binlog is followed, and the errors of the binlog.

The checks run first, because a server reports a missing requirement late, with an unhelpful error,
or not at all: with the binlog off, or in statement format, a channel would be connected and silent.
Grants are tried, not parsed: they also come by role, by wildcard and under other names, and only
the server can evaluate them.

No driver is used here: `execute` runs a statement and returns rows by column, so that tests can
provide any response.
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
from lynq.sources.mysql.settings import MySQLSettings
from lynq.sources.mysql.types import connect_error
from lynq.sources.network import network_failure
from lynq.sources.query import Table

Rows = list[dict[str, Any]]
Execute = Callable[..., Rows]

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
    """The table whose changes are reported; for a view, all tables of its database."""

    schema: str
    table: str | None
    """None for a view."""


@dataclass(frozen=True, slots=True)
class BinlogStart:
    """The position in the binlog at which to start."""

    file: str
    position: int


def preflight(
    execute: Execute, table: Table, endpoint: Endpoint
) -> tuple[BinlogStart, WatchedTable]:
    """Return the start position and the table to watch; raise if a requirement is not met."""
    values = {row["Variable_name"]: row["Value"] for row in execute(_VARIABLES)}
    if problems := list(missing_settings(values)):
        raise MissingSetting(
            f"push needs {' and '.join(problems)} in the server's configuration", endpoint=endpoint
        )
    status = execute(status_statement(execute("SELECT VERSION() AS version")[0]["version"]))
    watched = _find_table(execute, table, endpoint)
    if not status or is_filtered(watched.schema, status[0]):
        raise MissingSetting(
            "push needs the database in the binlog, but binlog_do_db or binlog_ignore_db"
            " excludes it",
            endpoint=endpoint,
        )
    return BinlogStart(status[0]["File"], int(status[0]["Position"])), watched


def missing_settings(values: Mapping[str, str]) -> Iterator[str]:
    """Yield the settings that push needs to be different, each with its current value."""
    if values.get("log_bin", "ON") != "ON":
        yield "log_bin (is OFF)"
    # MySQL has deprecated this variable; servers without it log rows.
    if (binlog_format := values.get("binlog_format", "ROW")) != "ROW":
        yield f"binlog_format=ROW (is {binlog_format})"
    if values.get("server_id", "1") == "0":
        yield "a server_id other than 0"


def status_statement(version: str) -> str:
    """Return the statement for the end of the binlog, which depends on the server's version."""
    if "mariadb" in version.lower():
        return _STATUS
    try:
        major, minor = (int(part) for part in version.split(".")[:2])
    except ValueError:
        return _STATUS
    return _STATUS_RENAMED if (major, minor) >= _RENAMED_IN else _STATUS


def is_filtered(schema: str, status: Mapping[str, Any]) -> bool:
    """Return whether the server excludes the database from its binlog."""
    included, excluded = (
        {name.strip() for name in str(status.get(key) or "").split(",") if name.strip()}
        for key in ("Binlog_Do_DB", "Binlog_Ignore_DB")
    )
    return (bool(included) and schema not in included) or schema in excluded


def _find_table(execute: Execute, table: Table, endpoint: Endpoint) -> WatchedTable:
    """Return the table under the server's own spelling, and whether it is a view.

    With lower_case_table_names, the hub's `Tenants` may be `tenants` in the binlog.
    """
    rows = execute(_TABLE, table.schema or endpoint.database, table.name)
    if not rows:
        raise MissingTable(
            "the table or view does not exist, or the user may not see it",
            endpoint=endpoint,
            table=str(table),
        )
    row = rows[0]
    return WatchedTable(row["schema"], None if "VIEW" in row["type"] else row["name"])


_NO_PRIVILEGE = 1227
_NO_BINLOG = 1236
_CONNECTION_LOST = frozenset((1152, 1158, 1317, 1927, 2006, 2013, 3169, 4031))
# Only the server's message distinguishes this cause of 1236. The message is never shown.
_SERVER_ID_IN_USE = "same server"


def binlog_error(error: Exception, settings: MySQLSettings) -> SourceError:
    """Return the SourceError for an exception of the driver or the network."""
    endpoint = settings.endpoint
    if isinstance(cause := getattr(error, "original_exception", error), OSError):
        return network_failure(cause, endpoint)
    code = error.args[0] if error.args else 0
    if code == _NO_PRIVILEGE:
        return MissingGrant(
            f"user {settings.username} may not follow the binlog:"
            " GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO that user"
            " (MariaDB shows the second one as BINLOG MONITOR)",
            endpoint=endpoint,
            code=str(code),
        )
    if code == _NO_BINLOG and _SERVER_ID_IN_USE in str(error.args[-1]):
        return Interrupted(
            "another replica uses the same server id; the next attempt uses another id",
            endpoint=endpoint,
        )
    if code == _NO_BINLOG:
        return Interrupted(
            "the server cannot send its binlog from this position (1236)", endpoint=endpoint
        )
    if code in _CONNECTION_LOST:
        return Interrupted(f"the connection was lost ({code})", endpoint=endpoint, code=str(code))
    return connect_error(error, settings)
