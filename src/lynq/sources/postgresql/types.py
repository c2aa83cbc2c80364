"""The column types and SQLSTATEs of PostgreSQL."""

import re
from collections.abc import Collection
from typing import Any

from asyncpg import PostgresError

from lynq.sources import errors, text_values
from lynq.sources.errors import SourceError
from lynq.sources.network import network_failure
from lynq.sources.postgresql.login import REFUSED_STATE
from lynq.sources.postgresql.settings import PostgreSQLSettings
from lynq.sources.query import Query
from lynq.sources.rows import SourceColumn
from lynq.sources.text_values import is_integer_text

_SENT_AS_VALUE = {
    "bool": text_values.boolean_texts,
    "int2": text_values.integer_texts,
    "int4": text_values.integer_texts,
    "int8": text_values.integer_texts,
    "bytea": text_values.per_value(text_values.bytes_text),
    "text": text_values.unchanged_texts,
    "varchar": text_values.unchanged_texts,
    "bpchar": text_values.unpadded_texts,
    "json": text_values.unchanged_texts,
    "jsonb": text_values.unchanged_texts,
}

# All other types are cast to text by the query. The driver would convert some to objects that lose
# digits (float4) or months (interval), or that fail the whole read for one value (a date BC).
_TIMESTAMPS = frozenset(("date", "timestamp", "timestamptz"))

_SYSTEM = "pg_catalog"


def column(attribute: Any) -> SourceColumn:  # noqa: ANN401 - the driver has no types
    """Return the column for an attribute of the result."""
    # A user may define a type of the name `date`; only types of the system schema are listed above.
    type_ = attribute.type
    name = type_.name if type_.schema == _SYSTEM else f"{type_.schema}.{type_.name}"
    as_text = text_values.timestamp_texts if name in _TIMESTAMPS else text_values.unchanged_texts
    return SourceColumn(attribute.name, name, _SENT_AS_VALUE.get(name, as_text))


# Their texts have at most some hundred bytes.
_SHORT = frozenset(("bool", "int2", "int4", "int8", "float4", "float8", "oid", "name")) | frozenset(
    ("uuid", "inet", "cidr", "macaddr", "time", "timetz", "interval", *_TIMESTAMPS)
)
# They have a length only as text.
_DOCUMENTS = frozenset(("json", "jsonb"))


def is_sent_as_text(column: SourceColumn) -> bool:
    """Return whether the query casts the column to text."""
    return column.type not in _SENT_AS_VALUE or column.type in _DOCUMENTS


def may_be_large(column: SourceColumn) -> bool:
    """Return whether a value of the column may have any size.

    Blank-padded columns have the size that they were declared with, and a cast would take the
    blanks away.
    """
    return column.type not in _SHORT and column.type != "bpchar"


_INTEGERS = frozenset(("int2", "int4", "int8"))
_INT8 = range(-(2**63), 2**63)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
# A cast to text would strip the blanks of bpchar, and hide the column's index.
_TEXT_CASTS = {"text": "::text[]", "varchar": "::text[]", "bpchar": "::text[]::bpchar[]"}


def uid_parameter(
    column: SourceColumn, uids: Collection[str]
) -> tuple[str, list[str] | list[int]] | None:
    """Return uids as the array that their column is compared with, behind the cast of the array.

    None if rows cannot be selected by a column of this type. A text that is not the text of any
    value of the type is left out: no row has it.
    """
    if column.type in _INTEGERS:
        numbers = [int(uid) for uid in uids if is_integer_text(uid)]
        return "::int8[]", [number for number in numbers if number in _INT8]
    if column.type == "uuid":
        return "::text[]::uuid[]", [uid for uid in uids if _UUID.fullmatch(uid)]
    if cast := _TEXT_CASTS.get(column.type):
        # PostgreSQL has no texts with NUL.
        return cast, [uid for uid in uids if "\0" not in uid]
    return None


_STATES: dict[str, tuple[type[SourceError], str]] = {
    "28P01": (errors.WrongPassword, "user name or password is wrong"),
    "28000": (errors.LoginFailed, "the server rejects this user: see its pg_hba.conf"),
    REFUSED_STATE: (
        errors.LoginFailed,
        (
            "the server asks for the password in clear text or as MD5: set tls.mode to "
            "verify-full, or password_encryption of the server to scram-sha-256"
        ),
    ),
    "53300": (errors.TooManyConnections, "the server has reached its connection limit"),
    "57P01": (errors.ServerStopping, "the server is shutting down"),
    "57P02": (errors.ServerStopping, "the server has crashed and is restarting"),
    "57P03": (errors.ServerStopping, "the server is starting up or shutting down"),
    "3D000": (errors.MissingDatabase, "the database does not exist"),
    "3F000": (errors.MissingTable, "the schema does not exist"),
    "42P01": (errors.MissingTable, "the table or view does not exist"),
    "42703": (errors.MissingColumn, "there is no column {column}"),
    "42501": (
        errors.MissingGrant,
        "the user may not read the table: grant CONNECT (database), USAGE (schema) and SELECT",
    ),
    "55P03": (errors.Locked, "the table is locked by another client"),
    "40P01": (errors.Locked, "the read was in a deadlock with another client"),
    "40001": (errors.Interrupted, "the standby cancelled the read to keep up with its primary"),
    "57014": (errors.Interrupted, "the statement was cancelled"),
    "57P05": (errors.Interrupted, "the server closed the idle connection"),
    "25P03": (errors.Interrupted, "the server closed the idle connection"),
}

_CONNECTION_REJECTED = (errors.SourceConnectionFailed, "the server rejected the connection")
_CONNECTION_LOST = (errors.Interrupted, "the connection was lost")
_CONNECTION_EXCEPTION = "08"


def connect_error(error: Exception, settings: PostgreSQLSettings) -> SourceError:
    """Return the SourceError for an exception while connecting."""
    if type(error) is ConnectionError:
        # The driver raises this exact type only if the server refuses TLS.
        return errors.TLSFailed("the server does not offer TLS", endpoint=settings.endpoint)
    if isinstance(error, OSError):
        return network_failure(error, settings.endpoint)
    kind, cause = _STATES.get(
        _state(error), (errors.SourceConnectionFailed, "the server rejected the connection")
    )
    if _is_connection_error(error) or kind is errors.Interrupted:
        kind, cause = errors.SourceConnectionFailed, "the connection was lost during login"
    if issubclass(kind, errors.LoginFailed):
        cause = f"{cause} (user {settings.username})"
    return _error(kind, cause, error, settings, table="")


def read_error(error: Exception, settings: PostgreSQLSettings, query: Query) -> SourceError:
    """Return the SourceError for an exception during a read."""
    kind, cause = _STATES.get(_state(error), (errors.QueryFailed, "the server rejected the query"))
    if kind is errors.ServerStopping:
        kind = errors.Interrupted
    if _is_connection_error(error):
        kind, cause = _CONNECTION_LOST
    cause = cause.format(column=_named_column(error, query))
    return _error(kind, cause, error, settings, table=query.table)


def _error(
    kind: type[SourceError],
    cause: str,
    error: Exception,
    settings: PostgreSQLSettings,
    *,
    table: str,
) -> SourceError:
    # The state or the type of the exception identifies the error without the server's message.
    code = _state(error) or type(error).__name__
    return kind(f"{cause} ({code})", endpoint=settings.endpoint, table=table, code=code)


def _state(error: Exception) -> str:
    return str(error.sqlstate or "") if isinstance(error, PostgresError) else ""


def _is_connection_error(error: Exception) -> bool:
    """Return whether the connection failed, or the driver could not parse a response."""
    return not _state(error) or _state(error).startswith(_CONNECTION_EXCEPTION)


def _named_column(error: Exception, query: Query) -> str:
    """Return the column that the server's message names, if it is a column of the query."""
    message = str(error)
    return next((column for column in query.columns if f'"{column}"' in message), "of that name")
