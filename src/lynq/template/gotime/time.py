"""Go's time.Time: a moment to the nanosecond, in a zone, with the arithmetic of package time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from lynq.template.gotime import duration, layout
from lynq.template.gotime.calendar import (
    LOCAL,
    MONTHS,
    UTC,
    Zone,
    date_of,
    day_of_year,
    days_since_epoch,
)
from lynq.template.gotime.duration import quote
from lynq.template.gotime.layout import Wall
from lynq.template.values import byte_view, wrap_int64

RFC3339_NANO: Final = "2006-01-02T15:04:05.999999999Z07:00"

_DAY: Final = 86_400
_NANOS: Final = 1_000_000_000
_YEAR_1_TO_EPOCH: Final = 62_135_596_800
# Go counts days from March 1 of a year before all supported ones, in unsigned 64 bits.
_ABSOLUTE_TO_EPOCH: Final = _YEAR_1_TO_EPOCH + (292_277_022_400 * 3_652_425 // 10_000 + 306) * _DAY


@dataclass(frozen=True, slots=True)
class Moment:
    """Seconds since January 1 of year 1, UTC, in 64 bits; nanoseconds; and a zone."""

    seconds: int = 0
    nanosecond: int = 0
    zone: Zone = UTC

    @classmethod
    def from_unix(cls, seconds: int, nanosecond: int = 0, zone: Zone = LOCAL) -> Moment:
        """Create the moment of a Unix time."""
        return cls(wrap_int64(seconds + _YEAR_1_TO_EPOCH), nanosecond, zone)

    @classmethod
    def from_wall(
        cls, date: tuple[int, int, int], clock: tuple[int, int, int], nanosecond: int, zone: Zone
    ) -> Moment:
        """Create the moment of a wall clock time, as time.Date does; any number may overflow."""
        year, month, day = date
        carry, month = divmod(month - 1, 12)
        days = days_since_epoch(year + carry, month + 1, 1) + day - 1
        hour, minute, second = clock
        carry, nanosecond = divmod(nanosecond, _NANOS)
        wall_seconds = wrap_int64(days * _DAY + hour * 3600 + minute * 60 + second + carry)
        # The offset at the wall clock time is correct unless a transition lies in between.
        guess = wall_seconds - zone.at(wall_seconds).offset
        return cls.from_unix(wall_seconds - zone.at(guess).offset, nanosecond, zone)

    @property
    def unix(self) -> int:
        """Seconds since 1970."""
        return wrap_int64(self.seconds - _YEAR_1_TO_EPOCH)

    def unix_in(self, parts: int) -> int:
        """Return milliseconds, microseconds or nanoseconds since 1970, wrapped to 64 bits."""
        return wrap_int64(self.unix * parts + self.nanosecond * parts // _NANOS)

    @property
    def nanoseconds(self) -> int:
        """Nanoseconds since year 1, exactly."""
        return self.seconds * _NANOS + self.nanosecond

    def wall(self) -> Wall:
        """Return the wall clock time and date in the moment's zone."""
        period = self.zone.at(self.unix)
        absolute = (self.unix + period.offset + _ABSOLUTE_TO_EPOCH) % (1 << 64)
        days, rest = divmod(absolute - _ABSOLUTE_TO_EPOCH, _DAY)
        year, month, day = date_of(days)
        hour, rest = divmod(rest, 3600)
        # January 1, 1970 is a Thursday.
        return Wall(
            year,
            month,
            day,
            day_of_year(year, month, day),
            (days + 4) % 7,
            hour,
            rest // 60,
            rest % 60,
            self.nanosecond,
            period,
        )

    def within(self, zone: Zone) -> Moment:
        """Return the same moment in another zone."""
        return replace(self, zone=zone)

    def write(self, form: str) -> str:
        """Format the moment by a layout."""
        return layout.write(form, self.wall())

    def add(self, nanoseconds: int) -> Moment:
        """Add a duration; like Go, saturate at the first and last second."""
        seconds, nanosecond = divmod(self.nanosecond + nanoseconds, _NANOS)
        return replace(self, seconds=duration.clamp(self.seconds + seconds), nanosecond=nanosecond)

    def subtract(self, other: Moment) -> int:
        """Return the duration between two moments."""
        return duration.clamp(self.nanoseconds - other.nanoseconds)

    def add_date(self, years: int, months: int, days: int) -> Moment:
        """Add years, months and days, keeping the time of day."""
        wall = self.wall()
        date = (wall.year + years, wall.month + months, wall.day + days)
        clock = (wall.hour, wall.minute, wall.second)
        return Moment.from_wall(date, clock, self.nanosecond, self.zone)

    def truncate(self, unit: int) -> Moment:
        """Round down to a multiple of the unit since year 1."""
        return self if unit <= 0 else self.add(-(self.nanoseconds % unit))

    def round(self, unit: int) -> Moment:
        """Round to the nearest multiple of the unit since year 1, halves up."""
        if unit <= 0:
            return self
        rest = self.nanoseconds % unit
        return self.add(-rest if rest * 2 < unit else unit - rest)

    def __str__(self) -> str:
        """Print as Time.String does."""
        return self.write("2006-01-02 15:04:05.999999999 -0700 MST")

    def source(self) -> str:
        """Print as Time.GoString does, for `%#v`."""
        wall = self.wall()
        date = f"{wall.year}, time.{MONTHS[wall.month - 1]}, {wall.day}"
        clock = f"{wall.hour}, {wall.minute}, {wall.second}, {wall.nanosecond}"
        return f"time.Date({date}, {clock}, {self._zone_source()})"

    def _zone_source(self) -> str:
        if self.zone is UTC:
            return "time.UTC"
        if self.zone is LOCAL:
            return "time.Local"
        return f"time.Location({quote(byte_view(self.zone.name))})"
