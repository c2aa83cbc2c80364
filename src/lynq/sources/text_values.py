"""The text form of every value: what templates see, one rule for all engines.

An engine hands over what its server wrote wherever it can, because no rule of ours is closer to
"as written". These functions are for what must not depend on the engine: moments, bytes, numbers
that a driver gives as numbers. docs/sources.md has the whole table.

Texts are made for a whole page of a column at once, in loops that run in C where the page allows
it: a read is a million of these.
"""

import base64
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

Write = Callable[[Sequence[Any]], Sequence[str]]
"""Makes texts of one column's values on one page; NULL becomes the empty text."""

_BOOLEANS = {True: "true", False: "false", None: ""}

_MIDNIGHT = "T00:00:00Z"
_UNUSUAL = (".", "-00", "0000-", "i", "B")
"""What a moment has in it that is more than replacing a space: a fraction, a zero, infinity, BC."""

_SHAPE = "0000-00-00 00:00:00\n"
_DIGITS = str.maketrans("123456789", "000000000")
_ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII
)


def as_given(values: Sequence[Any]) -> Sequence[str]:
    """Take texts for what they are."""
    return values if all(values) else [value or "" for value in values]


def booleans(values: Sequence[Any]) -> Sequence[str]:
    """Write PostgreSQL's booleans."""
    return [_BOOLEANS[value] for value in values]


def each(write: Callable[[Any], str]) -> Write:
    """Write one value at a time."""

    def write_all(values: Sequence[Any]) -> Sequence[str]:
        if None in values:
            return ["" if value is None else write(value) for value in values]
        return list(map(write, values))

    return write_all


def moments(values: Sequence[Any]) -> Sequence[str]:
    """Write what a server calls a moment: `2024-01-02 03:04:05`, or `2024-01-02`."""
    joined = "\n".join(values).replace("+00", "") if all(values) else ""
    if any(map(joined.__contains__, _UNUSUAL)):
        return _each_moment(values)
    if len(joined) + 1 == len(values) * len("2024-01-02 03:04:05\n"):
        return (joined.replace(" ", "T").replace("\n", "Z\n") + "Z").split("\n")
    if len(joined) + 1 == len(values) * len("2024-01-02\n"):
        return (joined.replace("\n", _MIDNIGHT + "\n") + _MIDNIGHT).split("\n")
    return _each_moment(values)


def stored(values: Sequence[Any]) -> Sequence[str]:
    """Write what SQLite holds, where every value has a type of its own."""
    if _joined(values) is not None:
        return values
    return list(map(str, values)) if set(map(type, values)) == {int} else _each_stored(values)


def stored_moments(values: Sequence[Any]) -> Sequence[str]:
    """Write what SQLite holds in a column that is declared to hold moments."""
    joined = _joined(values)
    if joined and joined.translate(_DIGITS) == (_SHAPE * len(values))[:-1]:
        with suppress(ValueError):
            list(map(datetime.fromisoformat, values))
            return moments(values)
    return _each_stored_moment(values)


def of_moment(written: str) -> str:
    """Write `2024-01-02 03:04:05.500000` or `2024-01-02` as RFC 3339 in UTC, zeros trimmed.

    The server's session is in UTC, so an offset can only be +00. A year, month or day of zero,
    which only MySQL has, counts as 1. What RFC 3339 has no words for (`infinity`, years BC) stays
    as the server wrote it.
    """
    day, _, clock = written.partition(" ")
    if not day[:1].isdigit() or clock.endswith("BC"):
        return written
    clock = clock.removesuffix("+00")
    if "." in clock:
        clock = clock.rstrip("0").rstrip(".")
    return f"{_without_zeros(day)}T{clock or '00:00:00'}Z"


def of_stored_moment(value: object) -> str:
    """Write what SQLite holds in a column declared as a moment; what is none stays as it is."""
    if not isinstance(value, str) or not _ISO.fullmatch(value):
        return of_stored(value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    moment = moment.astimezone(UTC) if moment.tzinfo else moment
    return of_moment(moment.replace(tzinfo=None).isoformat(" "))


def of_stored(value: object) -> str:
    """Write what SQLite holds, by the type of this one value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return of_bytes(value)
    return of_float(value) if isinstance(value, float) else str(value)


def of_bytes(held: bytes) -> str:
    """Return bytes that are UTF-8 as that text, any others as base64."""
    try:
        return held.decode()
    except UnicodeDecodeError:
        return base64.b64encode(held).decode()


def of_bits(held: bytes) -> str:
    """Write MySQL's BIT(n) as the number that it is: BIT(1) becomes 0 or 1."""
    return str(int.from_bytes(held, "big"))


def of_float(value: float) -> str:
    """Write the shortest digits that make the same number; a whole number without a point."""
    return repr(value).removesuffix(".0")


def _joined(values: Sequence[Any]) -> str | None:
    """Return texts as lines; None if one of them is no text. The quickest way to find out."""
    try:
        return "\n".join(values)
    except TypeError:
        return None


def _without_zeros(day: str) -> str:
    if "-00" not in day and not day.startswith("0000-"):
        return day
    year, month, day = day.split("-")
    return f"{_from_one(year)}-{_from_one(month)}-{_from_one(day)}"


def _from_one(part: str) -> str:
    return part if part.strip("0") else part[:-1] + "1"


_each_moment = each(of_moment)
_each_stored = each(of_stored)
_each_stored_moment = each(of_stored_moment)
