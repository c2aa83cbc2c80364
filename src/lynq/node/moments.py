"""Times as text and back, and the first of them."""

from collections.abc import Iterable
from datetime import UTC, datetime


def rfc3339(moment: datetime) -> str:
    """Return the moment in UTC as RFC 3339, with as many digits as it has."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_rfc3339(text: str) -> datetime | None:
    """Return the moment; none for what is no RFC 3339 or says no zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def earliest(moments: Iterable[datetime | None]) -> datetime | None:
    """Return the first of the moments that are known."""
    return min((moment for moment in moments if moment is not None), default=None)
