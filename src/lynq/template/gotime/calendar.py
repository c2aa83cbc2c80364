"""The Gregorian calendar for every year Go can name, far beyond those of datetime."""

from typing import Final

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
# From the first of March of year 0, where the count below starts, to the first of January 1970.
_MARCH_0_TO_EPOCH: Final = 719_468


def is_leap(year: int) -> bool:
    """Tell whether the year has a 29th of February."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in(year: int, month: int) -> int:
    """Count the days of a month."""
    if month == _FEBRUARY and is_leap(year):
        return 29
    return _DAYS_BEFORE[month] - _DAYS_BEFORE[month - 1]


def days_before(month: int) -> int:
    """Count the days of a common year before the month; 13 gives the whole year."""
    return _DAYS_BEFORE[month - 1]


def day_of_year(year: int, month: int, day: int) -> int:
    """Count from 1, the first of January."""
    leap_day = 1 if month > _FEBRUARY and is_leap(year) else 0
    return days_before(month) + day + leap_day


def days_since_epoch(year: int, month: int, day: int) -> int:
    """Give the number of a day; the month must be 1 to 12, the day may overflow."""
    cycle, year_of_cycle = divmod(year, 400)
    leap_days = (year_of_cycle + 3) // 4 - (year_of_cycle + 99) // 100 + (year_of_cycle > 0)
    first = cycle * _DAYS_400_YEARS + year_of_cycle * 365 + leap_days
    january_1_of_year_0 = _MARCH_0_TO_EPOCH + 60
    return first + day_of_year(year, month, day) - 1 - january_1_of_year_0


def date_of(days: int) -> tuple[int, int, int]:
    """Give year, month and day of a day's number.

    Years are counted from March, so that the leap day is the last of its year.
    """
    cycle, day = divmod(days + _MARCH_0_TO_EPOCH, _DAYS_400_YEARS)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    year += cycle * 400
    return (year, month + 3, day + 1) if month < 10 else (year + 1, month - 9, day + 1)  # noqa: PLR2004
