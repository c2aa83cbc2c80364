"""PostgreSQL's types: which the driver gives as they are, and which the server writes as text."""

from typing import Any

from lynq.sources import text
from lynq.sources.columns import Column, Kind

_KINDS = {
    "bool": (Kind.BOOLEAN, text.booleans),
    "int2": (Kind.INTEGER, text.each(str)),
    "int4": (Kind.INTEGER, text.each(str)),
    "int8": (Kind.INTEGER, text.each(str)),
    "bytea": (Kind.BYTES, text.each(text.of_bytes)),
    "text": (Kind.TEXT, text.as_given),
    "varchar": (Kind.TEXT, text.as_given),
    "bpchar": (Kind.TEXT, text.as_given),
    "json": (Kind.JSON, text.as_given),
    "jsonb": (Kind.JSON, text.as_given),
}

# The driver would make objects of these, which lose digits (float4), months (interval) or fail
# the whole read for one value (a date BC). The server's own text loses nothing.
_WRITTEN = {
    "numeric": (Kind.DECIMAL, text.as_given),
    "float4": (Kind.FLOAT, text.as_given),
    "float8": (Kind.FLOAT, text.as_given),
    "date": (Kind.DATE, text.moments),
    "timestamp": (Kind.MOMENT, text.moments),
    "timestamptz": (Kind.MOMENT, text.moments),
    "time": (Kind.TIME, text.as_given),
    "timetz": (Kind.TIME, text.as_given),
}

_SYSTEM = "pg_catalog"
_ANY_OTHER = (Kind.TEXT, text.as_given)


def column(attribute: Any) -> Column:  # noqa: ANN401 - the driver has no types
    """Return the column that an attribute of the result is."""
    # Anybody may call a type of his own `date`; only the system's are what we know them as.
    given = attribute.type
    name = given.name if given.schema == _SYSTEM else f"{given.schema}.{given.name}"
    kind, texts = _KINDS.get(name) or _WRITTEN.get(name) or _ANY_OTHER
    return Column(attribute.name, name, kind, texts)


def written_by_server(column: Column) -> bool:
    """Tell whether the server is asked for the column's text."""
    return column.type not in _KINDS
