"""The column types and error codes of MySQL and MariaDB."""

from typing import Any, NamedTuple

from asyncmy.constants import FIELD_TYPE
from asyncmy.errors import MySQLError

from lynq.sources import errors, text_values
from lynq.sources.errors import SourceError
from lynq.sources.mysql.settings import MySQLSettings
from lynq.sources.network import network_failure
from lynq.sources.query import Query
from lynq.sources.rows import ColumnKind, SourceColumn

_UNSIGNED, _ENUM, _SET = 32, 256, 2048
_BINARY = 63
"""The character set of columns that hold bytes."""


class _Type(NamedTuple):
    name: str
    kind: ColumnKind
    binary: str = ""
    """The name of the variant that holds bytes, if the type has one."""


_TYPES = {
    FIELD_TYPE.DECIMAL: _Type("decimal", ColumnKind.DECIMAL),
    FIELD_TYPE.NEWDECIMAL: _Type("decimal", ColumnKind.DECIMAL),
    FIELD_TYPE.TINY: _Type("tinyint", ColumnKind.INTEGER),
    FIELD_TYPE.SHORT: _Type("smallint", ColumnKind.INTEGER),
    FIELD_TYPE.INT24: _Type("mediumint", ColumnKind.INTEGER),
    FIELD_TYPE.LONG: _Type("int", ColumnKind.INTEGER),
    FIELD_TYPE.LONGLONG: _Type("bigint", ColumnKind.INTEGER),
    FIELD_TYPE.YEAR: _Type("year", ColumnKind.INTEGER),
    FIELD_TYPE.FLOAT: _Type("float", ColumnKind.FLOAT),
    FIELD_TYPE.DOUBLE: _Type("double", ColumnKind.FLOAT),
    FIELD_TYPE.DATE: _Type("date", ColumnKind.DATE),
    FIELD_TYPE.NEWDATE: _Type("date", ColumnKind.DATE),
    FIELD_TYPE.DATETIME: _Type("datetime", ColumnKind.TIMESTAMP),
    FIELD_TYPE.TIMESTAMP: _Type("timestamp", ColumnKind.TIMESTAMP),
    FIELD_TYPE.TIME: _Type("time", ColumnKind.TIME),
    FIELD_TYPE.BIT: _Type("bit", ColumnKind.INTEGER),
    FIELD_TYPE.JSON: _Type("json", ColumnKind.JSON),
    FIELD_TYPE.NULL: _Type("null", ColumnKind.TEXT),
    FIELD_TYPE.GEOMETRY: _Type("geometry", ColumnKind.BYTES, "geometry"),
    FIELD_TYPE.VARCHAR: _Type("varchar", ColumnKind.TEXT, "varbinary"),
    FIELD_TYPE.VAR_STRING: _Type("varchar", ColumnKind.TEXT, "varbinary"),
    FIELD_TYPE.STRING: _Type("char", ColumnKind.TEXT, "binary"),
    FIELD_TYPE.TINY_BLOB: _Type("text", ColumnKind.TEXT, "blob"),
    FIELD_TYPE.BLOB: _Type("text", ColumnKind.TEXT, "blob"),
    FIELD_TYPE.MEDIUM_BLOB: _Type("text", ColumnKind.TEXT, "blob"),
    FIELD_TYPE.LONG_BLOB: _Type("text", ColumnKind.TEXT, "blob"),
}

_NUMBERS = frozenset((ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.FLOAT))
_TIMESTAMPS = frozenset((ColumnKind.DATE, ColumnKind.TIMESTAMP))

_bytes_texts = text_values.per_value(text_values.bytes_text)
_bit_texts = text_values.per_value(text_values.bit_text)


def column(field: Any) -> SourceColumn:  # noqa: ANN401 - the driver has no types
    """Return the column for a field of the result."""
    type_ = _TYPES.get(field.type_code, _Type(f"type {field.type_code}", ColumnKind.TEXT))
    if type_.binary and field.charsetnr == _BINARY:
        return SourceColumn(field.name, type_.binary, ColumnKind.BYTES, _bytes_texts)
    if field.type_code == FIELD_TYPE.BIT:
        return SourceColumn(field.name, type_.name, type_.kind, _bit_texts)
    is_timestamp = type_.kind in _TIMESTAMPS
    texts = text_values.timestamp_texts if is_timestamp else text_values.unchanged_texts
    return SourceColumn(field.name, _type_name(type_, field.flags), type_.kind, texts)


def _type_name(type_: _Type, flags: int) -> str:
    if flags & _ENUM:
        return "enum"
    if flags & _SET:
        return "set"
    return f"{type_.name} unsigned" if flags & _UNSIGNED and type_.kind in _NUMBERS else type_.name


_CODES: dict[int, tuple[type[SourceError], str]] = {
    1040: (errors.TooManyConnections, "the server has reached its connection limit"),
    1203: (errors.TooManyConnections, "the user has reached its connection limit"),
    1226: (errors.TooManyConnections, "the user has exceeded a resource limit of the server"),
    1044: (errors.MissingGrant, "the user has no privilege on this database"),
    1045: (errors.WrongPassword, "user name or password is wrong"),
    1698: (errors.WrongPassword, "user name or password is wrong"),
    1130: (
        errors.LoginFailed,
        "the server rejects connections from the operator's address",
    ),
    1129: (
        errors.LoginFailed,
        "the server has blocked the operator's address after errors",
    ),
    1251: (
        errors.LoginFailed,
        "the server requires an unsupported authentication method",
    ),
    2059: (
        errors.LoginFailed,
        "the server requires an unsupported authentication method",
    ),
    3118: (errors.LoginFailed, "the user's account is locked"),
    3159: (errors.TLSFailed, "the server accepts encrypted connections only: set tls.mode"),
    1043: (errors.TLSFailed, "the server does not offer TLS"),
    1053: (errors.ServerStopping, "the server is shutting down"),
    1077: (errors.ServerStopping, "the server is shutting down"),
    1049: (errors.MissingDatabase, "the database does not exist"),
    1146: (errors.MissingTable, "the table or view does not exist"),
    1356: (
        errors.QueryFailed,
        "the view uses tables, columns or privileges that no longer exist",
    ),
    1054: (errors.MissingColumn, "there is no column {column}"),
    1142: (errors.MissingGrant, "the user may not read the table: grant SELECT"),
    1143: (errors.MissingGrant, "the user may not read the column {column}: grant SELECT"),
    1370: (errors.MissingGrant, "the user may not execute a function that the view uses"),
    1205: (errors.Locked, "the table is locked by another client"),
    1412: (
        errors.Interrupted,
        "the table was rewritten or replaced while the read began; the next read sees its rows",
    ),
    1317: (errors.Interrupted, "the statement was killed"),
    1927: (errors.Interrupted, "the connection was killed"),
    3169: (errors.Interrupted, "the connection was killed"),
    4031: (errors.Interrupted, "the server closed the idle connection"),
    1969: (errors.QueryTimedOut, "the read took longer than the server allows"),
    3024: (errors.QueryTimedOut, "the read took longer than the server allows"),
    2006: (errors.Interrupted, "the connection was lost"),
    2013: (errors.Interrupted, "the connection was lost"),
    1152: (errors.Interrupted, "the connection was lost"),
    1158: (errors.Interrupted, "the connection was lost"),
}

_CONNECTION_REJECTED = (errors.SourceConnectionFailed, "the server rejected the connection")
_LOST_AT_LOGIN = "the connection was lost during login"


def connect_error(error: Exception, settings: MySQLSettings) -> SourceError:
    """Return the SourceError for an exception while connecting."""
    network = error if isinstance(error, OSError) else error.__cause__
    if isinstance(network, OSError):
        return network_failure(network, settings.endpoint)
    kind, cause = _CODES.get(
        _code(error), (errors.SourceConnectionFailed, "the server rejected the connection")
    )
    if kind is errors.Interrupted:
        kind, cause = errors.SourceConnectionFailed, _LOST_AT_LOGIN
    if issubclass(kind, errors.LoginFailed):
        cause = f"{cause} (user {settings.username})"
    return _error(kind, cause, error, settings, table="")


def read_error(error: Exception, settings: MySQLSettings, query: Query) -> SourceError:
    """Return the SourceError for an exception during a read."""
    kind, cause = _CODES.get(_code(error), (errors.QueryFailed, "the server rejected the query"))
    if not isinstance(error, MySQLError) or not _code(error):
        kind, cause = errors.Interrupted, "the driver could not parse the server's response"
    if kind is errors.ServerStopping:
        kind = errors.Interrupted
    cause = cause.format(column=_named_column(error, query))
    return _error(kind, cause, error, settings, table=query.table)


def _error(
    kind: type[SourceError], cause: str, error: Exception, settings: MySQLSettings, *, table: str
) -> SourceError:
    # The code or the type of the exception identifies the error without the server's message.
    code = str(_code(error) or type(error).__name__)
    return kind(f"{cause} ({code})", endpoint=settings.endpoint, table=table, code=code)


def _code(error: Exception) -> int:
    code = error.args[0] if error.args else 0
    return code if isinstance(code, int) else 0


def _named_column(error: Exception, query: Query) -> str:
    """Return the column that the server's message names, if it is a column of the query."""
    message = str(error.args[-1]) if error.args else ""
    return next((column for column in query.columns if f"'{column}'" in message), "of that name")
