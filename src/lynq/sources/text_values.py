"""The text form of every value, as templates see it: one rule for all engines.

Where possible an engine passes on the text that its server wrote. These functions cover the values
whose text must not depend on the engine: timestamps, bytes, and numbers that a driver returns as
numbers. docs/reference/sources.md has the whole table.

A read converts up to a million values. So a whole page of a column is converted at once, in loops
that run in C where the page allows it.
"""

import base64
import re
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from msgspec.json import Encoder

TextConverter = Callable[[Sequence[Any]], Sequence[str]]
"""Converts the values of one column on one page to texts; NULL becomes the empty text."""

_BOOLEANS = {True: "true", False: "false", None: ""}

_ENDS = {
    len("2024-01-02 03:04:05"): "Z",
    len("2024-01-02 03:04:05+00"): "Z",
    len("2024-01-02"): "T00:00:00Z",
}
"""What RFC 3339 has behind a server's timestamp or date, by its length."""
_LINE = len("2024-01-02T03:04:05Z\n")
_SPECIAL = (".", "i", "B", "0000-", "-00-", "-00T")
"""Parts of a timestamp that need more than another end: fraction, infinity, BC, zero."""

_TIMESTAMP_SHAPE = "0000-00-00 00:00:00Z\n"
_DIGITS = str.maketrans("123456789", "000000000")
_encode = Encoder().encode
_INTEGER_LIST = b"[-0123456789,]"
# No integer column has more digits.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,19}", re.ASCII)
_ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII
)


def unchanged_texts(values: Sequence[Any]) -> Sequence[str]:
    """Return texts as they are."""
    return values if all(values) else [value or "" for value in values]


def unpadded_texts(values: Sequence[Any]) -> Sequence[str]:
    """Strip the trailing blanks of a fixed-length column: they are padding, not data."""
    return [value.rstrip(" ") if value else "" for value in values]


def boolean_texts(values: Sequence[Any]) -> Sequence[str]:
    """Convert PostgreSQL's booleans."""
    return [_BOOLEANS[value] for value in values]


def per_value(convert: Callable[[Any], str]) -> TextConverter:
    """Return a converter that calls `convert` for each value that is not NULL."""

    def convert_all(values: Sequence[Any]) -> Sequence[str]:
        if None in values:
            return ["" if value is None else convert(value) for value in values]
        return list(map(convert, values))

    return convert_all


def integer_texts(values: Sequence[Any]) -> Sequence[str]:
    """Return the texts of integers and NULLs; none if there is another value.

    The JSON of a list has only these characters exactly if its values are integers.
    """
    encoded = _encode(values)
    if b"null" in encoded:
        # An infinite number is null, too.
        if encoded.count(b"null") != values.count(None):
            return []
        encoded = encoded.replace(b"null", b"")
    is_other = not values or encoded.translate(None, _INTEGER_LIST)
    return [] if is_other else encoded[1:-1].decode().split(",")


def timestamp_texts(values: Sequence[Any]) -> Sequence[str]:
    """Convert a server's timestamps and dates: `2024-01-02 03:04:05` or `2024-01-02`."""
    if not all(values) and None in values:
        return _around_nulls(timestamp_texts, values)
    if values and (end := _ENDS.get(len(values[0]))):
        joined = (f"{end}\n".join(values) + end).replace(" ", "T")
        if "+" in joined:
            joined = joined.replace("+00Z", "Z")
        if len(joined) + 1 == len(values) * _LINE and not any(map(joined.__contains__, _SPECIAL)):
            return joined.split("\n")
    return list(map(timestamp_text, values))


def sqlite_texts(values: Sequence[Any]) -> Sequence[str]:
    """Convert the values of a SQLite column, where every value has its own type."""
    if _joined("", values) is not None:
        return values
    if texts := integer_texts(values):
        return texts
    if None in values:
        return _around_nulls(sqlite_texts, values)
    return list(map(sqlite_text, values))


def sqlite_timestamp_texts(values: Sequence[Any]) -> Sequence[str]:
    """Convert the values of a SQLite column that is declared as a timestamp or date."""
    joined = _joined("Z\n", values)
    if joined is None and None in values:
        return _around_nulls(sqlite_timestamp_texts, values)
    if joined and f"{joined}Z\n".translate(_DIGITS) == _TIMESTAMP_SHAPE * len(values):
        with suppress(ValueError):
            # The digits may be those of no day.
            deque(map(datetime.fromisoformat, values), maxlen=0)
            return f"{joined}Z".replace(" ", "T").split("\n")
    return list(map(sqlite_timestamp_text, values))


def timestamp_text(server_text: str) -> str:
    """Convert `2024-01-02 03:04:05.500000` or `2024-01-02` to RFC 3339 in UTC, zeros trimmed.

    The server's session is in UTC, so an offset can only be +00. A year, month or day of zero,
    which only MySQL has, counts as 1. A value that RFC 3339 cannot express (`infinity`, years BC)
    stays as the server wrote it.
    """
    day, _, time = server_text.partition(" ")
    if not day[:1].isdigit() or time.endswith("BC"):
        return server_text
    time = time.removesuffix("+00")
    if "." in time:
        time = time.rstrip("0").rstrip(".")
    return f"{_without_zero_parts(day)}T{time or '00:00:00'}Z"


def sqlite_timestamp_text(value: object) -> str:
    """Convert a value of a SQLite timestamp column; a value that is no timestamp is unchanged."""
    if not isinstance(value, str) or not _ISO.fullmatch(value):
        return sqlite_text(value)
    try:
        timestamp = datetime.fromisoformat(value)
    except ValueError:
        return value
    timestamp = timestamp.astimezone(UTC) if timestamp.tzinfo else timestamp
    return timestamp_text(timestamp.replace(tzinfo=None).isoformat(" "))


def sqlite_text(value: object) -> str:
    """Convert a SQLite value by its own type."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return bytes_text(value)
    return float_text(value) if isinstance(value, float) else str(value)


def bytes_text(value: bytes) -> str:
    """Decode bytes as UTF-8; encode them as base64 if they are not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()


def bit_text(value: bytes) -> str:
    """Convert MySQL's BIT(n) to a decimal number: BIT(1) becomes 0 or 1."""
    return str(int.from_bytes(value, "big"))


def is_integer_text(text: str) -> bool:
    """Return whether a text is that of an integer column: no other text of the number is."""
    return bool(_INTEGER.fullmatch(text))


def float_text(value: float) -> str:
    """Return the shortest digits of the same number; a whole number without a point."""
    return repr(value).removesuffix(".0")


def _joined(separator: str, values: Sequence[Any]) -> str | None:
    """Return texts as one; None if a value is no text. This is the fastest test for that."""
    try:
        return separator.join(values)
    except TypeError:
        return None


def _around_nulls(convert: TextConverter, values: Sequence[Any]) -> list[str]:
    texts = iter(convert([value for value in values if value is not None]))
    return ["" if value is None else next(texts) for value in values]


def _without_zero_parts(day: str) -> str:
    if "-00" not in day and not day.startswith("0000-"):
        return day
    year, month, day = day.split("-")
    return f"{_at_least_one(year)}-{_at_least_one(month)}-{_at_least_one(day)}"


def _at_least_one(part: str) -> str:
    return part if part.strip("0") else part[:-1] + "1"
