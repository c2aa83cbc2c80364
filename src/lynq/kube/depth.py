"""Cuts off what is nested too deep to be decoded.

The API server takes objects of 10,000 levels; msgspec goes down one call per level, and Python
allows a thousand of them. A higher limit would be paid with the stack: 10,000 levels overflow that
of a small thread, which ends the process. So the bytes are read once without going down, and the
field of an object that is too deep gives way to a text. No struct takes a text where it wants an
object, so a spec that has been cut cannot be taken for another one.
"""

import re
from collections.abc import Iterator
from typing import Final

TOO_DEEP: Final = b'"nested too deep to be read"'
"""What stands in place of a field that is too deep."""

_DEEPEST: Final = 500
"""Half of what Python allows: the rest is for whoever asks."""
_WITHIN_METADATA: Final = 3
"""How far below `metadata` the fields of a manager are, which are as deep as the object's own."""

# Up to the next bracket that is not in a string, or to where this is no JSON any more. Possessive:
# nothing is ever tried a second time.
_NEXT_BRACKET: Final = re.compile(
    rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+(?:([\[{])|([\]}])|"|\Z)', flags=re.DOTALL
)
_OPENING: Final = 1
_CLOSING: Final = 2
_METADATA: Final = re.compile(rb'(?<!\\)"metadata"\s*:\s*\Z')
_KEY: Final = 64
"""As much as a key and the white space around it take."""


def cut_depth(body: bytes, *, level: int) -> bytes:
    """Return a body with what is too deep in its objects cut off.

    `level` says how deep in the body the objects are themselves: 0 if it is one. All of a field of
    an object goes; of the metadata only what a manager's fields are, or the object had no name.
    """
    parts, end = [], 0
    for start, stop in _too_deep(body, level + 2):
        parts += [body[end:start], TOO_DEEP]
        end = stop
    return b"".join([*parts, body[end:]])


def _too_deep(body: bytes, field: int) -> Iterator[tuple[int, int]]:
    """Yield where the values are that are to go; `field` is the depth of an object's fields."""
    depth = start = 0
    place = field
    is_deep = False
    for found in _NEXT_BRACKET.finditer(body):
        if found.lastindex == _OPENING:
            depth += 1
            if depth == field:
                place = field + (_WITHIN_METADATA if _is_metadata(body, found.start(1)) else 0)
            if depth == place:
                start = found.start(1)
            is_deep = is_deep or depth > _DEEPEST
        elif found.lastindex == _CLOSING:
            if depth == place and is_deep:
                yield start, found.end()
                is_deep = False
            depth -= 1
        else:
            return


def _is_metadata(body: bytes, start: int) -> bool:
    """Return whether the value that begins here is that of a key `metadata`."""
    return _METADATA.search(body, max(0, start - _KEY), start) is not None
