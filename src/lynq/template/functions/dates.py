"""Dates: sprig's functions on times, layouts, zones and durations."""

from typing import Final

from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.signature import Needs, function
from lynq.template.gotime import duration
from lynq.template.gotime.calendar import LOCAL, UTC, load
from lynq.template.gotime.parse import parse_moment
from lynq.template.gotime.time import Moment
from lynq.template.gotime.values import Time
from lynq.template.values import Int64, type_name, wrap_int64

_NANOS: Final = 1_000_000_000
_HTML_DATE: Final = "2006-01-02"
_DAY: Final = 24 * duration.HOUR
# A unit is used for durations above it, not for one that equals it.
_COARSE_UNITS: Final = (
    (365 * _DAY, "y"),
    (30 * _DAY, "mo"),
    (_DAY, "d"),
    (duration.HOUR, "h"),
    (duration.MINUTE, "m"),
    (duration.SECOND, "s"),
)


@function("now", "func() time.Time", needs=Needs.CLOCK)
def now(context: Context) -> Time:
    """Return the time of the render."""
    return Time(_now(context))


def _now(context: Context) -> Moment:
    return Moment.from_unix(context.now // _NANOS, context.now % _NANOS, LOCAL)


def _moment_of(context: Context, value: object, numbers: tuple[str, ...]) -> Moment:
    """Convert a time or Unix seconds to a moment; any other value is now."""
    if isinstance(value, Time):
        return value.moment
    if isinstance(value, int) and type_name(value) in numbers:
        return Moment.from_unix(value)
    return _now(context)


@function("dateInZone", "func(string, any, string) string", needs=Needs.CLOCK)
@function("date_in_zone", "func(string, any, string) string", needs=Needs.CLOCK)
def date_in_zone(context: Context, layout: str, value: object, zone: str) -> str:
    """Format a date in a zone; an unknown zone is UTC."""
    moment = _moment_of(context, value, ("int", "int64", "int32"))
    context.limits.check_text(len(layout))
    return moment.within(load(zone) or UTC).write(layout)


@function("date", "func(string, any) string", needs=Needs.CLOCK)
def date(context: Context, layout: str, value: object) -> str:
    """Format a date in local time."""
    return date_in_zone(context, layout, value, "Local")


@function("htmlDate", "func(any) string", needs=Needs.CLOCK)
def html_date(context: Context, value: object) -> str:
    """Format a date for an HTML date input."""
    return date_in_zone(context, _HTML_DATE, value, "Local")


@function("htmlDateInZone", "func(any, string) string", needs=Needs.CLOCK)
def html_date_in_zone(context: Context, value: object, zone: str) -> str:
    """Format a date in a zone for an HTML date input."""
    return date_in_zone(context, _HTML_DATE, value, zone)


@function("mustDateModify", "func(string, time.Time) (time.Time, error)")
@function("must_date_modify", "func(string, time.Time) (time.Time, error)")
def must_date_modify(change: str, time: Time) -> Time:
    """Add a duration to a time."""
    return Time(time.moment.add(duration.parse_duration(change)))


@function("dateModify", "func(string, time.Time) time.Time")
@function("date_modify", "func(string, time.Time) time.Time")
def date_modify(change: str, time: Time) -> Time:
    """Add a duration to a time; an invalid duration leaves the time unchanged."""
    try:
        return must_date_modify(change, time)
    except FunctionError:
        return time


@function("mustToDate", "func(string, string) (time.Time, error)")
def must_to_date(layout: str, text: str) -> Time:
    """Parse a time by a layout."""
    return Time(parse_moment(layout, text))


@function("toDate", "func(string, string) time.Time")
def to_date(layout: str, text: str) -> Time:
    """Parse a time by a layout; a text that does not match is the zero time."""
    try:
        return must_to_date(layout, text)
    except FunctionError:
        return Time(Moment())


@function("unixEpoch", "func(time.Time) string")
def unix_epoch(time: Time) -> str:
    """Return the Unix time in seconds."""
    return str(time.moment.unix)


@function("ago", "func(any) string", needs=Needs.CLOCK)
def ago(context: Context, value: object) -> str:
    """Return the time elapsed since `value`, rounded to the second."""
    passed = _now(context).subtract(_moment_of(context, value, ("int", "int64")))
    return duration.format_duration(duration.round_duration(passed, duration.SECOND))


@function("duration", "func(any) string")
def seconds_as_duration(value: object) -> str:
    """Format seconds, a string or an int64, as a duration."""
    seconds = 0
    if isinstance(value, str):
        seconds = _parse_int(value)
    elif isinstance(value, Int64):
        seconds = value
    return duration.format_duration(wrap_int64(seconds * duration.SECOND))


def _parse_int(text: str) -> int:
    """Parse a decimal int64; out of range is clamped, as by strconv.ParseInt."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        return 0
    # More than 20 digits are out of range, and int() fails for thousands of them.
    size = int(digits.lstrip("0")[:20] or "0")
    return duration.clamp(-size if text[0] == "-" else size)


@function("durationRound", "func(any) string", needs=Needs.CLOCK)
def duration_round(context: Context, value: object) -> str:
    """Format a duration in its largest unit: "3mo" for a little more than three months."""
    size = abs(_duration_of(context, value))
    for unit, name in _COARSE_UNITS:
        if size > unit:
            return f"{size // unit}{name}"
    return "0s"


def _duration_of(context: Context, value: object) -> int:
    if isinstance(value, str):
        return _duration_or_zero(value)
    if isinstance(value, Int64):
        return value
    if isinstance(value, Time):
        return _now(context).subtract(value.moment)
    return 0


def _duration_or_zero(text: str) -> int:
    try:
        return duration.parse_duration(text)
    except FunctionError:
        return 0
