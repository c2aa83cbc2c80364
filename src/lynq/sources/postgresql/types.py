"""PostgreSQL's types: which the driver gives as they are, and which the server writes as text.

What PostgreSQL's SQLSTATEs mean.
"""

from typing import Any

from asyncpg import PostgresError

from lynq.sources import errors, text_values
from lynq.sources.errors import SourceError
from lynq.sources.network import network_failure
from lynq.sources.query import Query
from lynq.sources.rows import ColumnKind, SourceColumn
from lynq.sources.settings import PostgreSQLSettings

_KINDS = {
    "bool": (ColumnKind.BOOLEAN, text_values.booleans),
    "int2": (ColumnKind.INTEGER, text_values.each(str)),
    "int4": (ColumnKind.INTEGER, text_values.each(str)),
    "int8": (ColumnKind.INTEGER, text_values.each(str)),
    "bytea": (ColumnKind.BYTES, text_values.each(text_values.of_bytes)),
    "text": (ColumnKind.TEXT, text_values.as_given),
    "varchar": (ColumnKind.TEXT, text_values.as_given),
    "bpchar": (ColumnKind.TEXT, text_values.as_given),
    "json": (ColumnKind.JSON, text_values.as_given),
    "jsonb": (ColumnKind.JSON, text_values.as_given),
}

# The driver would make objects of these, which lose digits (float4), months (interval) or fail
# the whole read for one value (a date BC). The server's own text loses nothing.
_WRITTEN = {
    "numeric": (ColumnKind.DECIMAL, text_values.as_given),
    "float4": (ColumnKind.FLOAT, text_values.as_given),
    "float8": (ColumnKind.FLOAT, text_values.as_given),
    "date": (ColumnKind.DATE, text_values.moments),
    "timestamp": (ColumnKind.MOMENT, text_values.moments),
    "timestamptz": (ColumnKind.MOMENT, text_values.moments),
    "time": (ColumnKind.TIME, text_values.as_given),
    "timetz": (ColumnKind.TIME, text_values.as_given),
}

_SYSTEM = "pg_catalog"
_ANY_OTHER = (ColumnKind.TEXT, text_values.as_given)


def column(attribute: Any) -> SourceColumn:  # noqa: ANN401 - the driver has no types
    """Return the column that an attribute of the result is."""
    # Anybody may call a type of his own `date`; only the system's are what we know them as.
    given = attribute.type
    name = given.name if given.schema == _SYSTEM else f"{given.schema}.{given.name}"
    kind, texts = _KINDS.get(name) or _WRITTEN.get(name) or _ANY_OTHER
    return SourceColumn(attribute.name, name, kind, texts)


def written_by_server(column: SourceColumn) -> bool:
    """Tell whether the server is asked for the column's text."""
    return column.type not in _KINDS


_STATES: dict[str, tuple[type[SourceError], str]] = {
    "28P01": (errors.WrongPassword, "user and password do not go together"),
    "28000": (errors.LoginFailed, "the server does not let this user in: see its pg_hba.conf"),
    "53300": (errors.TooManyConnections, "the server has no connection to spare"),
    "57P01": (errors.ServerStopping, "the server is shutting down"),
    "57P02": (errors.ServerStopping, "the server has crashed and is starting again"),
    "57P03": (errors.ServerStopping, "the server is starting up or shutting down"),
    "3D000": (errors.MissingDatabase, "there is no such database"),
    "3F000": (errors.MissingTable, "there is no such schema"),
    "42P01": (errors.MissingTable, "there is no such table or view"),
    "42703": (errors.MissingColumn, "there is no column {column}"),
    "42501": (
        errors.MissingGrant,
        "the user may not read it: grant CONNECT on the database, USAGE on the schema and SELECT",
    ),
    "55P03": (errors.Locked, "somebody holds a lock on it"),
    "40P01": (errors.Locked, "somebody holds a lock on it, and waits for us"),
    "40001": (errors.Interrupted, "the standby had to break off the reading to keep up"),
    "57014": (errors.Interrupted, "somebody has cancelled the statement"),
    "57P05": (errors.Interrupted, "the server has closed the idle connection"),
    "25P03": (errors.Interrupted, "the server has closed the idle connection"),
}

_BROKEN = (errors.Interrupted, "the connection broke off")
_CONNECTION_EXCEPTION = "08"


def connect_error(error: Exception, settings: PostgreSQLSettings) -> SourceError:
    """Say what an error means for a connection that is being made."""
    if type(error) is ConnectionError:
        # Of this very type is only what the driver says about a refused change to TLS.
        return errors.TLSFailed("the server does not offer TLS", place=settings.place)
    if isinstance(error, OSError):
        return network_failure(error, settings.place)
    kind, cause = _STATES.get(_state(error), (errors.SourceConnectionFailed, "the server said no"))
    if _is_broken(error) or kind is errors.Interrupted:
        kind, cause = errors.SourceConnectionFailed, "the connection broke off while logging in"
    if issubclass(kind, errors.LoginFailed):
        cause = f"{cause} (user {settings.username})"
    return _made(kind, cause, error, settings, table="")


def read_error(error: Exception, settings: PostgreSQLSettings, query: Query) -> SourceError:
    """Say what an error means for a read that is under way."""
    kind, cause = _STATES.get(_state(error), (errors.QueryFailed, "the server said no"))
    if kind is errors.ServerStopping:
        kind = errors.Interrupted
    if _is_broken(error):
        kind, cause = _BROKEN
    cause = cause.format(column=_named_column(error, query))
    return _made(kind, cause, error, settings, table=query.table)


def _made(
    kind: type[SourceError],
    cause: str,
    error: Exception,
    settings: PostgreSQLSettings,
    *,
    table: str,
) -> SourceError:
    # The state, or the type of error: enough to look it up, and nothing that the server wrote.
    code = _state(error) or type(error).__name__
    return kind(f"{cause} ({code})", place=settings.place, table=table, code=code)


def _state(error: Exception) -> str:
    return str(error.sqlstate or "") if isinstance(error, PostgresError) else ""


def _is_broken(error: Exception) -> bool:
    """Tell whether it was the connection that failed, or the driver on what came over it."""
    return not _state(error) or _state(error).startswith(_CONNECTION_EXCEPTION)


def _named_column(error: Exception, query: Query) -> str:
    """Return the column that the server's sentence names, if it is one that we asked for."""
    sentence = str(error)
    return next((column for column in query.columns if f'"{column}"' in sentence), "of that name")
