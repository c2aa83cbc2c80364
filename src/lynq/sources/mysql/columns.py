"""MySQL's types: how their texts are made, and what their values are."""

from typing import Any, NamedTuple

from asyncmy.constants import FIELD_TYPE

from lynq.sources import text
from lynq.sources.columns import Column, Kind

_UNSIGNED, _ENUM, _SET = 32, 256, 2048
_BINARY = 63
"""The character set of what is no text."""


class _Type(NamedTuple):
    name: str
    kind: Kind
    binary: str = ""
    """Its name when it holds bytes; only types that exist both ways have one."""


_TYPES = {
    FIELD_TYPE.DECIMAL: _Type("decimal", Kind.DECIMAL),
    FIELD_TYPE.NEWDECIMAL: _Type("decimal", Kind.DECIMAL),
    FIELD_TYPE.TINY: _Type("tinyint", Kind.INTEGER),
    FIELD_TYPE.SHORT: _Type("smallint", Kind.INTEGER),
    FIELD_TYPE.INT24: _Type("mediumint", Kind.INTEGER),
    FIELD_TYPE.LONG: _Type("int", Kind.INTEGER),
    FIELD_TYPE.LONGLONG: _Type("bigint", Kind.INTEGER),
    FIELD_TYPE.YEAR: _Type("year", Kind.INTEGER),
    FIELD_TYPE.FLOAT: _Type("float", Kind.FLOAT),
    FIELD_TYPE.DOUBLE: _Type("double", Kind.FLOAT),
    FIELD_TYPE.DATE: _Type("date", Kind.DATE),
    FIELD_TYPE.NEWDATE: _Type("date", Kind.DATE),
    FIELD_TYPE.DATETIME: _Type("datetime", Kind.MOMENT),
    FIELD_TYPE.TIMESTAMP: _Type("timestamp", Kind.MOMENT),
    FIELD_TYPE.TIME: _Type("time", Kind.TIME),
    FIELD_TYPE.BIT: _Type("bit", Kind.INTEGER),
    FIELD_TYPE.JSON: _Type("json", Kind.JSON),
    FIELD_TYPE.NULL: _Type("null", Kind.TEXT),
    FIELD_TYPE.GEOMETRY: _Type("geometry", Kind.BYTES, "geometry"),
    FIELD_TYPE.VARCHAR: _Type("varchar", Kind.TEXT, "varbinary"),
    FIELD_TYPE.VAR_STRING: _Type("varchar", Kind.TEXT, "varbinary"),
    FIELD_TYPE.STRING: _Type("char", Kind.TEXT, "binary"),
    FIELD_TYPE.TINY_BLOB: _Type("text", Kind.TEXT, "blob"),
    FIELD_TYPE.BLOB: _Type("text", Kind.TEXT, "blob"),
    FIELD_TYPE.MEDIUM_BLOB: _Type("text", Kind.TEXT, "blob"),
    FIELD_TYPE.LONG_BLOB: _Type("text", Kind.TEXT, "blob"),
}

_NUMBERS = frozenset((Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT))
_MOMENTS = frozenset((Kind.DATE, Kind.MOMENT))

_bytes = text.each(text.of_bytes)
_bits = text.each(text.of_bits)


def column(field: Any) -> Column:  # noqa: ANN401 - the driver has no types
    """Return the column that a field of the result is."""
    known = _TYPES.get(field.type_code, _Type(f"type {field.type_code}", Kind.TEXT))
    if known.binary and field.charsetnr == _BINARY:
        return Column(field.name, known.binary, Kind.BYTES, _bytes)
    if field.type_code == FIELD_TYPE.BIT:
        return Column(field.name, known.name, known.kind, _bits)
    texts = text.moments if known.kind in _MOMENTS else text.as_given
    return Column(field.name, _name(known, field.flags), known.kind, texts)


def _name(known: _Type, flags: int) -> str:
    if flags & _ENUM:
        return "enum"
    if flags & _SET:
        return "set"
    return f"{known.name} unsigned" if flags & _UNSIGNED and known.kind in _NUMBERS else known.name
