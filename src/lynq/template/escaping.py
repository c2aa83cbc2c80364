"""Percent escapes: which bytes each part of a URL may hold unescaped."""

import re
import string
from enum import Enum
from typing import Final

from lynq.template.byteview import from_view
from lynq.template.errors import FunctionError
from lynq.template.gofmt.quoting import quote

_UNRESERVED: Final = string.ascii_letters + string.digits + "-_.~"
_HOST: Final = _UNRESERVED + "!$&'()*+,;=:[]<>\""
_ESCAPE: Final = re.compile(r"%([0-9a-fA-F]{2})")


class Part(Enum):
    """A part of a URL, with the characters that need no escape in it."""

    PATH = _UNRESERVED + "$&+,/:;=@"
    USER = _UNRESERVED + "$&+,;="
    FRAGMENT = _UNRESERVED + "$&+,/:;=?@!()*"
    HOST = _HOST
    # A zone is written with the host's characters, but read by rules of its own.
    ZONE = _HOST + "\0"


_TABLES: Final = {
    part: {code: f"%{code:02X}" for code in range(256) if chr(code) not in part.value}
    for part in Part
}
_WRONG_ESCAPE: Final = r"%(?![0-9a-fA-F]{2})"
# Host and zone also refuse ASCII beyond their characters. A host may escape only what is not ASCII
# and the % that starts a zone, a zone only what it may hold, %, and a space.
_WRONG: Final = {
    Part.PATH: re.compile(_WRONG_ESCAPE),
    Part.USER: re.compile(_WRONG_ESCAPE),
    Part.FRAGMENT: re.compile(_WRONG_ESCAPE),
    Part.HOST: re.compile(rf"{_WRONG_ESCAPE}|%(?!25)[0-7]|[^%{re.escape(_HOST)}\x80-\xff]"),
    Part.ZONE: re.compile(
        rf"{_WRONG_ESCAPE}|%(?!(?:25|20|{'|'.join(f'{ord(char):02x}' for char in _HOST)}))"
        rf"|[^%{re.escape(_HOST)}\x80-\xff]",
        re.IGNORECASE,
    ),
}


def escape(view: str, part: Part) -> str:
    """Escape the bytes that may not stand in a part."""
    return view.translate(_TABLES[part])


def unescape(view: str, part: Part) -> str:
    """Resolve escapes, refusing those and the bytes that the part may not hold."""
    wrong = _WRONG[part].search(view)
    if wrong is None:
        return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), view)
    if wrong[0][0] == "%":
        escaped = view[wrong.start() : wrong.start() + 3]
        raise FunctionError(f"invalid URL escape {quote(from_view(escaped))}")
    raise FunctionError(f"invalid character {quote(wrong[0])} in host name")


def is_valid_encoding(view: str, part: Part) -> bool:
    """Tell whether an escaped text can stand as it is; some reserved characters may."""
    return not view.strip(part.value + "!$&'()*+,;=:@[]%")
