"""What the name of a column, table or schema may be: one rule for admission and for who reads.

Names come from whoever may write a hub and end up in a statement, so characters that end a name or
begin a comment are refused outright, although every dialect quotes what is left.
"""

import unicodedata
from typing import Final

from lynq.api.source import SourceType

LONGEST_NAME: Final = {
    SourceType.MYSQL: 64 * 4,
    SourceType.POSTGRESQL: 63,
    SourceType.SQLITE: 1024,
}
"""Bytes of the longest name. PostgreSQL would cut a longer one, and so read another column."""

_QUOTES: Final = frozenset("'\"`[]\\")
_COMMENTS: Final = ("--", "/*", "*/", "#")
_CONTROLS: Final = frozenset(("Cc", "Cs", "Zl", "Zp"))
_PARTS_OF_A_TABLE: Final = 2


def name_problem(text: str) -> str | None:
    """Return why this can be no name of a column; None if it can."""
    if not text or text != text.strip():
        return "a name is empty, or begins or ends with a space"
    if any(unicodedata.category(char) in _CONTROLS for char in text):
        return "a name has a control character in it"
    if not _QUOTES.isdisjoint(text):
        return f"{text!r} has a quote, bracket or backslash in it"
    if ";" in text or any(comment in text for comment in _COMMENTS):
        return f"{text!r} has a semicolon or a comment in it"
    return None


def table_problem(text: str) -> str | None:
    """Return why this is no table or view, with or without its schema; None if it can be."""
    parts = text.split(".")
    if len(parts) > _PARTS_OF_A_TABLE:
        return f"{text!r} has more than one dot: write table or schema.table"
    return next((wrong for part in parts if (wrong := name_problem(part))), None)


def length_problem(text: str, longest: int) -> str | None:
    """Return why the name is too long for an engine; None if it is not."""
    if len(text.encode(errors="surrogatepass")) <= longest:
        return None
    return f"a name may have {longest} bytes at most"
