"""PostgreSQL's types: which the driver gives as they are, and which the server writes as text."""

from typing import Any

from lynq.sources import text_values
from lynq.sources.columns import ColumnKind, SourceColumn

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
