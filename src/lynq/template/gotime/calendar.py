"""The Gregorian calendar for every year of Go's time package, and its time zones."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from importlib import resources
from typing import Final
from zoneinfo import ZoneInfo

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS: Final = (
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
)
_DAYS_BEFORE: Final = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365)
_FEBRUARY: Final = 2
_DAYS_400_YEARS: Final = 146_097
# From March 1 of year 0, the origin of the computation below, to January 1, 1970.
_MARCH_0_TO_EPOCH: Final = 719_468


def is_leap(year: int) -> bool:
    """Report whether the year is a leap year."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in(year: int, month: int) -> int:
    """Count the days of a month."""
    if month == _FEBRUARY and is_leap(year):
        return 29
    return _DAYS_BEFORE[month] - _DAYS_BEFORE[month - 1]


def days_before(month: int) -> int:
    """Count the days of a common year before the month; for 13, the whole year."""
    return _DAYS_BEFORE[month - 1]


def day_of_year(year: int, month: int, day: int) -> int:
    """Return the day of the year, from 1."""
    leap_day = 1 if month > _FEBRUARY and is_leap(year) else 0
    return days_before(month) + day + leap_day


def days_since_epoch(year: int, month: int, day: int) -> int:
    """Return the days since 1970; the month must be 1 to 12, the day may overflow."""
    cycle, year_of_cycle = divmod(year, 400)
    leap_days = (year_of_cycle + 3) // 4 - (year_of_cycle + 99) // 100 + (year_of_cycle > 0)
    first = cycle * _DAYS_400_YEARS + year_of_cycle * 365 + leap_days
    january_1_of_year_0 = _MARCH_0_TO_EPOCH + 60
    return first + day_of_year(year, month, day) - 1 - january_1_of_year_0


def date_of(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a number of days since 1970.

    Years are counted from March, so that the leap day is the last of its year.
    """
    cycle, day = divmod(days + _MARCH_0_TO_EPOCH, _DAYS_400_YEARS)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    year += cycle * 400
    return (year, month + 3, day + 1) if month < 10 else (year + 1, month - 9, day + 1)  # noqa: PLR2004


_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - ZoneInfo.fromutc takes a naive one
_GREGORIAN_CYCLE: Final = 146_097 * 86_400
# ZoneInfo supports the years 1 to 9999. Zones do not change before their first transition,
# and the rule after the last one repeats with the calendar.
_FIRST: Final = -62_135_510_400
_LAST: Final = 253_402_214_400


@dataclass(frozen=True, slots=True)
class Period:
    """The properties of a zone at a moment: abbreviation, seconds east of UTC, DST or not."""

    name: str
    offset: int
    summer: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """A `*time.Location`: equal only to itself, as pointers are."""

    name: str
    rules: ZoneInfo | Period

    def at(self, seconds: int) -> Period:
        """Return the period at a Unix time."""
        if isinstance(self.rules, Period):
            return self.rules
        while seconds > _LAST:
            seconds -= (1 + (seconds - _LAST) // _GREGORIAN_CYCLE) * _GREGORIAN_CYCLE
        moment = _EPOCH + timedelta(seconds=max(seconds, _FIRST))
        local = self.rules.fromutc(moment.replace(tzinfo=self.rules))
        offset = local.utcoffset() or timedelta()
        return Period(local.tzname() or "", int(offset.total_seconds()), bool(local.dst()))

    def __str__(self) -> str:
        """Print the name, as `%v` does."""
        return self.name


UTC: Final = Zone("UTC", Period("UTC", 0))
# The reference is Go in a container without a local zone: `%#v` prints Local, `%v` prints UTC.
LOCAL: Final = Zone("UTC", Period("UTC", 0))

_HOUR: Final = 3600


def fixed(name: str, offset: int) -> Zone:
    """Create a zone with a fixed offset; like Go, unnamed whole hours share one value each."""
    whole_hour = offset % _HOUR == 0 and -12 * _HOUR <= offset <= 14 * _HOUR
    return _shared(offset) if not name and whole_hour else Zone(name, Period(name, offset))


@lru_cache(maxsize=32)
def _shared(offset: int) -> Zone:
    return Zone("", Period("", offset))


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset((resources.files("tzdata") / "zones").read_text().split())


@lru_cache(maxsize=128)
def _read(name: str) -> Zone:
    with (resources.files("tzdata") / "zoneinfo" / name).open("rb") as file:
        return Zone(name, ZoneInfo.from_file(file, key=name))


def load(name: str) -> Zone | None:
    """Load a zone from the bundled database; None where Go returns an error.

    Only names of the database's own list reach the file system, whatever a row holds.
    """
    if name in ("", "UTC"):
        return UTC
    if name == "Local":
        return LOCAL
    return _read(name) if name in _names() else None
