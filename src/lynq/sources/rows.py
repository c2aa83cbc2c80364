"""Rows: the texts that templates see, and a digest of them.

A read makes up to a million of them, so a page is worked on column by column, at the speed of
C loops, and what not everybody needs (the digest) is made when it is asked for.

What is known about a column of a result: its type and its text form.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import compress, repeat
from typing import Any

from msgspec import Struct
from msgspec.json import Encoder

from lynq.sources.query import Query
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


ACTIVE = frozenset(("1", "true", "TRUE", "True", "yes", "YES", "Yes"))
"""The texts that make a row active; nothing is trimmed, nothing else counts."""

_UID, _ACTIVATE, _HOST_OR_URL = 0, 1, 2

_ENCODER = Encoder()
encode = _ENCODER.encode
"""Texts as bytes: as JSON, no two lists of texts look alike."""
encode_all = _ENCODER.encode_lines
"""The same for many lists, one per line."""


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Which variable is in which column; one for all rows of a read."""

    columns: tuple[SourceColumn, ...]
    variables: tuple[str, ...]
    salt: bytes
    """Goes into every digest: renaming a variable changes what a template sees."""

    @classmethod
    def of(cls, query: Query, columns: Sequence[SourceColumn]) -> "RowLayout":
        """Return the layout of a query's result."""
        names = ("uid", "activate", *(["hostOrUrl"] if query.host_or_url else []))
        salt = hashlib.sha256(encode([*names, "", *query.variables])).digest()
        return cls(tuple(columns), query.variables, salt)

    @property
    def extras(self) -> int:
        """Where the columns of the extras begin."""
        return len(self.columns) - len(self.variables)


# A frozen data class of this size takes ten times as long to make: a third of the whole read.
class Row(Struct, frozen=True, eq=False, gc=False):
    """One active row."""

    texts: tuple[str, ...]
    """All texts, in the order of the query's columns."""
    layout: RowLayout

    @property
    def uid(self) -> str:
        """Which row it is; not checked here, NULL is empty."""
        return self.texts[_UID]

    @property
    def activate(self) -> str:
        """The text that made it active."""
        return self.texts[_ACTIVATE]

    @property
    def host_or_url(self) -> str:
        """The deprecated column; empty when it is not mapped."""
        return self.texts[_HOST_OR_URL] if self.layout.extras > _HOST_OR_URL else ""

    @property
    def extras(self) -> dict[str, str]:
        """The further variables as texts."""
        return dict(zip(self.layout.variables, self.texts[self.layout.extras :], strict=True))

    @property
    def digest(self) -> bytes:
        """SHA-256 over the mapped variables: the same in every process, on every engine."""
        return hashlib.sha256(self.layout.salt + encode(self.texts)).digest()

    def __repr__(self) -> str:
        """Say which row it is, and nothing of what is in it: values can be secrets."""
        return f"Row(uid={self.uid!r})"


def active_rows(layout: RowLayout, page: Sequence[Sequence[Any]]) -> list[Row]:
    """Return the active rows of a page, in its order."""
    by_column: list[Sequence[Any]] = list(zip(*page, strict=True))
    if not by_column:
        return []
    activate = layout.columns[_ACTIVATE].texts(by_column[_ACTIVATE])
    active = list(map(ACTIVE.__contains__, activate))
    if not all(active):
        by_column = [list(compress(values, active)) for values in by_column]
    texts = [column.texts(values) for column, values in zip(layout.columns, by_column, strict=True)]
    return list(map(Row, zip(*texts, strict=True), repeat(layout)))
