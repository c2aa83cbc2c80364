"""Make sentences fit for a status: one line, printable, of bounded length.

An error can quote a template of a megabyte, and a status is an object of at most 1.5.
"""

from typing import Final

_LONGEST: Final = 1000
_CONDITION: Final = 8000


def fit(text: str, longest: int = _LONGEST) -> str:
    """Return the text on one line, cut where it is too long."""
    shown = "".join(char if char.isprintable() else " " for char in text[: 4 * longest])
    line = " ".join(shown.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def fit_condition(text: str) -> str:
    """Return the text for a condition, which the API server takes up to 32,768 characters."""
    return fit(text, _CONDITION)
