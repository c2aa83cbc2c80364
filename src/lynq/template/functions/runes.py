"""Go's package unicode on single characters: classes, and case mappings of one rune to one rune.

Python's `str.upper` and its like map one letter to several (ß to SS) and know a final sigma; Go's
do neither. A byte that is no UTF-8 is the rune U+FFFD, as in Go.
"""

import re
from collections.abc import Iterator
from unicodedata import category

from lynq.template.environment import Context
from lynq.template.values import from_bytes, to_bytes

REPLACEMENT = "\ufffd"
_STRETCH = 4_096

# Letters that Python maps to several letters, and Unicode's simple mapping to one.
_GREEK_IOTA = (0x1F80, 0x1F90, 0x1FA0)
_SIMPLE_UPPER = {
    **{chr(first + i): chr(first + i + 8) for first in _GREEK_IOTA for i in range(8)},
    "\u1fb3": "\u1fbc",
    "\u1fc3": "\u1fcc",
    "\u1ff3": "\u1ffc",
}
# To Python the four separators U+001C to U+001F are white space, to Go they are not.
_SEPARATORS = frozenset("\x1c\x1d\x1e\x1f")
SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_STRAY = re.compile("[\ud800-\udfff]")
_STRAY_PAIR = re.compile("[\udc80-\udcff]{2}")


def whole(text: str) -> str:
    """Combine adjacent bytes that were invalid UTF-8 apart, if together they encode a rune.

    Every concatenation calls it, so that one Go string is always one Python string.
    """
    if text.isascii() or not _STRAY_PAIR.search(text):
        return text
    return from_bytes(to_bytes(text))


def valid(text: str) -> str:
    """Return the runes of a text, with U+FFFD for each invalid byte."""
    return text if text.isascii() else _STRAY.sub(REPLACEMENT, text)


def paced(context: Context, runes: str) -> Iterator[str]:
    """Yield the runes, and check the deadline regularly: a text may be long."""
    for start in range(0, len(runes), _STRETCH):
        context.check_deadline()
        yield from runes[start : start + _STRETCH]


def is_space(char: str) -> bool:
    """Return what unicode.IsSpace returns."""
    return char.isspace() and char not in _SEPARATORS


def is_upper(char: str) -> bool:
    """Return what unicode.IsUpper returns."""
    return category(char) == "Lu"


def is_lower(char: str) -> bool:
    """Return what unicode.IsLower returns."""
    return category(char) == "Ll"


def is_title(char: str) -> bool:
    """Return what unicode.IsTitle returns."""
    return category(char) == "Lt"


def is_letter(char: str) -> bool:
    """Return what unicode.IsLetter returns."""
    return category(char).startswith("L")


def is_punct(char: str) -> bool:
    """Return what unicode.IsPunct returns."""
    return category(char).startswith("P")


def is_number(char: str) -> bool:
    """Return what unicode.IsNumber returns."""
    return category(char).startswith("N")


def to_upper(char: str) -> str:
    """Return what unicode.ToUpper returns."""
    mapped = char.upper()
    return mapped if len(mapped) == 1 else _SIMPLE_UPPER.get(char, char)


def to_lower(char: str) -> str:
    """Return what unicode.ToLower returns."""
    # Of all letters only İ becomes longer: an i and a dot above.
    return char.lower()[0]


def to_title(char: str) -> str:
    """Return what unicode.ToTitle returns."""
    mapped = char.title()
    return mapped if len(mapped) == 1 else char
