"""Go's literals: quoted strings, characters and numbers, as strconv reads them."""

import re
from dataclasses import dataclass
from typing import Final

from lynq.template.gofmt.quoting import quote
from lynq.template.values import from_bytes

_SIMPLE: Final = {
    "a": 7,
    "b": 8,
    "f": 12,
    "n": 10,
    "r": 13,
    "t": 9,
    "v": 11,
    "\\": 92,
    "'": 39,
    '"': 34,
}
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|([abfnrtv\\'\"]))"
)
_INTEGER: Final = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|0[0-7_]*|[1-9][0-9_]*)"
)
_FLOAT: Final = re.compile(
    r"[+-]?(?:0[xX](?=[0-9a-fA-F_.]*[0-9a-fA-F])[0-9a-fA-F_]*+(?:\.[0-9a-fA-F_]*+)?[pP][+-]?[0-9_]+"
    r"|(?=[0-9_.]*[0-9])[0-9_]*+(?:\.[0-9_]*+)?(?:[eE][+-]?[0-9_]+)?)"
)
_PREFIX: Final = re.compile(r"[+-]?(0[xXoObB])?")
_MOST_DIGITS: Final = 4_000
_MAX_BYTE: Final = 0xFF
_INT64: Final = range(-(1 << 63), 1 << 63)
_UINT64: Final = range(1 << 64)


class LiteralError(ValueError):
    """A literal is invalid in Go."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number in each type that can represent it, like Go's untyped constants."""

    integer: int | None
    unsigned: int | None
    floating: float


def unquote(literal: str) -> str:
    """Unquote a Go string literal."""
    inside = literal[1:-1]
    if literal[0] == "`":
        return inside.replace("\r", "")
    if "\\" not in inside:
        return inside
    data = bytearray()
    at = 0
    while at < len(inside):
        code, is_byte, at = _unquote_char(inside, at, '"')
        data += bytes([code]) if is_byte else chr(code).encode("utf-8", "surrogateescape")
    return from_bytes(bytes(data))


def read_character(literal: str) -> Number:
    """Parse a character constant, quotes included."""
    if literal == "''":
        raise LiteralError("invalid syntax")
    code, _, end = _unquote_char(literal, 1, "'")
    if literal[end:] != "'":
        raise LiteralError(f"malformed character constant: {literal}")
    return Number(code, code, float(code))


def _unquote_char(text: str, at: int, mark: str) -> tuple[int, bool, int]:
    """Parse a character or an escape: its code, whether it is a single byte, and its end."""
    char = text[at]
    if char != "\\":
        return ord(char), False, at + 1
    match = _ESCAPE.match(text, at)
    if match is None:
        raise LiteralError("invalid syntax")
    byte, short, long, octal, simple = match.groups()
    if simple:
        if simple in "'\"" and simple != mark:
            raise LiteralError("invalid syntax")
        return _SIMPLE[simple], False, match.end()
    if byte or octal:
        code = int(byte, 16) if byte else int(octal, 8)
        if code > _MAX_BYTE:
            raise LiteralError("invalid syntax")
        return code, True, match.end()
    code = int(short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:  # noqa: PLR2004 - Unicode's own bounds
        raise LiteralError("invalid syntax")
    return code, False, match.end()


def read_number(literal: str) -> Number:
    """Parse an integer or a float."""
    if literal.endswith("i"):
        raise LiteralError(f"imaginary numbers are not supported: {quote(literal)}")
    value = _integer(literal)
    if value is not None and (value in _INT64 or value in _UINT64):
        # Go parses an unsigned integer separately, without a sign; -0 is both.
        unsigned = value if value == 0 or (value in _UINT64 and literal[0] not in "+-") else None
        integer = value if value in _INT64 else None
        if integer is not None or unsigned is not None:
            return Number(integer, unsigned, float(value))
    floating = _float(literal)
    if floating is None:
        raise LiteralError(f"illegal number syntax: {quote(literal)}")
    if not any(char in literal for char in ".eEpP"):
        raise LiteralError(f"integer overflow: {quote(literal)}")
    whole = int(floating) if floating.is_integer() else None
    return Number(
        whole if whole is not None and whole in _INT64 else None,
        whole if whole is not None and whole in _UINT64 else None,
        floating,
    )


def _integer(literal: str) -> int | None:
    if not _INTEGER.fullmatch(literal) or not _underscores_separate(literal):
        return None
    digits = literal.replace("_", "").lstrip("+-")
    old_octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    if digits.isdigit() and not old_octal and len(digits) > _MOST_DIGITS:
        return None  # out of range; int() would fail
    value = int(digits, 8 if old_octal else 0)
    return -value if literal[0] == "-" else value


def _float(literal: str) -> float | None:
    if not _FLOAT.fullmatch(literal) or not _underscores_separate(literal):
        return None
    text = literal.replace("_", "")
    try:
        value = float.fromhex(text) if "x" in text.lower() else float(text)
    except (ValueError, OverflowError):
        return None
    return None if value in (float("inf"), float("-inf")) else value


def _underscores_separate(literal: str) -> bool:
    """Report whether each underscore is between digits, or after a prefix such as `0x`."""
    prefix = _PREFIX.match(literal)
    at = prefix.end() if prefix else 0
    digits = "0123456789abcdefABCDEF" if "x" in literal[:at].lower() else "0123456789"
    after_digit = at > 0 and literal[at - 1] not in "+-"
    after_underscore = False
    for char in literal[at:]:
        if char == "_" and not after_digit:
            return False
        if after_underscore and char not in digits:
            return False
        after_digit, after_underscore = char in digits, char == "_"
    return not after_underscore
