"""Parses a JSONPath: `$.a.b`, `a.b`, `$..x`, `['a']`, `[0]`, `[-1]`, `[1:3]`, `[*]`, `[?(…)]`.

A filter, `?(@.name == 'x' && @.ports[0] > 80)`, is compiled into one function. The function never
raises: values that cannot be compared do not pass.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import ge, gt, le, lt
from typing import Any, Final, TypeAlias

from lynq.core.node.ignore_fields.jsonpath import (
    Filter,
    Index,
    Name,
    Path,
    PathError,
    Scanner,
    Segment,
    Selector,
    Slice,
    Wildcard,
)

_MAX_DEPTH: Final = 20
_MAX_LENGTH: Final = 1000
_KEY: Final = re.compile(r"[\w-]+")
_ABSENT: Final = object()
_LITERALS: Final = {"true": True, "false": False, "null": None}
_ORDERS: Final = {"<=": le, ">=": ge, "<": lt, ">": gt}

Test: TypeAlias = Callable[[object], bool]
Operand: TypeAlias = Callable[[object], object]
FilterStep: TypeAlias = str | int


def parse_filter_selector(scanner: Scanner) -> Filter:
    """Parse the text after the question mark; raises PathError."""
    start = scanner.position
    passes = _any_of(scanner, 0)
    return Filter(scanner.text[start : scanner.position], passes)


def _any_of(scanner: Scanner, depth: int) -> Test:
    tests = [_all_of(scanner, depth)]
    while _take(scanner, "||"):
        tests.append(_all_of(scanner, depth))
    return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)


def _all_of(scanner: Scanner, depth: int) -> Test:
    tests = [_test(scanner, depth)]
    while _take(scanner, "&&"):
        tests.append(_test(scanner, depth))
    return tests[0] if len(tests) == 1 else lambda value: all(test(value) for test in tests)


def _test(scanner: Scanner, depth: int) -> Test:
    if depth > _MAX_DEPTH:
        scanner.reject("the filter is nested too deep")
    if _take(scanner, "!"):
        inner = _test(scanner, depth + 1)
        return lambda value: not inner(value)
    if _take(scanner, "("):
        inner = _any_of(scanner, depth + 1)
        scanner.expect(")")
        return inner
    return _comparison(scanner)


def _comparison(scanner: Scanner) -> Test:
    left, is_path = _operand(scanner)
    scanner.skip_space()
    operator = scanner.take("==", "!=", *_ORDERS)
    if operator:
        right, _ = _operand(scanner)
        return _compared(left, operator, right)
    if not is_path:
        scanner.reject("a comparison is missing")
    return lambda value: left(value) is not _ABSENT


def _compared(left: Operand, operator: str, right: Operand) -> Test:
    if operator == "==":
        return lambda value: _equal(left(value), right(value))
    if operator == "!=":
        return lambda value: not _equal(left(value), right(value))
    order = _ORDERS[operator]
    return lambda value: _ordered(order, left(value), right(value))


def _operand(scanner: Scanner) -> tuple[Operand, bool]:
    """Return a function of the operand's value, and whether the operand is a path."""
    scanner.skip_space()
    if scanner.take("@"):
        steps = _steps(scanner)
        return lambda value: _at(value, steps), True
    text = scanner.quoted()
    literal: object = text if text is not None else scanner.number()
    if literal is None:
        word = scanner.take(*_LITERALS)
        if not word:
            scanner.reject("expected @, a quoted string, a number, true, false or null")
        literal = _LITERALS[word]
    return lambda _: literal, False


def _steps(scanner: Scanner) -> tuple[FilterStep, ...]:
    steps: list[FilterStep] = []
    while True:
        if scanner.take("."):
            key = scanner.match(_KEY)
            steps.append(key[0] if key else scanner.reject("a key is missing"))
        elif scanner.take("["):
            name = scanner.quoted()
            step = name if name is not None else scanner.integer()
            steps.append(step if step is not None else scanner.reject("a key is missing"))
            scanner.expect("]")
        else:
            return tuple(steps)


def _at(value: object, steps: tuple[FilterStep, ...]) -> object:
    for step in steps:
        value = _inside(value, step)
    return value


def _inside(value: object, step: FilterStep) -> object:
    if isinstance(step, str):
        return value.get(step, _ABSENT) if isinstance(value, Mapping) else _ABSENT
    if isinstance(value, list) and -len(value) <= step < len(value):
        return value[step]
    return _ABSENT


def _equal(left: object, right: object) -> bool:
    # In JSON true differs from 1; in Python they are equal.
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _ordered(order: Callable[[Any, Any], bool], left: object, right: object) -> bool:
    texts = isinstance(left, str) and isinstance(right, str)
    return (texts or (_is_number(left) and _is_number(right))) and order(left, right)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _take(scanner: Scanner, word: str) -> bool:
    scanner.skip_space()
    return bool(scanner.take(word))


@lru_cache(maxsize=1024)
def parse_path(text: str) -> Path:
    """Return the path; raises PathError. The empty text and a bare `$` select no field."""
    scanner = Scanner(text)
    if len(text) > _MAX_LENGTH:
        scanner.reject(f"the path has more than {_MAX_LENGTH} characters")
    segments: list[Segment] = []
    if not scanner.take("$") and (first := scanner.match(_KEY)):
        segments.append(Segment((Name(first[0]),)))
    while not scanner.at_end:
        segments.append(_segment(scanner))
    return tuple(segments)


def path_problem(text: str) -> str | None:
    """Return why a path is invalid; None if it is valid."""
    try:
        parse_path(text)
    except PathError as error:
        return str(error)
    return None


def _segment(scanner: Scanner) -> Segment:
    dots = scanner.take("..", ".")
    descends = dots == ".."
    # `$.['a']` is common, and other parsers accept it as well.
    if scanner.take("["):
        return Segment(_bracket(scanner), descends)
    if dots and scanner.take("*"):
        return Segment((Wildcard(),), descends)
    if dots and (key := scanner.match(_KEY)):
        return Segment((Name(key[0]),), descends)
    if dots:
        scanner.reject('a key is missing; write a key with other characters in brackets: ["a/b"]')
    return scanner.reject("unexpected character; a path is written like $.spec.replicas")


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
        return parse_filter_selector(scanner)
    key = scanner.quoted()
    return _range(scanner) if key is None else Name(key)


def _range(scanner: Scanner) -> Index | Slice:
    start = scanner.integer()
    if not scanner.take(":"):
        if start is None:
            scanner.reject("expected a quoted key, a number, * or a filter")
        return Index(start)
    stop = scanner.integer()
    step = scanner.integer() if scanner.take(":") else None
    if step is not None and step <= 0:
        scanner.reject("the step of a slice must be positive")
    return Slice(start, stop, step)
