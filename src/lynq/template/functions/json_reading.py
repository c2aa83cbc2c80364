"""fromJson: JSON as Go's encoding/json reads it, with float64 for every number."""

import json
import math
import re
from typing import NoReturn

from lynq.template.context import Context
from lynq.template.errors import FunctionError, LimitError
from lynq.template.functions.json_faults import find_fault
from lynq.template.functions.runes import REPLACEMENT, valid
from lynq.template.functions.signature import Needs, function
from lynq.template.values import to_bytes

_GO_DEPTH = 10_000
_ITEM_BYTES = 64
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _TooLargeError(ValueError):
    """A number that no float64 can hold."""


@function("fromJson", "func(string) interface{}", needs=Needs.LIMITS)
def from_json(context: Context, text: str) -> object:
    """Read JSON; what is none gives an empty map."""
    try:
        return must_from_json(context, text)
    except FunctionError:
        return {}


@function("mustFromJson", "func(string) (interface{}, error)", needs=Needs.LIMITS)
def must_from_json(context: Context, text: str) -> object:
    """Read JSON, or fail with Go's word on what is wrong with it."""
    _check_size(context, text)
    try:
        value: object = _DECODER.decode(valid(text))
    except _TooLargeError as too_large:
        raise FunctionError(find_fault(to_bytes(text)) or str(too_large)) from None
    except ValueError:
        raise FunctionError(find_fault(to_bytes(text)) or "invalid JSON") from None
    return _mend(value) if _SURROGATE_ESCAPE.search(text) else value


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _TooLargeError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=_refuse)


def _check_size(context: Context, text: str) -> None:
    """Refuse by the marks of structure alone, before a value is built."""
    brackets = text.count("[") + text.count("{")
    items = brackets + text.count(",")
    context.limits.check_items(items)
    context.charge(len(text) + items * _ITEM_BYTES)
    if brackets <= context.limits.value_depth:
        return
    depth = _depth(text)
    if depth > _GO_DEPTH:
        raise FunctionError("invalid character '[' exceeded max depth")
    if depth > context.limits.value_depth:
        raise LimitError(f"JSON nested deeper than the limit of {context.limits.value_depth}")


def _depth(text: str) -> int:
    depth = deepest = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        if found[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif found[0] in "]}":
            depth -= 1
    return deepest


def _mend(value: object) -> object:
    """Put U+FFFD for every half of a surrogate pair that was written as an escape."""
    if isinstance(value, str):
        return _SURROGATE.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [_mend(item) for item in value]
    if isinstance(value, dict):
        return {_SURROGATE.sub(REPLACEMENT, key): _mend(item) for key, item in value.items()}
    return value
