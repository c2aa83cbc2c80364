"""Format text for conditions, events and logs: one line, printable, of bounded length."""

from collections.abc import Sequence
from typing import Final

SHOWN: Final = 3
"""How many items a list in a message names, unless the caller chooses another number."""
_MAX_VALUE: Final = 80
"""Characters of a value that `printable` shows."""


def one_line(text: str, longest: int) -> str:
    """Return the text on one line, without control characters, cut to `longest` characters.

    The input is cut first: an error can quote a template of a megabyte, and the condition of
    another controller can hold anything.
    """
    visible = text[: 4 * longest]
    if not visible.isprintable():
        visible = "".join(char if char.isprintable() else " " for char in visible)
    line = " ".join(visible.split())
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


def plural(noun: str, count: int) -> str:
    """Return the noun in the number of `count`.

    >>> plural("NetworkPolicy", 2), plural("Ingress", 2), plural("node", 1)
    ('NetworkPolicies', 'Ingresses', 'node')
    """
    if count == 1:
        return noun
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def printable(value: str) -> str:
    """Return a value of unknown origin escaped and cut, to be shown in double quotes.

    Letters of any script are kept. Control, format and surrogate characters, quotes and backslashes
    are escaped, so that the result is one line and cannot be mistaken for another value.
    """
    result = ""
    for char in value[: _MAX_VALUE + 1]:
        piece = char if char.isprintable() and char not in '"\\' else _escaped(char)
        if len(result) + len(piece) > _MAX_VALUE:
            return result + "…"
        result += piece
    return result


def _escaped(char: str) -> str:
    return f"\\{char}" if char in '"\\' else ascii(char)[1:-1]
