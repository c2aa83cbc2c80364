"""When a hub looks next: its syncInterval, and the growing delays after failures."""

import re
from datetime import timedelta
from typing import Final

from lynq.api.wire import LONGEST_TIMESTAMP

# With more digits it would be over the life of everybody, and over what a timedelta holds.
_INTERVAL: Final = re.compile(r"0*([0-9]{1,9})([smh])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}
_DEFAULT: Final = timedelta(seconds=30)
_SHORTEST: Final = timedelta(seconds=1)
_FIRST_RETRY: Final = timedelta(seconds=1)
# After so many every interval is reached; more would overflow.
_LAST_DOUBLING: Final = 30


def sync_interval(text: str) -> timedelta:
    """Return how long `30s`, `5m` or `1h` is, from 1 s to ten years; 30 s if it is none."""
    found = _INTERVAL.fullmatch(text)
    if not found:
        return _DEFAULT
    given = timedelta(seconds=int(found[1]) * _SECONDS[found[2]])
    return min(max(given, _SHORTEST), LONGEST_TIMESTAMP)


def retry_delay(failures: int, interval: timedelta, *, jitter: float = 0.0) -> timedelta:
    """Return how long to wait after so many failures in a row, the interval at most.

    `jitter`, from 0 to 1, takes off up to half of it: hubs of one database do not all come back
    in the same moment.
    """
    doublings = min(max(failures - 1, 0), _LAST_DOUBLING)
    longest = min(_FIRST_RETRY * (1 << doublings), interval)
    return longest * (1 - jitter / 2)
