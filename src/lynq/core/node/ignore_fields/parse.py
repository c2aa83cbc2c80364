"""Parse a JSONPath: `$.a.b`, `a.b`, `$..x`, `['a']`, `[0]`, `[-1]`, `[1:3]`, `[*]`, `[?(…)]`."""

import re
from functools import lru_cache
from typing import Final

from lynq.core.node.ignore_fields.filters import parse_filter
from lynq.core.node.ignore_fields.jsonpath import (
    Index,
    Name,
    Path,
    PathError,
    Segment,
    Selector,
    Slice,
    Wildcard,
)
from lynq.core.node.ignore_fields.scanning import Scanner

_LONGEST: Final = 1000
_KEY: Final = re.compile(r"[\w-]+")


@lru_cache(maxsize=1024)
def parse_path(text: str) -> Path:
    """Return the path; raises PathError. The empty text and a bare `$` name no field."""
    scanner = Scanner(text)
    if len(text) > _LONGEST:
        scanner.refuse(f"it has more than {_LONGEST} characters")
    segments: list[Segment] = []
    if not scanner.take("$") and (first := scanner.match(_KEY)):
        segments.append(Segment((Name(first[0]),)))
    while not scanner.at_end:
        segments.append(_segment(scanner))
    return tuple(segments)


def path_problem(text: str) -> str | None:
    """Return what is wrong with a path; None if nothing is."""
    try:
        parse_path(text)
    except PathError as error:
        return str(error)
    return None


def _segment(scanner: Scanner) -> Segment:
    dots = scanner.take("..", ".")
    descends = dots == ".."
    # After one dot a bracket would be `$.['a']`, which many write and all parsers forgive.
    if scanner.take("["):
        return Segment(_bracket(scanner), descends)
    if dots and scanner.take("*"):
        return Segment((Wildcard(),), descends)
    if dots and (key := scanner.match(_KEY)):
        return Segment((Name(key[0]),), descends)
    if dots:
        scanner.refuse('a key is missing; keys with other characters go into brackets: ["a/b"]')
    return scanner.refuse("unexpected character; a path is written like $.spec.replicas")


def _bracket(scanner: Scanner) -> tuple[Selector, ...]:
    selectors = [_selector(scanner)]
    scanner.skip_space()
    while scanner.take(","):
        selectors.append(_selector(scanner))
        scanner.skip_space()
    scanner.expect("]")
    return tuple(selectors)


def _selector(scanner: Scanner) -> Selector:
    scanner.skip_space()
    if scanner.take("*"):
        return Wildcard()
    if scanner.take("?"):
        return parse_filter(scanner)
    key = scanner.quoted()
    return _range(scanner) if key is None else Name(key)


def _range(scanner: Scanner) -> Index | Slice:
    start = scanner.integer()
    if not scanner.take(":"):
        if start is None:
            scanner.refuse("a key in quotes, a number, * or a filter is missing")
        return Index(start)
    stop = scanner.integer()
    step = scanner.integer() if scanner.take(":") else None
    if step is not None and step <= 0:
        scanner.refuse("a slice goes forward")
    return Slice(start, stop, step)
