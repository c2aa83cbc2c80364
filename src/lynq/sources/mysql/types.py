"""MySQL's types: how their texts are made, and what their values are."""

from typing import Any, NamedTuple

from asyncmy.constants import FIELD_TYPE

from lynq.sources import text_values
from lynq.sources.columns import ColumnKind, SourceColumn

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
