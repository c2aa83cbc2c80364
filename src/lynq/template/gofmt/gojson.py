"""What sets the JSON of Go's encoding/json apart: its escapes and its numbers."""

import re
from typing import Final

from lynq.template.gofmt.floats import format_float

_LARGE, _SMALL = 1e21, 1e-6
_PADDED_EXPONENT: Final = re.compile(r"e-0([0-9])\Z")
_SURROGATES: Final = range(0xD800, 0xE000)
_ESCAPED: Final = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def go_escaped(text: str) -> str:
    """Return JSON with what Go escapes besides; these characters are never outside a string."""
    return _ESCAPED.sub(_escape, text)


def go_number(number: float) -> str:
    """Return a finite number in Go's shortest form; an exponent has no needless zero."""
    if number == 0 or _SMALL <= abs(number) < _LARGE:
        return format_float(number, "f")
    return _PADDED_EXPONENT.sub(r"e-\1", format_float(number, "e"))


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return "\\ufffd" if code in _SURROGATES else f"\\u{code:04x}"
