"""A JSONPath as plain data: segments, each with the selectors that it goes by.

Read a text piece by piece, and tell where it goes wrong.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias


class PathError(Exception):
    """A text is no JSONPath; says where and what to write instead."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        self.position = position
        """Counted from 0."""
        super().__init__(f'"{text}" is no JSONPath: {problem} at character {position + 1}')


@dataclass(frozen=True, slots=True)
class Name:
    """One key of an object."""

    key: str


@dataclass(frozen=True, slots=True)
class Index:
    """One item of a list; a negative number counts from the end."""

    number: int


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of a list, as in Python."""

    start: int | None
    stop: int | None
    step: int | None


@dataclass(frozen=True, slots=True)
class Wildcard:
    """All keys, or all items."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Those keys or items whose values pass a test."""

    source: str
    """What was written, by which two filters compare."""
    passes: Callable[[object], bool]

    def __eq__(self, other: object) -> bool:
        """Compare what was written."""
        return isinstance(other, Filter) and other.source == self.source

    def __hash__(self) -> int:
        """Go by what was written."""
        return hash(self.source)


Selector: TypeAlias = Name | Index | Slice | Wildcard | Filter


@dataclass(frozen=True, slots=True)
class Segment:
    """One step of a path."""

    selectors: tuple[Selector, ...]
    descends: bool = False
    """Whether the step is `..`: it starts at every depth."""


Path: TypeAlias = tuple[Segment, ...]
"""From the object's root. A path without segments names no field."""


_SPACE: Final = re.compile(r"\s*")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_QUOTED: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_NUMBER: Final = re.compile(r"-?\d{1,15}(\.\d{1,15})?([eE][-+]?\d{1,3})?")


class Scanner:
    """A text, and how far it has been read."""

    __slots__ = ("position", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.position == len(self.text)

    def take(self, *words: str) -> str:
        """Read the first of the words that comes next; "" if none does."""
        for word in words:
            if self.text.startswith(word, self.position):
                self.position += len(word)
                return word
        return ""

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read what the pattern matches here."""
        found = pattern.match(self.text, self.position)
        if found:
            self.position = found.end()
        return found

    def skip_space(self) -> None:
        """Read white space, where it may be."""
        self.match(_SPACE)

    def expect(self, word: str) -> None:
        """Read the word, after any white space, or refuse the text."""
        self.skip_space()
        if not self.take(word):
            self.refuse(f'"{word}" is missing')

    def quoted(self) -> str | None:
        """Read a text in either kind of quotes; a backslash takes the next character as it is."""
        found = self.match(_QUOTED)
        if found is None:
            return None
        return _ESCAPE.sub(r"\1", found[1] if found[1] is not None else found[2])

    def number(self) -> int | float | None:
        """Read a number."""
        found = self.match(_NUMBER)
        if found is None:
            return None
        return float(found[0]) if found[1] or found[2] else int(found[0])

    def integer(self) -> int | None:
        """Read a whole number, or refuse another."""
        number = self.number()
        if isinstance(number, float):
            self.refuse("a whole number is wanted")
        return number

    def refuse(self, problem: str) -> NoReturn:
        """Say what is wrong here."""
        raise PathError(self.text, self.position, problem)
