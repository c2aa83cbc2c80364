"""Go's time.Duration: 64 bits of nanoseconds, notation ("1h2m3.5s"), rounding and errors."""

import re
from typing import Final

from lynq.template.errors import FunctionError, LimitError
from lynq.template.values import byte_view

_SPACE: Final = " "
_ASCII_END: Final = "\x80"


def quote(view: str) -> str:
    r"""Quote a byte view; bytes that are not printable ASCII become \xNN."""
    return '"' + "".join(map(_escaped, view)) + '"'


def _escaped(byte: str) -> str:
    if byte < _SPACE or byte >= _ASCII_END:
        return f"\\x{ord(byte):02x}"
    return "\\" + byte if byte in '"\\' else byte


NANOSECOND: Final = 1
MICROSECOND: Final = 1000 * NANOSECOND
MILLISECOND: Final = 1000 * MICROSECOND
SECOND: Final = 1000 * MILLISECOND
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
MAX: Final = (1 << 63) - 1
MIN: Final = -(1 << 63)

# The micro sign and the Greek letter mu, each as the characters of its UTF-8 bytes.
_UNITS: Final = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    byte_view("\u00b5s"): MICROSECOND,
    byte_view("\u03bcs"): MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)", re.DOTALL)
_MOST: Final = 1 << 63
_MOST_BYTES: Final = 4096


def wrap(number: int) -> int:
    """Wrap around to a signed 64-bit integer, as Go's arithmetic does."""
    return ((number + _MOST) & ((1 << 64) - 1)) - _MOST


def clamp(nanoseconds: int) -> int:
    """Clamp to the minimum and maximum duration, as Time.Sub does."""
    return max(MIN, min(MAX, nanoseconds))


def parse_duration(text: str) -> int:
    """Parse a duration such as "-1.5h" or "2h45m"."""
    whole = byte_view(text)
    if len(whole) > _MOST_BYTES:
        raise LimitError(f"a duration of {len(whole)} bytes is over the limit of {_MOST_BYTES}")
    negative = whole.startswith("-")
    rest = whole[1:] if whole[:1] in ("-", "+") else whole
    if rest == "0":
        return 0
    total = _sum_of_parts(rest, whole)
    if total > (_MOST if negative else MAX):
        raise _invalid(whole)
    return -total if negative else total


def _sum_of_parts(rest: str, whole: str) -> int:
    if not rest:
        raise _invalid(whole)
    total, at = 0, 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None:  # pragma: no cover - every piece of the pattern may be empty
            raise _invalid(whole)
        total += _nanoseconds(part[1], part[2] or "", part[3], whole)
        if total > _MOST:
            raise _invalid(whole)
        at = part.end()
    return total


def _nanoseconds(integer: str, fraction: str, unit_name: str, whole: str) -> int:
    # Leading zeros are removed first: int() fails for very long numbers, Go does not.
    digits = integer.lstrip("0")[:20]
    value = int(digits or "0")
    if value > _MOST or not (integer or fraction):
        raise _invalid(whole)
    if not unit_name:
        raise FunctionError(f"time: missing unit in duration {quote(whole)}")
    unit = _UNITS.get(unit_name)
    if unit is None:
        raise FunctionError(f"time: unknown unit {quote(unit_name)} in duration {quote(whole)}")
    if value > _MOST // unit:
        raise _invalid(whole)
    return value * unit + _fraction(fraction, unit)


def _fraction(digits: str, unit: int) -> int:
    """Scale the digits after the point in floating point, up to Go's maximum of digits."""
    value, scale = 0, 1.0
    for digit in digits:
        more = value * 10 + int(digit)
        if value > MAX // 10 or more > _MOST:
            break
        value, scale = more, scale * 10
    return int(float(value) * (unit / scale))


def _invalid(whole: str) -> FunctionError:
    return FunctionError(f"time: invalid duration {quote(whole)}")


def format_duration(nanoseconds: int) -> str:
    """Format a duration as Duration.String does."""
    sign = "-" if nanoseconds < 0 else ""
    size = abs(nanoseconds)
    if size == 0:
        return "0s"
    if size < SECOND:
        return sign + _small(size)
    minutes, rest = divmod(size, MINUTE)
    hours, minutes = divmod(minutes, 60)
    text = _decimal(rest, SECOND) + "s"
    if size >= MINUTE:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else sign + text


def _small(size: int) -> str:
    if size < MICROSECOND:
        return f"{size}ns"
    if size < MILLISECOND:
        return _decimal(size, MICROSECOND) + "\u00b5s"
    return _decimal(size, MILLISECOND) + "ms"


def _decimal(value: int, unit: int) -> str:
    whole, fraction = divmod(value, unit)
    digits = str(unit + fraction)[1:].rstrip("0") if fraction else ""
    return f"{whole}.{digits}" if digits else str(whole)


def remainder(nanoseconds: int, unit: int) -> int:
    """Return the remainder of Go's division, which truncates toward zero."""
    rest = abs(nanoseconds) % abs(unit)
    return -rest if nanoseconds < 0 else rest


def truncate_duration(nanoseconds: int, unit: int) -> int:
    """Round toward zero to a multiple of the unit."""
    return nanoseconds if unit <= 0 else nanoseconds - remainder(nanoseconds, unit)


def round_duration(nanoseconds: int, unit: int) -> int:
    """Round to the nearest multiple of the unit, halves away from zero."""
    if unit <= 0:
        return nanoseconds
    rest = abs(remainder(nanoseconds, unit))
    size = abs(nanoseconds) - rest
    if rest * 2 >= unit:
        size += unit
    return clamp(-size if nanoseconds < 0 else size)
