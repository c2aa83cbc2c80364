"""text/template's comparisons with their type errors, and reflect.DeepEqual."""

from collections.abc import Hashable, Iterable
from dataclasses import fields, is_dataclass

from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.signature import function
from lynq.template.gofmt.printf import show, sprintf
from lynq.template.values import (
    SIGNED_KINDS,
    UNSIGNED_KINDS,
    Kind,
    is_nil,
    kind_of,
    to_bytes,
    type_name,
    type_of,
)

_BASIC = {
    Kind.BOOL: "bool",
    Kind.STRING: "string",
    Kind.FLOAT64: "float",
    **dict.fromkeys(SIGNED_KINDS, "int"),
    **dict.fromkeys(UNSIGNED_KINDS, "uint"),
}
_WHOLE = frozenset({"int", "uint"})
_VALUE = "reflect.Value"


@function("eq", f"func({_VALUE}, ...{_VALUE}) (bool, error)")
def eq(first: object, *others: object) -> bool:
    """Report whether the first equals any of the others."""
    if not others:
        raise FunctionError("missing argument for comparison")
    return any(_equal(first, other) for other in others)


@function("ne", f"func({_VALUE}, {_VALUE}) (bool, error)")
def ne(first: object, second: object) -> bool:
    """Report whether two values differ."""
    return not _equal(first, second)


@function("lt", f"func({_VALUE}, {_VALUE}) (bool, error)")
def lt(first: object, second: object) -> bool:
    """Report whether the first is smaller."""
    return _less(first, second)


@function("le", f"func({_VALUE}, {_VALUE}) (bool, error)")
def le(first: object, second: object) -> bool:
    """Report whether the first is smaller, or equal."""
    return _less(first, second) or _equal(first, second)


@function("gt", f"func({_VALUE}, {_VALUE}) (bool, error)")
def gt(first: object, second: object) -> bool:
    """Report whether the first is neither smaller nor equal; with NaN this is true, as in Go."""
    return not le(first, second)


@function("ge", f"func({_VALUE}, {_VALUE}) (bool, error)")
def ge(first: object, second: object) -> bool:
    """Report whether the first is not smaller."""
    return not _less(first, second)


def _equal(first: object, second: object) -> bool:
    if type(first) is str and type(second) is str:
        return first == second
    basic = _BASIC.get(kind_of(first))
    other = _BASIC.get(kind_of(second))
    if basic is not None and (basic == other or {basic, other} == _WHOLE):
        return first == second
    if basic != other:
        if first is not None and second is not None:
            raise _incompatible(first, second)
        return False
    return _equal_compound(first, second)


def _equal_compound(first: object, second: object) -> bool:
    """Compare nil, lists, maps and structs: only nil and structs can be equal."""
    if not _comparable(first, second):
        first_text, second_text = sprintf("%s", first), show(second)
        raise FunctionError(
            f"non-comparable types {first_text}: {type_name(first)}, "
            f"{type_name(second)}: {second_text}"
        )
    if is_nil(first) or is_nil(second):
        return is_nil(first) == is_nil(second)
    if kind_of(second) in (Kind.SLICE, Kind.MAP):
        raise FunctionError(f"non-comparable type {sprintf('%s', second)}: {type_name(second)}")
    return type_name(first) == type_name(second) and first == second


def _comparable(first: object, second: object) -> bool:
    return kind_of(first) == kind_of(second) or first is None or second is None


def _less(first: object, second: object) -> bool:
    basic = _BASIC.get(kind_of(first))
    other = _BASIC.get(kind_of(second))
    if basic is None or other is None:
        raise FunctionError("invalid type for comparison")
    if basic != other and {basic, other} != _WHOLE:
        raise _incompatible(first, second)
    if isinstance(first, str) and isinstance(second, str):
        return _less_text(first, second)
    if basic != "bool" and isinstance(first, int | float) and isinstance(second, int | float):
        return first < second
    raise FunctionError("invalid type for comparison")


def _less_text(first: str, second: str) -> bool:
    if first.isascii() and second.isascii():
        return first < second
    return to_bytes(first) < to_bytes(second)


def _incompatible(first: object, second: object) -> FunctionError:
    return FunctionError(
        f"incompatible types for comparison: {type_name(first)} and {type_name(second)}"
    )


_CHECK_EVERY = 1024
_NAMES: dict[type, str] = {str: "string", int: "int", float: "float64", bool: "bool"}


def deep_equal(context: Context, left: object, right: object) -> bool:
    """Compare as reflect.DeepEqual does; a pair of lists or maps is compared once."""
    pending = [(left, right)]
    seen: set[tuple[int, int]] = set()
    while pending:
        one, other = pending.pop()
        if type_of(one) != type_of(other) or is_nil(one) != is_nil(other):
            return False
        if not isinstance(one, list | dict):
            if _content(one) != _content(other):
                return False
            continue
        pair = (id(one), id(other))
        if one is other or pair in seen:
            continue
        seen.add(pair)
        if len(seen) % _CHECK_EVERY == 0:
            context.check_deadline()
        if not _same_outline(one, other):
            return False
        pending += _pairs(one, other)
    return True


def is_among(context: Context, value: object, items: Iterable[object]) -> bool:
    """Report whether one of the items is equal to the value."""
    if isinstance(value, str | int | float):
        name = type_name(value)
        return any(item == value and type_name(item) == name for item in items)
    return any(deep_equal(context, value, item) for item in items)


class Collection:
    """A set of values compared by `deep_equal`; strings and numbers are hashed."""

    def __init__(self, context: Context, values: Iterable[object] = ()) -> None:
        self._context = context
        self._keys: set[Hashable] = set()
        self._others: list[object] = []
        for value in values:
            self.add(value)

    def add(self, value: object) -> None:
        """Add a value."""
        if isinstance(value, str | int | float):
            self._keys.add((_NAMES.get(type(value)) or type_name(value), value))
        else:
            self._others.append(value)

    def __contains__(self, value: object) -> bool:
        """Report whether an equal value was added; NaN is equal to nothing."""
        if isinstance(value, str | int | float):
            name = _NAMES.get(type(value)) or type_name(value)
            return value == value and (name, value) in self._keys  # noqa: PLR0124
        self._context.check_deadline()
        return is_among(self._context, value, self._others)


def _content(value: object) -> object:
    """Return what a pointer points to, because DeepEqual compares that and not the address."""
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    return value


def _same_outline(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys()
    return isinstance(one, list) and isinstance(other, list) and len(one) == len(other)


def _pairs(one: object, other: object) -> Iterable[tuple[object, object]]:
    if isinstance(one, dict) and isinstance(other, dict):
        return ((value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return zip(one, other, strict=True)
    return ()
