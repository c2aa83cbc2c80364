"""Read fields of an object of any JSON shape, and remember which.

What the API server sends for a kind is well-formed, but an object may be half written, of a version
with other fields, or custom and stranger still. A field that is absent, null or of another type
reads as its default; nothing here raises.

A judge sees an object only through these reads and has no other input. So the fields that were read
are all that a cache has to hold: judged again, they give the same answers in the same order. That
makes a projection that cannot fall behind the rules.

Make what other controllers wrote fit for our status: one line, one word, of bounded length.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lynq.api.text import one_line

MAX_CHARACTERS = 300
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")


def bounded_line(text: str) -> str:
    """Return the text on one line, without control characters, cut at 300 characters."""
    return one_line(text, MAX_CHARACTERS)


def word(text: str, otherwise: str) -> str:
    """Return a reason as it is if it is one word; what is no word is not passed on."""
    return text if _WORD.fullmatch(text) else otherwise


def with_detail(sentence: str, detail: str) -> str:
    """Return the sentence, with the detail if there is any."""
    return f"{sentence}: {detail}" if detail else sentence


T = TypeVar("T")

_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """One object, or a part of it, as a judge sees it."""

    obj: object
    _read: dict[tuple[str, ...], Any] = field(default_factory=dict)

    def text(self, *path: str) -> str:
        """Return a string; "" is none."""
        value = self._at(path)
        return self._note(path, value) if isinstance(value, str) else ""

    def line(self, *path: str) -> str:
        """Return a string for people, on one line and cut; "" is none."""
        value = self._at(path)
        return self._note(path, bounded_line(value)) if isinstance(value, str) else ""

    def number(self, *path: str, default: int = 0) -> int:
        """Return an integer of Kubernetes' size."""
        value = self._at(path)
        # JSON's true is an int to Python, and a number of 5,000 digits cannot even be printed.
        if type(value) is int and value in _INT64:
            return self._note(path, value)
        return default

    def flag(self, *path: str) -> bool:
        """Return whether a switch is on."""
        on = self._at(path) is True
        return self._note(path, on) if on else False

    def items(self, *path: str) -> "list[Fields]":
        """Return the objects in a list."""
        if path not in self._read:
            value = self._at(path)
            listed = value if isinstance(value, list | tuple) else ()
            self._read[path] = [Fields(item) for item in listed if isinstance(item, Mapping)]
        found: list[Fields] = self._read[path]
        return found

    def kept(self) -> dict[str, Any]:
        """Return an object that holds what was read so far and nothing else."""
        slim: dict[str, Any] = {}
        for path, value in self._read.items():
            place = slim
            for key in path[:-1]:
                place = place.setdefault(key, {})
            place[path[-1]] = [item.kept() for item in value] if isinstance(value, list) else value
        return slim

    def _at(self, path: tuple[str, ...]) -> object:
        value = self.obj
        for key in path:
            if not isinstance(value, Mapping):
                return None
            value = value.get(key)
        return value

    def _note(self, path: tuple[str, ...], value: T) -> T:
        self._read[path] = value
        return value
