"""Access to the fields of an object of any JSON shape, and formatting of foreign text.

The API server sends well-formed objects of its own kinds, but a status may be incomplete, of
another version, or custom. A field that is absent, null or of another type reads as its default.
Nothing here raises.

Reasons and messages of other controllers become part of the node status, so they are reduced to one
word, and to one line of bounded length.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lynq.api.text import one_line

MAX_CHARACTERS: Final = 300
_REASON: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
_INT64: Final = range(-(2**63), 2**63)


def bounded_line(text: str) -> str:
    """Return the text on one line, without control characters, cut to 300 characters."""
    return one_line(text, MAX_CHARACTERS)


def reason_or(text: str, default: str) -> str:
    """Return the reason if it is one CamelCase word, else `default`."""
    return text if _REASON.fullmatch(text) else default


def with_detail(sentence: str, detail: str) -> str:
    """Return the sentence, followed by the detail if there is one."""
    return f"{sentence}: {detail}" if detail else sentence


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """An object, or a part of it."""

    obj: object

    def text(self, *path: str) -> str:
        """Return a string; "" if there is none."""
        value = self._at(path)
        return value if isinstance(value, str) else ""

    def line(self, *path: str) -> str:
        """Return a string on one line, cut to 300 characters; "" if there is none."""
        return bounded_line(self.text(*path))

    def number(self, *path: str, default: int = 0) -> int:
        """Return an integer of 64 bits."""
        value = self._at(path)
        # bool is a subclass of int, and Python refuses to print an integer of 5,000 digits.
        return value if type(value) is int and value in _INT64 else default

    def flag(self, *path: str) -> bool:
        """Return whether a boolean is true."""
        return self._at(path) is True

    def items(self, *path: str) -> "list[Fields]":
        """Return the objects of a list."""
        value = self._at(path)
        items = value if isinstance(value, list | tuple) else ()
        return [Fields(item) for item in items if isinstance(item, Mapping)]

    def _at(self, path: tuple[str, ...]) -> object:
        value = self.obj
        for key in path:
            if not isinstance(value, Mapping):
                return None
            value = value.get(key)
        return value
