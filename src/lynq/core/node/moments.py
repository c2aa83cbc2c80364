"""The first of several moments, some of which are not known."""

from collections.abc import Iterable
from datetime import datetime


def earliest(moments: Iterable[datetime | None]) -> datetime | None:
    """Return the first of the moments that are known."""
    return min((moment for moment in moments if moment is not None), default=None)
