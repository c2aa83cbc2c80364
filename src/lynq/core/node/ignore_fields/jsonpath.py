"""The data model of a JSONPath: segments with selectors; and the scanner of its text."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias


class PathError(Exception):
    """A text is not a valid JSONPath; the message has the position and the fix."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        self.position = position
        """Counted from 0."""
        super().__init__(f'"{text}" is not a valid JSONPath: {problem} at character {position + 1}')


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
    """A range of a list, as in Python."""

    start: int | None
    stop: int | None
    step: int | None


@dataclass(frozen=True, slots=True)
class Wildcard:
    """All keys, or all items."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The keys or items whose values pass a test."""

    source: str
    """The text of the filter; two filters are equal if their texts are."""
    passes: Callable[[object], bool]

    def __eq__(self, other: object) -> bool:
        """Compare the texts."""
        return isinstance(other, Filter) and other.source == self.source

    def __hash__(self) -> int:
        """Hash the text."""
        return hash(self.source)


Selector: TypeAlias = Name | Index | Slice | Wildcard | Filter


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment of a path."""

    selectors: tuple[Selector, ...]
    descends: bool = False
    """Whether the segment is `..`: it applies at every depth."""


Path: TypeAlias = tuple[Segment, ...]
"""Segments from the root of the object. A path without segments selects no field."""


_SPACE: Final = re.compile(r"\s*")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_QUOTED: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_NUMBER: Final = re.compile(r"-?\d{1,15}(\.\d{1,15})?([eE][-+]?\d{1,3})?")


class Scanner:
    """A text and the position of the next character."""

    __slots__ = ("position", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    @property
    def at_end(self) -> bool:
        """Whether the text is consumed."""
        return self.position == len(self.text)

    def take(self, *words: str) -> str:
        """Consume the first of these words that is next; "" if none is."""
        for word in words:
            if self.text.startswith(word, self.position):
                self.position += len(word)
                return word
        return ""

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Consume what the pattern matches at the position."""
        match = pattern.match(self.text, self.position)
        if match:
            self.position = match.end()
        return match

    def skip_space(self) -> None:
        """Consume white space, if there is any."""
        self.match(_SPACE)

    def expect(self, word: str) -> None:
        """Consume the word, after any white space; raises PathError."""
        self.skip_space()
        if not self.take(word):
            self.reject(f'"{word}" is missing')

    def quoted(self) -> str | None:
        """Consume a string in single or double quotes; a backslash escapes the next character."""
        match = self.match(_QUOTED)
        if match is None:
            return None
        return _ESCAPE.sub(r"\1", match[1] if match[1] is not None else match[2])

    def number(self) -> int | float | None:
        """Consume a number."""
        match = self.match(_NUMBER)
        if match is None:
            return None
        return float(match[0]) if match[1] or match[2] else int(match[0])

    def integer(self) -> int | None:
        """Consume an integer; raises PathError for another number."""
        number = self.number()
        if isinstance(number, float):
            self.reject("an integer is expected")
        return number

    def reject(self, problem: str) -> NoReturn:
        """Raise PathError at the position."""
        raise PathError(self.text, self.position, problem)
