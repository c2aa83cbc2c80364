"""Reads a moment from text in a layout, as time.ParseInLocation with the local zone does."""

from lynq.template.errors import FunctionError, LimitError
from lynq.template.gotime.calendar import LOCAL, UTC, days_before, days_in, fixed, is_leap
from lynq.template.gotime.duration import quote
from lynq.template.gotime.elements import BadValue, OutOfRange, Reading, number, read
from lynq.template.gotime.layout import MOST_BYTES, pieces
from lynq.template.gotime.time import Moment
from lynq.template.values import byte_view

_LEAP_DAY = 31 + 29


def parse_moment(layout: str, text: str) -> Moment:
    """Parse a moment; the error quotes text and layout as Go's does."""
    form, value = byte_view(layout), byte_view(text)
    if len(value) > MOST_BYTES:
        raise LimitError(f"a time of {len(value)} bytes is over the limit of {MOST_BYTES}")
    try:
        reading = _read_pieces(form, value)
        _resolve_date(reading)
    except OutOfRange as problem:
        raise FunctionError(f"parsing time {quote(value)}: {problem}") from None
    return _moment(reading)


def _read_pieces(form: str, value: str) -> Reading:
    reading = Reading(value)
    cut = pieces(form)
    for at, (text, element) in enumerate(cut):
        _expect(text, reading, form, value)
        if not element:
            break
        # After seconds a fraction may follow; a fraction itself needs its own length.
        following = cut[at + 1].element
        reading.upcoming = element if element[0] in ".," else following
        before = reading.rest
        try:
            read(element, reading)
        except BadValue:
            raise _mismatch(form, value, element, before) from None
        except OutOfRange as problem:
            raise OutOfRange(f"{problem} out of range") from None
    if reading.rest:
        raise OutOfRange(f"extra text: {quote(reading.rest)}")
    return reading


def _expect(literal: str, reading: Reading, form: str, value: str) -> None:
    """Skip literal text; a run of spaces matches any run of spaces."""
    left = literal
    while left:
        if left[0] == " ":
            fits = not reading.rest or reading.rest[0] == " "
            skipped = left.lstrip(" "), reading.rest.lstrip(" ")
        else:
            fits = reading.rest[:1] == left[0]
            skipped = left[1:], reading.rest[1:]
        if not fits:
            raise _mismatch(form, value, literal, reading.rest)
        left, reading.rest = skipped


def _mismatch(form: str, value: str, element: str, rest: str) -> FunctionError:
    return FunctionError(
        f"parsing time {quote(value)} as {quote(form)}: "
        f"cannot parse {quote(rest)} as {quote(element)}"
    )


def _resolve_date(reading: Reading) -> None:
    """Compute month and day, also from the day of the year, and the hour from AM and PM."""
    if reading.afternoon and reading.hour < 12:  # noqa: PLR2004
        reading.hour += 12
    elif reading.morning and reading.hour == 12:  # noqa: PLR2004
        reading.hour = 0
    if reading.day_of_year >= 0:
        _resolve_day_of_year(reading)
    reading.month = 1 if reading.month < 0 else reading.month
    reading.day = 1 if reading.day < 0 else reading.day
    if not 1 <= reading.day <= days_in(reading.year, reading.month):
        raise OutOfRange("day out of range")


def _resolve_day_of_year(reading: Reading) -> None:
    month, day = _month_and_day(reading.year, reading.day_of_year)
    if reading.month >= 0 and reading.month != month:
        raise OutOfRange("day-of-year does not match month")
    if reading.day >= 0 and reading.day != day:
        raise OutOfRange("day-of-year does not match day")
    reading.month, reading.day = month, day


def _month_and_day(year: int, day_of_year: int) -> tuple[int, int]:
    if is_leap(year):
        if day_of_year == _LEAP_DAY:
            return 2, 29
        day_of_year -= day_of_year > _LEAP_DAY
    if not 1 <= day_of_year <= days_before(13):
        raise OutOfRange("day-of-year out of range")
    month = next(month for month in range(12, 0, -1) if days_before(month) < day_of_year)
    return month, day_of_year - days_before(month)


def _moment(reading: Reading) -> Moment:
    """Return the moment in its zone: named, an offset, an unknown abbreviation, or local."""
    date = (reading.year, reading.month, reading.day)
    clock = (reading.hour, reading.minute, reading.second)
    zone = LOCAL if reading.zone is None else reading.zone
    moment = Moment.from_wall(date, clock, reading.nanosecond, zone)
    if reading.zone is not None:
        return moment
    if reading.zone_offset != -1:
        return _at_offset(moment.within(UTC), reading)
    if reading.zone_name:
        # An unknown abbreviation has offset 0; GMT+3 changes only how the time prints.
        offset = number(reading.zone_name[3:]) if reading.zone_name.startswith("GMT") else 0
        return moment.within(fixed(reading.zone_name, offset * 3600))
    return moment


def _at_offset(moment: Moment, reading: Reading) -> Moment:
    moment = moment.add(-reading.zone_offset * 1_000_000_000)
    local = reading.zone_offset == 0 and reading.zone_name in ("", "UTC")
    return moment.within(LOCAL if local else fixed(reading.zone_name, reading.zone_offset))
