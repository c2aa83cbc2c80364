"""MySQL's types: how their texts are made, and what their values are.

What MySQL's error codes mean.
"""

from typing import Any, NamedTuple

from asyncmy.constants import FIELD_TYPE
from asyncmy.errors import MySQLError

from lynq.sources import errors, text_values
from lynq.sources.errors import SourceError
from lynq.sources.network import network_failure
from lynq.sources.query import Query
from lynq.sources.rows import ColumnKind, SourceColumn
from lynq.sources.settings import MySQLSettings

_UNSIGNED, _ENUM, _SET = 32, 256, 2048
_BINARY = 63
"""The character set of what is no text."""


class _Type(NamedTuple):
    name: str
    kind: ColumnKind
    binary: str = ""
    """Its name when it holds bytes; only types that exist both ways have one."""


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
    FIELD_TYPE.DATETIME: _Type("datetime", ColumnKind.MOMENT),
    FIELD_TYPE.TIMESTAMP: _Type("timestamp", ColumnKind.MOMENT),
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
_MOMENTS = frozenset((ColumnKind.DATE, ColumnKind.MOMENT))

_bytes = text_values.each(text_values.of_bytes)
_bits = text_values.each(text_values.of_bits)


def column(field: Any) -> SourceColumn:  # noqa: ANN401 - the driver has no types
    """Return the column that a field of the result is."""
    known = _TYPES.get(field.type_code, _Type(f"type {field.type_code}", ColumnKind.TEXT))
    if known.binary and field.charsetnr == _BINARY:
        return SourceColumn(field.name, known.binary, ColumnKind.BYTES, _bytes)
    if field.type_code == FIELD_TYPE.BIT:
        return SourceColumn(field.name, known.name, known.kind, _bits)
    texts = text_values.moments if known.kind in _MOMENTS else text_values.as_given
    return SourceColumn(field.name, _name(known, field.flags), known.kind, texts)


def _name(known: _Type, flags: int) -> str:
    if flags & _ENUM:
        return "enum"
    if flags & _SET:
        return "set"
    return f"{known.name} unsigned" if flags & _UNSIGNED and known.kind in _NUMBERS else known.name


_CODES: dict[int, tuple[type[SourceError], str]] = {
    1040: (errors.TooManyConnections, "the server has no connection to spare"),
    1203: (errors.TooManyConnections, "the user has no connection to spare"),
    1226: (errors.TooManyConnections, "the user has used up what the server grants it"),
    1044: (errors.MissingGrant, "the user has no right to this database"),
    1045: (errors.WrongPassword, "user and password do not go together"),
    1698: (errors.WrongPassword, "user and password do not go together"),
    1130: (errors.LoginFailed, "the server lets nobody in from our address"),
    1129: (errors.LoginFailed, "the server has blocked our address after errors"),
    1251: (errors.LoginFailed, "the server wants a way to log in that we do not have"),
    2059: (errors.LoginFailed, "the server wants a way to log in that we do not have"),
    3118: (errors.LoginFailed, "the user's account is locked"),
    3159: (errors.TLSFailed, "the server takes encrypted connections only: set tls.mode"),
    1043: (errors.TLSFailed, "the server does not offer TLS"),
    1053: (errors.ServerStopping, "the server is shutting down"),
    1077: (errors.ServerStopping, "the server is shutting down"),
    1049: (errors.MissingDatabase, "there is no such database"),
    1146: (errors.MissingTable, "there is no such table or view"),
    1356: (errors.QueryFailed, "the view refers to tables, columns or rights that are gone"),
    1054: (errors.MissingColumn, "there is no column {column}"),
    1142: (errors.MissingGrant, "the user may not read it: grant SELECT"),
    1143: (errors.MissingGrant, "the user may not read the column {column}: grant SELECT"),
    1370: (errors.MissingGrant, "the user may not run a function that the view uses"),
    1205: (errors.Locked, "somebody holds a lock on it"),
    1412: (
        errors.Interrupted,
        "it was rewritten or replaced as the reading began; the next one sees its rows",
    ),
    1317: (errors.Interrupted, "somebody has killed the statement"),
    1927: (errors.Interrupted, "somebody has killed the connection"),
    3169: (errors.Interrupted, "somebody has killed the connection"),
    4031: (errors.Interrupted, "the server has closed the idle connection"),
    1969: (errors.QueryTimedOut, "reading took longer than the server allows"),
    3024: (errors.QueryTimedOut, "reading took longer than the server allows"),
    2006: (errors.Interrupted, "the connection is gone"),
    2013: (errors.Interrupted, "the connection broke off"),
    1152: (errors.Interrupted, "the connection broke off"),
    1158: (errors.Interrupted, "the connection broke off"),
}

_LOGGING_IN = "the connection broke off while logging in"


def connect_error(error: Exception, settings: MySQLSettings) -> SourceError:
    """Say what an error means for a connection that is being made."""
    network = error if isinstance(error, OSError) else error.__cause__
    if isinstance(network, OSError):
        return network_failure(network, settings.place)
    kind, cause = _CODES.get(_code(error), (errors.SourceConnectionFailed, "the server said no"))
    if kind is errors.Interrupted:
        kind, cause = errors.SourceConnectionFailed, _LOGGING_IN
    if issubclass(kind, errors.LoginFailed):
        cause = f"{cause} (user {settings.username})"
    return _made(kind, cause, error, settings, table="")


def read_error(error: Exception, settings: MySQLSettings, query: Query) -> SourceError:
    """Say what an error means for a read that is under way."""
    kind, cause = _CODES.get(_code(error), (errors.QueryFailed, "the server said no"))
    if not isinstance(error, MySQLError) or not _code(error):
        kind, cause = errors.Interrupted, "the driver could not make sense of the answer"
    if kind is errors.ServerStopping:
        kind = errors.Interrupted
    cause = cause.format(column=_named_column(error, query))
    return _made(kind, cause, error, settings, table=query.table)


def _made(
    kind: type[SourceError], cause: str, error: Exception, settings: MySQLSettings, *, table: str
) -> SourceError:
    # The code, or the type of error: enough to look it up, and nothing that the server wrote.
    code = str(_code(error) or type(error).__name__)
    return kind(f"{cause} ({code})", place=settings.place, table=table, code=code)


def _code(error: Exception) -> int:
    code = error.args[0] if error.args else 0
    return code if isinstance(code, int) else 0


def _named_column(error: Exception, query: Query) -> str:
    """Return the column that the server's sentence names, if it is one that we asked for."""
    sentence = str(error.args[-1]) if error.args else ""
    return next((column for column in query.columns if f"'{column}'" in sentence), "of that name")
