"""A JSONPath as plain data: segments, each with the selectors that it goes by."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


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
