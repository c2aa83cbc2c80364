"""What is known about a column of a result: its type and its text form."""

from dataclasses import dataclass, field
from enum import Enum

from lynq.sources.text_values import Write, as_given


class ColumnKind(Enum):
    """What a column's values are, whatever the engine calls its type."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "boolean"
    DATE = "date"
    MOMENT = "moment"
    TIME = "time"
    JSON = "json"
    BYTES = "bytes"
    STORED = "stored"
    """SQLite: every value has its own type."""


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """One column of a result."""

    name: str
    type: str
    """As the engine calls it, without length and precision: a wider VARCHAR is the same type."""
    kind: ColumnKind
    texts: Write = field(default=as_given, compare=False, repr=False)
    """Makes the texts of one page of the column."""
