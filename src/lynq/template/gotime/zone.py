"""Time zones as Go sees them: UTC, local (ours is UTC), fixed offsets, the tz database."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from importlib import resources
from typing import Final
from zoneinfo import ZoneInfo

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - ZoneInfo.fromutc wants it bare
_GREGORIAN_CYCLE: Final = 146_097 * 86_400
# ZoneInfo answers for the years 1 to 9999. Zones do not change before their first known change,
# and what they do after the last one repeats with the calendar.
_FIRST: Final = -62_135_510_400
_LAST: Final = 253_402_214_400


@dataclass(frozen=True, slots=True)
class Period:
    """What holds in a zone at one moment: abbreviation, seconds east of UTC, summer time or not."""

    name: str
    offset: int
    summer: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """A `*time.Location`: equal only to itself, as pointers are."""

    name: str
    rules: ZoneInfo | Period

    def at(self, seconds: int) -> Period:
        """Tell what holds at a Unix time."""
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
# Go runs in a container without a local zone: it is called Local in source and prints as UTC.
LOCAL: Final = Zone("UTC", Period("UTC", 0))

_HOUR: Final = 3600


def fixed(name: str, offset: int) -> Zone:
    """Make a zone of one offset; Go keeps one shared value per whole hour without a name."""
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
    """Find a zone by name in the bundled database; None where Go would fail.

    Only names of the database's own list reach the file system, whatever a row holds.
    """
    if name in ("", "UTC"):
        return UTC
    if name == "Local":
        return LOCAL
    return _read(name) if name in _names() else None
