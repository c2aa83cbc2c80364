"""Abbreviations, initials and wrapped lines, after Go's package goutils."""

import re

from lynq.template.environment import Context
from lynq.template.functions.signature import Needs, function
from lynq.template.values import from_bytes, to_bytes

# White space among the 256 characters that represent a byte.
_SPACE = re.compile(r"[\t-\r \x85\xa0]+")
_INITIAL = re.compile(r"(?<![^\t-\r \x85\xa0])[^\t-\r \x85\xa0]")

_MARKER = b"..."
_LEAST_WIDTH = 4
_LEAST_WIDTH_BOTH = 7
_MARKER_PAYS = 4


@function("abbrev", "func(int, string) string")
def abbrev(width: int, text: str) -> str:
    """Cut a text to the width, with `...` at its end."""
    if width < _LEAST_WIDTH:
        return text
    return from_bytes(_abbreviate(to_bytes(text), 0, width))


@function("abbrevboth", "func(int, int, string) string")
def abbrevboth(left: int, width: int, text: str) -> str:
    """Cut a text to the width around the offset `left`, with `...` at each cut."""
    if width < _LEAST_WIDTH or (left > 0 and width < _LEAST_WIDTH_BOTH):
        return text
    return from_bytes(_abbreviate(to_bytes(text), left, width))


@function("initials", "func(string) string")
def initials(text: str) -> str:
    """Return the first byte of every word."""
    return "".join(_INITIAL.findall(_byte_runes(text)))


@function("nospace", "func(string) string")
def nospace(text: str) -> str:
    """Remove all white space."""
    kept, removed = _SPACE.subn("", _byte_runes(text))
    return kept if removed else text


@function("wrap", "func(int, string) string", needs=Needs.LIMITS)
def wrap(context: Context, width: int, text: str) -> str:
    """Break lines at spaces; a word longer than the width stays whole."""
    return _wrap(context, width, text, "", break_words=False)


@function("wrapWith", "func(int, string, string) string", needs=Needs.LIMITS)
def wrap_with(context: Context, width: int, newline: str, text: str) -> str:
    """Break lines, and words longer than the width, with a custom newline."""
    return _wrap(context, width, text, newline, break_words=True)


def _byte_runes(text: str) -> str:
    # goutils treats every byte as a rune, so é becomes Ã©. Existing output depends on it.
    return to_bytes(text).decode("latin-1")


def _abbreviate(text: bytes, offset: int, width: int) -> bytes:
    if len(text) <= width:
        return text
    room = width - len(_MARKER)
    offset = min(offset, len(text))
    if len(text) - offset < room:
        offset = len(text) - room
    if offset <= _MARKER_PAYS:
        return text[:room] + _MARKER
    if width < _LEAST_WIDTH_BOTH:
        return b""
    if offset + room < len(text):
        return _MARKER + _abbreviate(text[offset:], 0, room)
    return _MARKER + text[-room:]


def _wrap(context: Context, width: int, text: str, newline: str, *, break_words: bool) -> str:
    data, separator = to_bytes(text), to_bytes(newline or "\n")
    width = max(width, 1)
    lines: list[bytes] = []
    at, size = 0, len(data)
    while len(data) - at > width:
        if data[at] == ord(" "):
            at += 1
            continue
        end, after = _line_end(data, at, width, break_words=break_words)
        if after > len(data):
            break
        context.check_deadline()
        size += len(separator)
        context.limits.check_text(size)
        lines += (data[at:end], separator)
        at = after
    return from_bytes(b"".join((*lines, data[at:])))


def _line_end(data: bytes, at: int, width: int, *, break_words: bool) -> tuple[int, int]:
    """Return the end of a line and the start of the next, which is past the end after the last."""
    space = data.rfind(b" ", at, at + width + 1)
    if space >= 0:
        return space, space + 1
    if break_words:
        return at + width, at + width
    space = data.find(b" ", at + width)
    return (space, space + 1) if space >= 0 else (len(data), len(data) + 1)
