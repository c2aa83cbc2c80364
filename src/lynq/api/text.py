"""Format sentences for conditions, events and logs: one line, printable, of bounded length."""

from collections.abc import Sequence
from typing import Final

SHOWN: Final = 3
"""How many items a list in a message names, unless the caller chooses another number."""


def one_line(text: str, longest: int) -> str:
    """Return the text on one line, without control characters, cut to `longest` characters.

    The input is cut first: an error can quote a template of a megabyte, and the condition of
    another controller can hold anything.
    """
    shown = "".join(char if char.isprintable() else " " for char in text[: 4 * longest])
    line = " ".join(shown.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def and_more(items: Sequence[str], *, shown: int = SHOWN, separator: str = ", ") -> str:
    """Join the first items and count the rest.

    >>> and_more(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    >>> and_more(["a failed", "b failed"], shown=1, separator="; ")
    'a failed; and 1 more'
    """
    listed = separator.join(items[:shown])
    hidden = len(items) - shown
    if hidden <= 0:
        return listed
    return f"{listed}{' ' if separator == ', ' else separator}and {hidden} more"
