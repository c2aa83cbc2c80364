"""strconv's quoting: Go string and character literals from text."""

from bisect import bisect_right
from typing import Final
from unicodedata import category

from lynq.template.values import from_bytes, to_bytes

_ESCAPES: Final = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
}
_DEL: Final = 0x7F
_MAX_BMP: Final = 0xFFFF
# Printable since Unicode 15.0, which Go 1.26 has and Python 3.11 lacks: first, last, ...
_NEWER: Final = (
    *(0xCF3, 0xCF3, 0xECE, 0xECE, 0x10EFD, 0x10EFF, 0x1123F, 0x11241, 0x11B00, 0x11B09),
    *(0x11F00, 0x11F10, 0x11F12, 0x11F3A, 0x11F3E, 0x11F59, 0x1342F, 0x1342F, 0x13440, 0x13455),
    *(0x1B132, 0x1B132, 0x1B155, 0x1B155, 0x1D2C0, 0x1D2D3, 0x1DF25, 0x1DF2A, 0x1E030, 0x1E06D),
    *(0x1E08F, 0x1E08F, 0x1E4D0, 0x1E4F9, 0x1F6DC, 0x1F6DC, 0x1F774, 0x1F776, 0x1F77B, 0x1F77F),
    *(0x1F7D9, 0x1F7D9, 0x1FA75, 0x1FA77, 0x1FA87, 0x1FA88, 0x1FAAD, 0x1FAAF, 0x1FABB, 0x1FABD),
    *(0x1FABF, 0x1FABF, 0x1FACE, 0x1FACF, 0x1FADA, 0x1FADB, 0x1FAE8, 0x1FAE8, 0x1FAF7, 0x1FAF8),
    *(0x2B739, 0x2B739, 0x31350, 0x323AF),
)


def is_print(char: str) -> bool:
    """Report what strconv.IsPrint does: letters, marks, numbers, punctuation, symbols, space."""
    if char.isascii():
        return " " <= char < chr(_DEL)
    if category(char)[0] in "LMNPS":
        return True
    index = bisect_right(_NEWER, ord(char))
    return index % 2 == 1 or (index > 0 and _NEWER[index - 1] == ord(char))


def quote(text: str, *, mark: str = '"', ascii_only: bool = False) -> str:
    """Return the text as a Go string literal, as `strconv.Quote` does."""
    if text.isascii():
        if text.isprintable() and mark not in text and "\\" not in text:
            return mark + text + mark
    else:
        text = from_bytes(to_bytes(text))
    # Each distinct character is escaped once, however long the text.
    table = {ord(char): _escape(char, mark, ascii_only=ascii_only) for char in set(text)}
    return mark + text.translate(table) + mark


def quote_rune(code: int, *, ascii_only: bool = False) -> str:
    """Return a code point as a Go character literal; an invalid one becomes U+FFFD."""
    return quote(rune_text(code), mark="'", ascii_only=ascii_only)


def rune_text(code: int) -> str:
    """Return the text of a code point; an invalid one becomes U+FFFD."""
    valid = 0 <= code < 0xD800 or 0xDFFF < code <= 0x10FFFF  # noqa: PLR2004 - Unicode's own bounds
    return chr(code) if valid else "\ufffd"


def can_backquote(text: str) -> bool:
    """Report whether the text can be a raw string literal, as strconv.CanBackquote does."""
    return not any(
        (char < " " and char != "\t") or char in "`\x7f\ufeff" or "\udc80" <= char <= "\udcff"
        for char in set(text)
    )


def _escape(char: str, mark: str, *, ascii_only: bool) -> str:
    if char == mark:
        return "\\" + char
    if char in _ESCAPES:
        return _ESCAPES[char]
    if is_print(char) and (char.isascii() or not ascii_only):
        return char
    code = ord(char)
    if "\udc80" <= char <= "\udcff":
        return f"\\x{code - 0xDC00:02x}"
    if code < ord(" ") or code == _DEL:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _MAX_BMP else f"\\U{code:08x}"
