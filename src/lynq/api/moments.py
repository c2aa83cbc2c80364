"""Times as annotations hold them: RFC 3339."""

from datetime import UTC, datetime, timedelta
from typing import Final, Literal

LONGEST_TIMESTAMP: Final = timedelta(days=3650)
"""Longer than anybody waits, and a moment that far ahead can still be told."""


def rfc3339(moment: datetime, *, digits: Literal["auto", "microseconds"] = "auto") -> str:
    """Return the moment in UTC, with as many digits as it has, or always to the microsecond."""
    return moment.astimezone(UTC).isoformat(timespec=digits).replace("+00:00", "Z")


def parse_rfc3339(text: str) -> datetime | None:
    """Return the moment; one without a zone could be off by hours, and is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
