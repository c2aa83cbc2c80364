"""Time, Duration, Month, Weekday and Location as template values, with their methods."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from lynq.template.errors import FunctionError
from lynq.template.functions.signature import Function, method
from lynq.template.gotime import duration
from lynq.template.gotime.calendar import LOCAL, MONTHS, UTC, WEEKDAYS, Zone
from lynq.template.gotime.layout import Wall
from lynq.template.gotime.time import RFC3339_NANO, Moment
from lynq.template.values import GoType, Kind, Object


class Duration(Object, int):
    """A time.Duration."""

    __slots__ = ()
    go_type = GoType("time.Duration", Kind.INT64)
    methods: ClassVar = dict(
        (
            method("String", "func() string", lambda self: self.text()),
            method("Nanoseconds", "func() int64", int),
            method("Microseconds", "func() int64", lambda self: _divide(self, 1000)),
            method("Milliseconds", "func() int64", lambda self: _divide(self, 1_000_000)),
            method("Seconds", "func() float64", lambda self: _float(self, duration.SECOND, 1e9)),
            method("Minutes", "func() float64", lambda self: _float(self, duration.MINUTE, 60e9)),
            method("Hours", "func() float64", lambda self: _float(self, duration.HOUR, 3600e9)),
            method("Abs", "func() time.Duration", lambda self: Duration(duration.clamp(abs(self)))),
            method(
                "Truncate",
                "func(time.Duration) time.Duration",
                lambda self, unit: Duration(duration.truncate_duration(self, unit)),
            ),
            method(
                "Round",
                "func(time.Duration) time.Duration",
                lambda self, unit: Duration(duration.round_duration(self, unit)),
            ),
        )
    )

    def text(self) -> str:
        """Print as "1h2m3s"."""
        return duration.format_duration(self)


def _divide(nanoseconds: int, unit: int) -> int:
    return duration.truncate_duration(nanoseconds, unit) // unit


def _float(nanoseconds: int, unit: int, scale: float) -> float:
    """Add whole units and the rest as floats, in Go's order, which determines the last bit."""
    rest = duration.remainder(nanoseconds, unit)
    return float((nanoseconds - rest) // unit) + rest / scale


class Month(Object, int):
    """A time.Month."""

    __slots__ = ()
    go_type = GoType("time.Month", Kind.INT)
    methods: ClassVar = dict((method("String", "func() string", lambda self: self.text()),))

    def text(self) -> str:
        """Print the English name."""
        return MONTHS[self - 1]


class Weekday(Object, int):
    """A time.Weekday."""

    __slots__ = ()
    go_type = GoType("time.Weekday", Kind.INT)
    methods: ClassVar = dict((method("String", "func() string", lambda self: self.text()),))

    def text(self) -> str:
        """Print the English name."""
        return WEEKDAYS[self]


@dataclass(frozen=True, slots=True)
class Location(Object):
    """A *time.Location."""

    zone: Zone
    go_type: ClassVar = GoType("*time.Location", Kind.POINTER)
    methods: ClassVar = dict((method("String", "func() string", lambda self: self.text()),))

    def text(self) -> str:
        """Print the zone's name."""
        return self.zone.name


def _wall_getter(name: str, result: str, part: Callable[[Wall], object]) -> tuple[str, Function]:
    """Declare a method that reads the wall clock."""
    return method(name, f"func() {result}", lambda self: part(self.moment.wall()))


def _getter(name: str, result: str, answer: Callable[[Moment], object]) -> tuple[str, Function]:
    """Declare a method without arguments."""
    return method(name, f"func() {result}", lambda self: answer(self.moment))


def _comparison(name: str, test: Callable[[int, int], object]) -> tuple[str, Function]:
    """Declare a method that compares the instants of two times."""
    result = "int" if name == "Compare" else "bool"
    return method(
        name,
        f"func(time.Time) {result}",
        lambda self, other: test(self.moment.nanoseconds, other.moment.nanoseconds),
    )


def _shift(name: str, move: Callable[[Moment, int], Moment]) -> tuple[str, Function]:
    """Declare a method that takes a duration and returns a time."""
    return method(
        name,
        "func(time.Duration) time.Time",
        lambda self, nanoseconds: Time(move(self.moment, nanoseconds)),
    )


def _in_zone(time: "Time", location: Location | None) -> "Time":
    if location is None:
        raise FunctionError("time: missing Location in call to Time.In")
    return Time(time.moment.within(location.zone))


@dataclass(frozen=True, slots=True)
class Time(Object):
    """A time.Time. Like Go's `==`, equality requires the same instant in the same zone."""

    moment: Moment
    go_type: ClassVar = GoType("time.Time", Kind.STRUCT)
    methods: ClassVar = dict(
        (
            _wall_getter("Year", "int", lambda wall: wall.year),
            _wall_getter("Month", "time.Month", lambda wall: Month(wall.month)),
            _wall_getter("Day", "int", lambda wall: wall.day),
            _wall_getter("Weekday", "time.Weekday", lambda wall: Weekday(wall.weekday)),
            _wall_getter("YearDay", "int", lambda wall: wall.day_of_year),
            _wall_getter("Hour", "int", lambda wall: wall.hour),
            _wall_getter("Minute", "int", lambda wall: wall.minute),
            _wall_getter("Second", "int", lambda wall: wall.second),
            _wall_getter("IsDST", "bool", lambda wall: wall.period.summer),
            _getter("Nanosecond", "int", lambda moment: moment.nanosecond),
            _getter("Unix", "int64", lambda moment: moment.unix),
            _getter("UnixMilli", "int64", lambda moment: moment.unix_in(1_000)),
            _getter("UnixMicro", "int64", lambda moment: moment.unix_in(1_000_000)),
            _getter("UnixNano", "int64", lambda moment: moment.unix_in(1_000_000_000)),
            _getter("IsZero", "bool", lambda moment: moment.nanoseconds == 0),
            _getter("String", "string", str),
            _getter("GoString", "string", Moment.source),
            _getter("UTC", "time.Time", lambda moment: Time(moment.within(UTC))),
            _getter("Local", "time.Time", lambda moment: Time(moment.within(LOCAL))),
            _getter("Location", "*time.Location", lambda moment: Location(moment.zone)),
            _comparison("Before", operator.lt),
            _comparison("After", operator.gt),
            _comparison("Equal", operator.eq),
            _comparison("Compare", lambda left, right: (left > right) - (left < right)),
            _shift("Add", Moment.add),
            _shift("Round", Moment.round),
            _shift("Truncate", Moment.truncate),
            method("In", "func(*time.Location) time.Time", _in_zone),
            method("Format", "func(string) string", lambda self, layout: self.moment.write(layout)),
            method(
                "AddDate",
                "func(int, int, int) time.Time",
                lambda self, *numbers: Time(self.moment.add_date(*numbers)),
            ),
            method(
                "Sub",
                "func(time.Time) time.Duration",
                lambda self, other: Duration(self.moment.subtract(other.moment)),
            ),
        )
    )

    field_errors: ClassVar = {
        **{
            name: f"function {name} has 3 return values; should be 1 or 2"
            for name in ("Clock", "Date")
        },
        **{
            name: f"invalid function signature for {name}: "
            f"second return value should be error; is {second}"
            for name, second in (("ISOWeek", "int"), ("Zone", "int"), ("ZoneBounds", "time.Time"))
        },
        **{
            name: f"{name} is an unexported field of struct type time.Time"
            for name in ("wall", "ext", "loc")
        },
    }

    def text(self) -> str:
        """Print as `%v` does."""
        return str(self.moment)

    def go_text(self) -> str:
        """Print as `%#v` does."""
        return self.moment.source()

    def json(self) -> str:
        """Return the JSON encoding."""
        return self.moment.write(RFC3339_NANO)
