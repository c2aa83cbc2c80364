"""The column types and error codes of MySQL and MariaDB."""

from collections.abc import Collection
from typing import Any

from asyncmy.constants import FIELD_TYPE
from asyncmy.errors import MySQLError

from lynq.sources import errors, text_values
from lynq.sources.errors import SourceError
from lynq.sources.mysql.settings import MySQLSettings
from lynq.sources.network import network_failure
from lynq.sources.query import Query
from lynq.sources.rows import SourceColumn
from lynq.sources.text_values import is_integer_text

_UNSIGNED, _ZEROFILL, _ENUM, _SET = 32, 64, 256, 2048
_BINARY = 63
"""The character set of columns that hold bytes."""

_NUMBERS = {
    FIELD_TYPE.DECIMAL: "decimal",
    FIELD_TYPE.NEWDECIMAL: "decimal",
    FIELD_TYPE.TINY: "tinyint",
    FIELD_TYPE.SHORT: "smallint",
    FIELD_TYPE.INT24: "mediumint",
    FIELD_TYPE.LONG: "int",
    FIELD_TYPE.LONGLONG: "bigint",
    FIELD_TYPE.YEAR: "year",
    FIELD_TYPE.FLOAT: "float",
    FIELD_TYPE.DOUBLE: "double",
}
_TIMESTAMPS = {
    FIELD_TYPE.DATE: "date",
    FIELD_TYPE.NEWDATE: "date",
    FIELD_TYPE.DATETIME: "datetime",
    FIELD_TYPE.TIMESTAMP: "timestamp",
}
_TEXTS = {
    FIELD_TYPE.TIME: "time",
    FIELD_TYPE.JSON: "json",
    FIELD_TYPE.NULL: "null",
    FIELD_TYPE.GEOMETRY: "geometry",
    FIELD_TYPE.VARCHAR: "varchar",
    FIELD_TYPE.VAR_STRING: "varchar",
    FIELD_TYPE.STRING: "char",
    FIELD_TYPE.TINY_BLOB: "text",
    FIELD_TYPE.BLOB: "text",
    FIELD_TYPE.MEDIUM_BLOB: "text",
    FIELD_TYPE.LONG_BLOB: "text",
}
# The protocol has one code for a text type and its variant that holds bytes.
_BYTES = {
    FIELD_TYPE.GEOMETRY: "geometry",
    FIELD_TYPE.VARCHAR: "varbinary",
    FIELD_TYPE.VAR_STRING: "varbinary",
    FIELD_TYPE.STRING: "binary",
    FIELD_TYPE.TINY_BLOB: "blob",
    FIELD_TYPE.BLOB: "blob",
    FIELD_TYPE.MEDIUM_BLOB: "blob",
    FIELD_TYPE.LONG_BLOB: "blob",
}

_bytes_texts = text_values.per_value(text_values.bytes_text)
_bit_texts = text_values.per_value(text_values.bit_text)


def column(field: Any) -> SourceColumn:  # noqa: ANN401 - the driver has no types
    """Return the column for a field of the result."""
    code = field.type_code
    if code in _BYTES and field.charsetnr == _BINARY:
        return SourceColumn(field.name, _BYTES[code], _bytes_texts)
    if code == FIELD_TYPE.BIT:
        return SourceColumn(field.name, "bit", _bit_texts)
    texts = text_values.timestamp_texts if code in _TIMESTAMPS else text_values.unchanged_texts
    return SourceColumn(field.name, _type_name(code, field.flags), texts)


# The other types have at most 64 KiB in a whole row.
_LARGE = frozenset(
    (
        FIELD_TYPE.TINY_BLOB,
        FIELD_TYPE.BLOB,
        FIELD_TYPE.MEDIUM_BLOB,
        FIELD_TYPE.LONG_BLOB,
        FIELD_TYPE.JSON,
        FIELD_TYPE.GEOMETRY,
    )
)


def may_be_large(field: Any) -> bool:  # noqa: ANN401 - the driver has no types
    """Return whether a value of the field may have any size."""
    return field.type_code in _LARGE


_SELECTABLE_TEXTS = frozenset((FIELD_TYPE.VARCHAR, FIELD_TYPE.VAR_STRING, FIELD_TYPE.STRING))
_SELECTABLE_INTEGERS = frozenset(
    (
        FIELD_TYPE.TINY,
        FIELD_TYPE.SHORT,
        FIELD_TYPE.INT24,
        FIELD_TYPE.LONG,
        FIELD_TYPE.LONGLONG,
    )
)


def uid_literals(field: Any, uids: Collection[str]) -> list[str] | None:  # noqa: ANN401 - the driver has no types
    """Return uids as parameters of a condition on their column; None if it has another type.

    The driver has no binary protocol, and the meaning of a quoted text depends on sql_mode. So a
    text is sent in hexadecimal digits: no uid can end its literal. The column's collation decides
    how it compares.
    """
    if field.type_code in _SELECTABLE_INTEGERS and not field.flags & _ZEROFILL:
        return [uid for uid in uids if is_integer_text(uid)]
    is_text = field.type_code in _SELECTABLE_TEXTS and field.charsetnr != _BINARY
    if not is_text or field.flags & (_ENUM | _SET):
        return None
    return [f"_utf8mb4 X'{uid.encode().hex()}'" for uid in uids]


def _type_name(code: int, flags: int) -> str:
    if flags & _ENUM:
        return "enum"
    if flags & _SET:
        return "set"
    if code in _NUMBERS:
        return f"{_NUMBERS[code]} unsigned" if flags & _UNSIGNED else _NUMBERS[code]
    return _TIMESTAMPS.get(code) or _TEXTS.get(code) or f"type {code}"


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
