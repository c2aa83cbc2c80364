"""Bounds the depth of JSON from outside before a decoder reads it.

The decoders recurse once per level. Where the interpreter bounds that recursion at all, it does so
for a stack of 8 MiB: in a thread with a smaller one, 1,500 levels end the process on Python 3.12
and 3.13. So each text that this process has not encoded itself passes `depth_checked`, which does
not recurse and takes linear time. A test finds every decoder that reads a text without it.
"""

from itertools import accumulate
from typing import Final, TypeVar

from msgspec import DecodeError, Raw

MAX_DEPTH: Final = 500
"""Half of Python's recursion limit; the other half is for the callers."""

_AS_BRACES: Final = bytes.maketrans(b"[]", b"{}")
_IRRELEVANT: Final = bytes(set(range(256)) - set(b'{}[]"'))
_STEPS: Final = [{ord("{"): 1, ord("}"): -1}.get(byte, 0) for byte in range(256)]
_ROUNDS: Final = 8
"""The levels that are removed at the speed of C; few objects have more."""

Text = TypeVar("Text", bound=str | bytes | Raw)


class NestedTooDeep(DecodeError):  # noqa: N818 - named like the condition that it reports
    """A text has more levels than a decoder may read."""


def depth_checked(text: Text) -> Text:
    """Return the text; raises NestedTooDeep, which is a DecodeError and a ValueError."""
    if exceeds_depth(text):
        raise NestedTooDeep(f"nested deeper than {MAX_DEPTH} levels")
    return text


def exceeds_depth(text: str | bytes | Raw, limit: int = MAX_DEPTH) -> bool:
    """Return whether objects and lists are nested deeper than the limit.

    Of a text that is not JSON, the depth is that of its longest valid beginning or more.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
    if data.count(b"[") + data.count(b"{") <= limit:
        return False
    braces = rest = _braces(data)
    for _ in range(_ROUNDS):
        # Removes the innermost level of each place.
        rest = rest.replace(b"{}", b"")
    return len(rest) + _ROUNDS > limit and _depth(braces) > limit


def _braces(data: bytes) -> bytes:
    """Return the brackets outside of strings, all as braces."""
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Two adjacent quotes are an empty string, or the border of two strings, which become one.
    data = data.translate(_AS_BRACES, _IRRELEVANT).replace(b'""', b"")
    return b"".join(data.split(b'"')[::2])


def _depth(braces: bytes) -> int:
    return max(accumulate(map(_STEPS.__getitem__, braces)), default=0)
