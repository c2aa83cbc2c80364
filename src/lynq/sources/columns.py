"""What is known about a column of a result: its type, its text form, its native value."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

from lynq.sources.text import Write, as_given

Value = str | int | float | bool | Decimal | bytes | date | datetime | timedelta | None
"""A native value; None is the database's NULL."""

_TIME = re.compile(r"(-?)(\d+):(\d\d):(\d\d(?:\.\d+)?)", re.ASCII)


class Kind(Enum):
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


def _time(text: str) -> timedelta | str:
    found = _TIME.fullmatch(text)
    if not found:
        return text
    sign = -1 if found[1] else 1
    return sign * timedelta(hours=int(found[2]), minutes=int(found[3]), seconds=float(found[4]))


_PARSERS: dict[Kind, Callable[[str], Value]] = {
    Kind.INTEGER: int,
    Kind.DECIMAL: Decimal,
    Kind.FLOAT: float,
    Kind.BOOLEAN: "true".__eq__,
    Kind.DATE: lambda text: datetime.fromisoformat(text).date(),
    Kind.MOMENT: datetime.fromisoformat,
    Kind.TIME: _time,
}

_AS_SENT = frozenset((Kind.BYTES, Kind.STORED))


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a result."""

    name: str
    type: str
    """As the engine calls it, without length and precision: a wider VARCHAR is the same type."""
    kind: Kind
    texts: Write = field(default=as_given, compare=False, repr=False)
    """Makes the texts of one page of the column."""

    def value(self, given: Any, text: str) -> Value:  # noqa: ANN401 - whatever the driver gives
        """Return the native value; the text where there is none, as for the year 10000."""
        if given is None or self.kind in _AS_SENT:
            native: Value = given
            return native
        parse = _PARSERS.get(self.kind)
        try:
            return parse(text) if parse else text
        except ValueError:
            return text
