"""Reads the elements of a layout from text, one small reader for each of them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Final

from lynq.template.gotime.calendar import MONTHS, UTC, WEEKDAYS, Zone

_SHORT_MONTHS: Final = tuple(name[:3] for name in MONTHS)
_SHORT_WEEKDAYS: Final = tuple(name[:3] for name in WEEKDAYS)
_NUMBER: Final = re.compile(r"[+-]?[0-9]*\Z")
_FRACTION: Final = re.compile(r"[.,][0-9]+")
_SIGNED: Final = re.compile(r"[+-]0*[0-9]{1,2}(?![0-9])")
_DIGITS: Final = re.compile(r"[0-9]+")
_PAIR: Final = re.compile(r"[0-9]{2}")
_CAPITALS: Final = re.compile(r"[A-Z]{0,6}")
_LAST_TWO_DIGIT_YEAR: Final = 69
_LAST_ZONE_HOUR: Final = 23


class BadValue(Exception):  # noqa: N818 - converted to an error by the parser
    """The text does not match the element."""


class OutOfRange(Exception):  # noqa: N818
    """The text matches the element, but the number is too large; the message names the field."""


@dataclass(slots=True)
class Reading:
    """The fields parsed so far, and the remaining text; -1 means not parsed."""

    rest: str
    upcoming: str = ""
    """The next element of the layout."""
    year: int = 0
    month: int = -1
    day: int = -1
    day_of_year: int = -1
    hour: int = 0
    minute: int = 0
    second: int = 0
    nanosecond: int = 0
    morning: bool = False
    afternoon: bool = False
    zone: Zone | None = None
    zone_offset: int = -1
    zone_name: str = ""

    def take(self, count: int) -> str:
        """Consume `count` bytes, or fail."""
        if len(self.rest) < count:
            raise BadValue
        head, self.rest = self.rest[:count], self.rest[count:]
        return head

    def digits(self, most: int, *, exact: bool = False) -> int:
        """Consume one to `most` digits, or exactly `most`."""
        match = _DIGITS.match(self.rest[:most])
        if match is None or (exact and len(match[0]) < most):
            raise BadValue
        return int(self.take(len(match[0])))

    def name(self, names: tuple[str, ...]) -> int:
        """Consume one of the names, ignoring case, and return its index."""
        for index, name in enumerate(names):
            if self.rest[: len(name)].lower() == name.lower():
                self.take(len(name))
                return index
        raise BadValue


def read(element: str, reading: Reading) -> None:
    """Parse one element."""
    _READERS.get(element, _exact_fraction if element[1:2] == "0" else _any_fraction)(reading)


def number(text: str) -> int:
    """Parse a number with an optional sign."""
    if not _NUMBER.match(text):
        raise BadValue
    return int(text) if text.strip("+-") else 0


def _year(reading: Reading) -> None:
    if not reading.rest[:1].isdigit():
        raise BadValue
    reading.year = number(reading.take(4))


def _short_year(reading: Reading) -> None:
    year = number(reading.take(2))
    reading.year = year + (1900 if year >= _LAST_TWO_DIGIT_YEAR else 2000)


def _month(reading: Reading, *, exact: bool) -> None:
    reading.month = reading.digits(2, exact=exact)
    if not 1 <= reading.month <= len(MONTHS):
        raise OutOfRange("month")


def _month_name(reading: Reading, names: tuple[str, ...]) -> None:
    reading.month = reading.name(names) + 1


def _day(reading: Reading, *, exact: bool) -> None:
    reading.day = reading.digits(2, exact=exact)


def _padded_day(reading: Reading) -> None:
    reading.rest = reading.rest.removeprefix(" ")
    reading.day = reading.digits(2)


def _day_of_year(reading: Reading) -> None:
    reading.day_of_year = reading.digits(3, exact=True)


def _padded_day_of_year(reading: Reading) -> None:
    reading.rest = reading.rest.removeprefix(" ").removeprefix(" ")
    reading.day_of_year = reading.digits(3)


def _hour(reading: Reading, *, last: int, exact: bool = False) -> None:
    reading.hour = reading.digits(2, exact=exact)
    if reading.hour > last:
        raise OutOfRange("hour")


def _minute(reading: Reading, *, exact: bool) -> None:
    reading.minute = reading.digits(2, exact=exact)
    if reading.minute > 59:  # noqa: PLR2004
        raise OutOfRange("minute")


def _second(reading: Reading, *, exact: bool) -> None:
    """Parse the seconds, and a fraction after them even if the layout has none."""
    reading.second = reading.digits(2, exact=exact)
    if reading.second > 59:  # noqa: PLR2004
        raise OutOfRange("second")
    if reading.upcoming[:1] not in (".", ","):
        _any_fraction(reading)


def _half_of_day(reading: Reading, morning: str, afternoon: str) -> None:
    half = reading.take(2)
    if half not in (morning, afternoon):
        raise BadValue
    reading.afternoon |= half == afternoon
    reading.morning |= half == morning


def _exact_fraction(reading: Reading) -> None:
    # `upcoming` is the element itself here: its length is the number of digits.
    _fraction(reading, reading.take(len(reading.upcoming)))


def _any_fraction(reading: Reading) -> None:
    match = _FRACTION.match(reading.rest)
    if match is not None:
        _fraction(reading, reading.take(len(match[0])))


def _fraction(reading: Reading, text: str) -> None:
    if text[0] not in ".,":
        raise BadValue
    digits = text[1:10]
    nanosecond = number(digits)
    if nanosecond < 0:
        raise OutOfRange("fractional second")
    reading.nanosecond = nanosecond * 10 ** (9 - len(digits))


def _offset(reading: Reading, form: str) -> None:
    """Parse an offset such as -07:00; `form` has a colon where the text must have one."""
    text = reading.take(len(form))
    if any(text[at] != ":" for at, character in enumerate(form) if character == ":"):
        raise BadValue
    pairs = [text[at : at + 2] for at in range(1, len(form), 3 if ":" in form else 2)]
    parts = [int(pair) for pair in takewhile(_PAIR.fullmatch, pairs)]
    hours, minutes, seconds = (*parts, 0, 0, 0)[:3]
    # A range error takes precedence over other errors in the offset.
    for value, most, field in (
        (seconds, 60, "second"),
        (minutes, 60, "minute"),
        (hours, 24, "hour"),
    ):
        if value > most:
            raise OutOfRange(f"time zone offset {field}")
    if len(parts) < len(pairs) or text[0] not in "+-":
        raise BadValue
    size = (hours * 60 + minutes) * 60 + seconds
    reading.zone_offset = -size if text[0] == "-" else size


def _offset_or_z(reading: Reading, form: str) -> None:
    if reading.rest.startswith("Z"):
        reading.take(1)
        reading.zone = UTC
    else:
        _offset(reading, form)


def _abbreviation(reading: Reading) -> None:
    if reading.rest.startswith("UTC"):
        reading.take(3)
        reading.zone = UTC
    else:
        reading.zone_name = reading.take(_zone_length(reading.rest))


def _zone_length(text: str) -> int:
    """Return the length of the leading time zone abbreviation, or 0."""
    if len(text) < len("MST"):
        raise BadValue
    if text.startswith(("ChST", "MeST")):
        return 4
    if text.startswith("GMT"):
        return 3 + _signed_length(text[3:])
    if text[0] in "+-":
        length = _signed_length(text)
    else:
        capitals = _CAPITALS.match(text)
        length = len(capitals[0]) if capitals and _is_zone_name(capitals[0]) else 0
    if not length:
        raise BadValue
    return length


def _is_zone_name(capitals: str) -> bool:
    if len(capitals) in (4, 5):
        return capitals.endswith("T") or capitals == "WITA"
    return len(capitals) == len("MST")


def _signed_length(text: str) -> int:
    match = _SIGNED.match(text)
    return len(match[0]) if match and int(match[0][-2:].lstrip("+-")) <= _LAST_ZONE_HOUR else 0


_OFFSET_FORMS: Final = ("07", "0700", "07:00", "070000", "07:00:00")
_READERS: Final[dict[str, Callable[[Reading], object]]] = {
    "2006": _year,
    "06": _short_year,
    "January": partial(_month_name, names=MONTHS),
    "Jan": partial(_month_name, names=_SHORT_MONTHS),
    "1": partial(_month, exact=False),
    "01": partial(_month, exact=True),
    "Monday": lambda reading: reading.name(WEEKDAYS),
    "Mon": lambda reading: reading.name(_SHORT_WEEKDAYS),
    "2": partial(_day, exact=False),
    "02": partial(_day, exact=True),
    "_2": _padded_day,
    "002": _day_of_year,
    "__2": _padded_day_of_year,
    "15": partial(_hour, last=23),
    "3": partial(_hour, last=12),
    "03": partial(_hour, last=12, exact=True),
    "4": partial(_minute, exact=False),
    "04": partial(_minute, exact=True),
    "5": partial(_second, exact=False),
    "05": partial(_second, exact=True),
    "PM": partial(_half_of_day, morning="AM", afternoon="PM"),
    "pm": partial(_half_of_day, morning="am", afternoon="pm"),
    "MST": _abbreviation,
    **{f"-{form}": partial(_offset, form=f"-{form}") for form in _OFFSET_FORMS},
    **{f"Z{form}": partial(_offset_or_z, form=f"Z{form}") for form in _OFFSET_FORMS},
}
