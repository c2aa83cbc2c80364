"""Percent escapes: which bytes each part of a URL may hold unescaped."""

import re
import string
from enum import Enum
from typing import Final

from lynq.template.byteview import from_view
from lynq.template.errors import FunctionError
from lynq.template.formatting.quoting import quote

_UNRESERVED: Final = string.ascii_letters + string.digits + "-_.~"
_HOST: Final = _UNRESERVED + "!$&'()*+,;=:[]<>\""
_ESCAPE: Final = re.compile(r"%([0-9a-fA-F]{2})")
_FIRST_NON_ASCII: Final = 0x80


class Part(Enum):
    """A part of a URL, with the characters that need no escape in it."""

    PATH = _UNRESERVED + "$&+,/:;=@"
    USER = _UNRESERVED + "$&+,;="
    FRAGMENT = _UNRESERVED + "$&+,/:;=?@!()*"
    HOST = _HOST
    # A zone is written with the host's characters, but read by rules of its own.
    ZONE = _HOST + "\0"


def escape(view: str, part: Part) -> str:
    """Escape the bytes that may not stand in a part."""
    return "".join(char if char in part.value else f"%{ord(char):02X}" for char in view)


def unescape(view: str, part: Part) -> str:
    """Resolve escapes, refusing those and the bytes that the part may not hold."""
    _check(view, part)
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), view)


def _check(view: str, part: Part) -> None:
    at = 0
    while at < len(view):
        if view[at] == "%":
            _check_escape(view[at : at + 3], part)
            at += 3
            continue
        if part in (Part.HOST, Part.ZONE) and view[at].isascii() and view[at] not in _HOST:
            raise FunctionError(f"invalid character {quote(view[at])} in host name")
        at += 1


def _check_escape(escaped: str, part: Part) -> None:
    found = _ESCAPE.fullmatch(escaped)
    value = int(found[1], 16) if found else -1
    wrong = (
        found is None
        # A host may escape only what is not ASCII, and the % that starts a zone.
        or (part is Part.HOST and value < _FIRST_NON_ASCII and escaped != "%25")
        or (part is Part.ZONE and chr(value) not in _HOST + " " and escaped != "%25")
    )
    if wrong:
        raise FunctionError(f"invalid URL escape {quote(from_view(escaped))}")


def is_valid_encoding(view: str, part: Part) -> bool:
    """Tell whether an escaped text can stand as it is; some reserved characters may."""
    return all(char in part.value or char in "!$&'()*+,;=:@[]%" for char in view)
