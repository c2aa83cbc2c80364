"""Shows text: whatever came from a row, an object or a server passes `shown` before it is read.

A terminal obeys control sequences, Markdown ends a line at each carriage return, and a bidi mark
reorders what stands beside it. `shown` leaves none of them, and escapes are text to all of them.
"""

from collections.abc import Iterable, Sequence
from typing import Final

SHOWN: Final = 3
"""How many items a list in a message names, unless the caller chooses another number."""
_FENCE: Final = 3
"""Backticks of a fence, at least."""
_MAX_VALUE: Final = 81
"""Characters of a value that `printable` shows, the ellipsis included."""


def shown(text: str, longest: int | None = None) -> str:
    r"""Return text of unknown origin as one printable line, cut to `longest` characters.

    Letters of any script and the space are kept. Every control, format, surrogate and unassigned
    character, every line break and every other blank becomes an escape. What has been shown is not
    changed again: `shown` is applied where a text ends, whether or not its parts have passed it.

    >>> print(shown("a\r\x1b[2J\u202eb"))
    a\r\x1b[2J\u202eb
    """
    if longest is None:
        return text if text.isprintable() else "".join(map(_escaped, text))
    if len(text) <= longest and text.isprintable():
        return text
    return _cut(map(_escaped, text[: longest + 1]), longest)


def shown_lines(text: str) -> str:
    """Return a text whose lines and tabs are its own, such as YAML, with the rest as `shown`."""
    if text.isprintable():
        return text
    return "\n".join("\t".join(map(shown, line.split("\t"))) for line in text.split("\n"))


def one_line(text: str, longest: int) -> str:
    """Return a message on one line, with single spaces for its blanks and line breaks.

    The input is cut first: an error can quote a template of a megabyte, and the condition of
    another controller can hold anything.
    """
    return shown(" ".join(text[: 4 * longest].split()), longest)


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
    """Return a value of unknown origin as `shown` does, cut, to be written in double quotes.

    Quotes and backslashes are escaped, too: the result cannot be mistaken for another value.
    """
    pieces = (f"\\{char}" if char in '"\\' else _escaped(char) for char in value[: _MAX_VALUE + 1])
    return _cut(pieces, _MAX_VALUE)


def fenced(lines: Iterable[str], language: str = "") -> list[str]:
    """Return lines as a code block of Markdown, which none of them can end.

    In a code block, GitHub makes no mention, link, image or HTML of a text.
    """
    content = [shown(line) for line in lines]
    run = longest = 0
    for char in "\n".join(content):
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(_FENCE, longest + 1)
    return [f"{fence}{language}", *content, fence]


def _escaped(char: str) -> str:
    return char if char.isprintable() else ascii(char)[1:-1]


def _cut(pieces: Iterable[str], longest: int) -> str:
    """Join pieces; more than `longest` characters end with an ellipsis after a whole piece."""
    result = ""
    kept = ""
    for piece in pieces:
        result += piece
        if len(result) > longest:
            return f"{kept}…"
        if len(result) < longest:
            kept = result
    return result
