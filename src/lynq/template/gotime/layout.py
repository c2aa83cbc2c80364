"""Go's layouts ("Mon Jan _2 15:04:05 2006"): cut into elements, and written from a wall clock."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from lynq.template.errors import LimitError
from lynq.template.gotime.calendar import MONTHS, WEEKDAYS, Period

# In the order in which Go tries them at one position of the layout.
_ELEMENT: Final = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2|_2(?!006)|__2|3|4|5|PM|pm"
    r"|[-Z]070000|[-Z]07:00:00|[-Z]0700|[-Z]07:00|[-Z]07|[.,](?:0+|9+)(?![0-9])"
)
# Longer than any real layout, and parsed in a few milliseconds.
MOST_BYTES: Final = 4096
_MOST_BYTES_CACHED: Final = 128


class Wall(NamedTuple):
    """The wall clock time and date of a moment in its zone."""

    year: int
    month: int
    day: int
    day_of_year: int
    weekday: int
    hour: int
    minute: int
    second: int
    nanosecond: int
    period: Period


class Piece(NamedTuple):
    """Literal text, and the element after it (empty at the end of the layout)."""

    text: str
    element: str


def pieces(layout: str) -> tuple[Piece, ...]:
    """Split a layout; the last piece has no element."""
    if len(layout) > MOST_BYTES:
        raise LimitError(f"a layout of {len(layout)} bytes is over the limit of {MOST_BYTES}")
    return _cached_cut(layout) if len(layout) <= _MOST_BYTES_CACHED else _cut(layout)


def _cut(layout: str) -> tuple[Piece, ...]:
    pieces_before, at = [], 0
    for match in _ELEMENT.finditer(layout):
        pieces_before.append(Piece(layout[at : match.start()], match[0]))
        at = match.end()
    return (*pieces_before, Piece(layout[at:], ""))


_cached_cut = lru_cache(maxsize=256)(_cut)


def write(layout: str, wall: Wall) -> str:
    """Format a moment by a layout."""
    return "".join(
        text + _write_element(element, wall) if element else text
        for text, element in pieces(layout)
    )


def _write_element(element: str, wall: Wall) -> str:
    writer = _WRITERS.get(element)
    return writer(wall) if writer else _fraction(element, wall.nanosecond)


def _padded(number: int, width: int) -> str:
    """Pad with zeros; the sign does not count."""
    digits = str(abs(number)).rjust(width, "0")
    return "-" + digits if number < 0 else digits


def _fraction(element: str, nanosecond: int) -> str:
    """Format the fractional second: zeros print every digit, nines drop trailing zeros."""
    digits = f"{nanosecond:09d}"[: len(element) - 1]
    if element[1] == "9":
        digits = digits.rstrip("0")
        return element[0] + digits if digits else ""
    return element[0] + digits


def _hour_of_12(wall: Wall) -> int:
    return wall.hour % 12 or 12


def _afternoon(wall: Wall) -> bool:
    return wall.hour >= 12  # noqa: PLR2004


def _abbreviation(wall: Wall) -> str:
    return wall.period.name or _offset("-0700", wall.period.offset)


def _offset(element: str, offset: int) -> str:
    """Format an offset in one of the ten numeric forms; those with Z print UTC as Z."""
    if element[0] == "Z" and offset == 0:
        return "Z"
    # Go takes the sign from the whole minutes; without minutes, the seconds keep their own sign.
    minutes = abs(offset) // 60
    negative = offset < 0 and minutes > 0
    seconds = abs(offset) % 60 if negative or offset >= 0 else -(abs(offset) % 60)
    parts = (_padded(minutes // 60, 2), _padded(minutes % 60, 2), _padded(seconds, 2))
    colon = ":" if ":" in element else ""
    # "-07", "-07:00" and "-07:00:00" hold two, four and six digits.
    count = sum(character.isdigit() for character in element) // 2
    return ("-" if negative else "+") + colon.join(parts[:count])


def _offset_writer(element: str) -> Callable[[Wall], str]:
    return lambda wall: _offset(element, wall.period.offset)


_OFFSETS: Final = tuple(
    sign + digits for sign in "-Z" for digits in ("07", "0700", "07:00", "070000", "07:00:00")
)
_WRITERS: Final[dict[str, Callable[[Wall], str]]] = {
    "January": lambda wall: MONTHS[wall.month - 1],
    "Jan": lambda wall: MONTHS[wall.month - 1][:3],
    "1": lambda wall: str(wall.month),
    "01": lambda wall: _padded(wall.month, 2),
    "Monday": lambda wall: WEEKDAYS[wall.weekday],
    "Mon": lambda wall: WEEKDAYS[wall.weekday][:3],
    "2": lambda wall: str(wall.day),
    "_2": lambda wall: f"{wall.day:2d}",
    "02": lambda wall: _padded(wall.day, 2),
    "__2": lambda wall: f"{wall.day_of_year:3d}",
    "002": lambda wall: _padded(wall.day_of_year, 3),
    "15": lambda wall: _padded(wall.hour, 2),
    "3": lambda wall: str(_hour_of_12(wall)),
    "03": lambda wall: _padded(_hour_of_12(wall), 2),
    "4": lambda wall: str(wall.minute),
    "04": lambda wall: _padded(wall.minute, 2),
    "5": lambda wall: str(wall.second),
    "05": lambda wall: _padded(wall.second, 2),
    "2006": lambda wall: _padded(wall.year, 4),
    "06": lambda wall: _padded(abs(wall.year) % 100, 2),
    "PM": lambda wall: "PM" if _afternoon(wall) else "AM",
    "pm": lambda wall: "pm" if _afternoon(wall) else "am",
    "MST": _abbreviation,
    **{element: _offset_writer(element) for element in _OFFSETS},
}
