"""The text form of every value: what templates see, one rule for all engines.

An engine hands over what its server wrote wherever it can, because no rule of ours is closer to
"as written". These functions are for what must not depend on the engine: moments, bytes, numbers
that a driver gives as numbers. docs/sources.md has the whole table.
"""

import base64
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

Write = Callable[[Sequence[Any]], Sequence[str]]
"""Makes texts of one column's values on one page; NULL becomes the empty text."""

_ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII
)


def as_given(values: Sequence[Any]) -> Sequence[str]:
    """Take texts for what they are."""
    return values if all(values) else [value or "" for value in values]


def each(write: Callable[[Any], str]) -> Write:
    """Write one value at a time."""

    def write_all(values: Sequence[Any]) -> Sequence[str]:
        return ["" if value is None else write(value) for value in values]

    return write_all


def as_stored(values: Sequence[Any]) -> Sequence[str]:
    """Write what SQLite holds, where every value has a type of its own."""
    return values if set(map(type, values)) == {str} else _each_stored(values)


def of_moment(written: str) -> str:
    """Write `2024-01-02 03:04:05.500000` or `2024-01-02` as RFC 3339 in UTC, zeros trimmed.

    The server's session is in UTC, so an offset can only be +00. What RFC 3339 has no words for
    (`infinity`, years BC) stays as the server wrote it.
    """
    day, _, clock = written.partition(" ")
    if not day[:1].isdigit() or clock.endswith("BC"):
        return written
    clock = clock.removesuffix("+00")
    if "." in clock:
        clock = clock.rstrip("0").rstrip(".")
    return f"{day}T{clock or '00:00:00'}Z"


def of_mysql_moment(written: str) -> str:
    """As `of_moment`; a year, month or day of zero, which only MySQL has, counts as 1."""
    if "-00" in written or written.startswith("0000"):
        year, month, rest = written.split("-", 2)
        day = rest[:2]
        year, month, day = year.replace("0000", "0001"), _from_one(month), _from_one(day)
        written = f"{year}-{month}-{day}{rest[2:]}"
    return of_moment(written)


def of_stored_moment(stored: object) -> str:
    """Write what SQLite holds in a column declared as a moment; what is none stays as it is."""
    text = of_stored(stored)
    if not isinstance(stored, str) or not _ISO.fullmatch(text):
        return text
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    moment = moment.astimezone(UTC) if moment.tzinfo else moment
    return of_moment(moment.replace(tzinfo=None).isoformat(" "))


def of_stored(stored: object) -> str:
    """Write what SQLite holds, by the type of this one value."""
    if isinstance(stored, str):
        return stored
    if isinstance(stored, bytes):
        return of_bytes(stored)
    return of_float(stored) if isinstance(stored, float) else str(stored)


def of_bytes(held: bytes) -> str:
    """Return bytes that are UTF-8 as that text, any others as base64."""
    try:
        return held.decode()
    except UnicodeDecodeError:
        return base64.b64encode(held).decode()


def of_bits(held: bytes) -> str:
    """Write MySQL's BIT(n) as the number that it is: BIT(1) becomes 0 or 1."""
    return str(int.from_bytes(held, "big"))


def of_bool(value: object) -> str:
    """Write PostgreSQL's boolean."""
    return "true" if value else "false"


def of_float(value: float) -> str:
    """Write the shortest digits that make the same number; a whole number without a point."""
    return repr(value).removesuffix(".0")


def _from_one(part: str) -> str:
    return "01" if part == "00" else part


_each_stored = each(of_stored)
