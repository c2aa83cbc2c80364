"""Filters of a JSONPath: `?(@.name == 'x' && @.ports[0] > 80)`.

A filter is compiled into one function. It never raises: values that cannot be compared just do
not pass.
"""

import re
from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any, Final, TypeAlias

from lynq.core.node.ignore_fields.jsonpath import Filter
from lynq.core.node.ignore_fields.scanning import Scanner

_DEEPEST: Final = 20
_KEY: Final = re.compile(r"[\w-]+")
_ABSENT: Final = object()
_WORDS: Final = {"true": True, "false": False, "null": None}
_ORDERS: Final = {"<=": le, ">=": ge, "<": lt, ">": gt}

Test: TypeAlias = Callable[[object], bool]
Operand: TypeAlias = Callable[[object], object]
FilterStep: TypeAlias = str | int


def parse_filter(scanner: Scanner) -> Filter:
    """Read what follows the question mark; raises PathError."""
    start = scanner.position
    passes = _either(scanner, 0)
    return Filter(scanner.text[start : scanner.position], passes)


def _either(scanner: Scanner, depth: int) -> Test:
    tests = [_both(scanner, depth)]
    while _takes(scanner, "||"):
        tests.append(_both(scanner, depth))
    return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)


def _both(scanner: Scanner, depth: int) -> Test:
    tests = [_one(scanner, depth)]
    while _takes(scanner, "&&"):
        tests.append(_one(scanner, depth))
    return tests[0] if len(tests) == 1 else lambda value: all(test(value) for test in tests)


def _one(scanner: Scanner, depth: int) -> Test:
    if depth > _DEEPEST:
        scanner.refuse("it is nested too deep")
    if _takes(scanner, "!"):
        inner = _one(scanner, depth + 1)
        return lambda value: not inner(value)
    if _takes(scanner, "("):
        inner = _either(scanner, depth + 1)
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
        scanner.refuse("a comparison is missing")
    return lambda value: left(value) is not _ABSENT


def _compared(left: Operand, operator: str, right: Operand) -> Test:
    if operator == "==":
        return lambda value: _equal(left(value), right(value))
    if operator == "!=":
        return lambda value: not _equal(left(value), right(value))
    order = _ORDERS[operator]
    return lambda value: _ordered(order, left(value), right(value))


def _operand(scanner: Scanner) -> tuple[Operand, bool]:
    """Return what gives the operand's value, and whether it is a path."""
    scanner.skip_space()
    if scanner.take("@"):
        steps = _steps(scanner)
        return lambda value: _at(value, steps), True
    text = scanner.quoted()
    literal: object = text if text is not None else scanner.number()
    if literal is None:
        word = scanner.take(*_WORDS)
        if not word:
            scanner.refuse("@, a text in quotes, a number, true, false or null is missing")
        literal = _WORDS[word]
    return lambda _: literal, False


def _steps(scanner: Scanner) -> tuple[FilterStep, ...]:
    steps: list[FilterStep] = []
    while True:
        if scanner.take("."):
            key = scanner.match(_KEY)
            steps.append(key[0] if key else scanner.refuse("a key is missing"))
        elif scanner.take("["):
            name = scanner.quoted()
            step = name if name is not None else scanner.integer()
            steps.append(step if step is not None else scanner.refuse("a key is missing"))
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
    # JSON's true is no 1, as it would be to Python.
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _ordered(order: Callable[[Any, Any], bool], left: object, right: object) -> bool:
    texts = isinstance(left, str) and isinstance(right, str)
    return (texts or (_is_number(left) and _is_number(right))) and order(left, right)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _takes(scanner: Scanner, word: str) -> bool:
    scanner.skip_space()
    return bool(scanner.take(word))
