"""reflect.DeepEqual: equal types, equal contents, to any depth."""

from collections.abc import Hashable, Iterable
from dataclasses import fields, is_dataclass

from lynq.template.context import Context
from lynq.template.values import is_nil, type_name, type_of

_CHECK_EVERY = 1024
_NAMES: dict[type, str] = {str: "string", int: "int", float: "float64", bool: "bool"}


def deep_equal(context: Context, left: object, right: object) -> bool:
    """Compare two values; a pair of lists or maps that is met again is not compared again."""
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
    """Tell whether one of the items is equal to the value."""
    if isinstance(value, str | int | float):
        name = type_name(value)
        return any(item == value and type_name(item) == name for item in items)
    return any(deep_equal(context, value, item) for item in items)


class Collection:
    """Values that are told apart by `deep_equal`; strings and numbers are found at once."""

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
        """Tell whether an equal value was added; NaN is equal to nothing."""
        if isinstance(value, str | int | float):
            name = _NAMES.get(type(value)) or type_name(value)
            return value == value and (name, value) in self._keys  # noqa: PLR0124
        self._context.check_deadline()
        return is_among(self._context, value, self._others)


def _content(value: object) -> object:
    """Give what a pointer points to: to DeepEqual that counts, and not which one it is."""
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
