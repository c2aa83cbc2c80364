"""Rows, and the reading that they come from: complete, or failed."""

from collections.abc import AsyncIterator
from typing import Protocol


class Row(Protocol):
    """One active row."""


class Reading(Protocol):
    """The active rows at one moment, in pages."""

    def __aiter__(self) -> AsyncIterator[list[Row]]:
        """Yield pages."""
