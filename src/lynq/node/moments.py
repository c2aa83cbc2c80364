"""Times as text, and back."""

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
