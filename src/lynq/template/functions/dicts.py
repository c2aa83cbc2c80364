"""Dicts: building, reading, changing and merging them, after Go's package mergo.

`merge` changes the first map: a missing or empty value is taken from the next map. With
`mergeOverwrite` a value is always taken. Nested maps are merged.

In Go the root is a `template.Variables`. A function that takes any map gets it as a plain map and
returns a plain map, so that `dig "a" "b" (set . "c" 1)` works where `dig "a" "b" .` does not.
Writes to the plain map are visible in the root.
"""

from collections.abc import Iterator

from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.signature import Needs, function
from lynq.template.gofmt.printf import show
from lynq.template.values import (
    ANY_MAP,
    NilMap,
    Object,
    StringMap,
    Typed,
    Variables,
    is_nil,
    sorted_keys,
    type_name,
)


class Unnamed(Typed, dict[str, object]):
    """A plain copy of the root; changes are written to the root too."""

    __slots__ = ("root",)
    go_type = ANY_MAP

    def __init__(self, root: Variables) -> None:
        super().__init__(root)
        self.root = root


def unnamed(mapping: dict[str, object]) -> dict[str, object]:
    """Return the root as a plain map, and any other map itself."""
    return Unnamed(mapping) if isinstance(mapping, Variables) else mapping


def assign(mapping: dict[str, object], key: str, value: object) -> None:
    """Set a key, in the root behind a plain copy too."""
    mapping[key] = value
    if isinstance(mapping, Unnamed):
        mapping.root[key] = value


def remove(mapping: dict[str, object], key: str) -> None:
    """Delete a key, in the root behind a plain copy too."""
    mapping.pop(key, None)
    if isinstance(mapping, Unnamed):
        mapping.root.pop(key, None)


_FEWEST_TO_DIG = 3


@function("dict", "func(...interface{}) map[string]interface{}", needs=Needs.LIMITS)
def make_dict(context: Context, *values: object) -> dict[str, object]:
    """Create a map from alternating keys and values; a key without value gets an empty string."""
    texts = [show(key, context.limits) for key in values[::2]]
    items = [*values[1::2], ""]
    return dict(zip(texts, items, strict=False))


@function("get", "func(map[string]interface{}, string) interface{}")
def get(mapping: dict[str, object], key: str) -> object:
    """Return a key's value, or an empty string."""
    return mapping.get(key, "")


@function(
    "set",
    "func(map[string]interface{}, string, interface{}) map[string]interface{}",
    needs=Needs.LIMITS,
)
def put(context: Context, mapping: dict[str, object], key: str, value: object) -> dict[str, object]:
    """Set a key in the map itself, and return the map."""
    if isinstance(mapping, NilMap):
        raise FunctionError("assignment to entry in nil map")
    context.limits.check_items(len(mapping) + 1)
    plain = unnamed(mapping)
    assign(plain, key, value)
    return plain


@function("unset", "func(map[string]interface{}, string) map[string]interface{}")
def unset(mapping: dict[str, object], key: str) -> dict[str, object]:
    """Delete a key from the map itself, and return the map."""
    plain = unnamed(mapping)
    remove(plain, key)
    return plain


@function("hasKey", "func(map[string]interface{}, string) bool")
def has_key(mapping: dict[str, object], key: str) -> bool:
    """Report whether the map has the key."""
    return key in mapping


@function("pluck", "func(string, ...map[string]interface{}) []interface{}")
def pluck(key: str, *mappings: dict[str, object]) -> list[object]:
    """Return the key's value in each map that has it."""
    return [mapping[key] for mapping in mappings if key in mapping]


@function("keys", "func(...map[string]interface{}) []string", needs=Needs.LIMITS)
def keys(context: Context, *mappings: dict[str, object]) -> list[str]:
    """Return the keys of all maps; sorted, because renders are repeatable. Go's order is random."""
    context.limits.check_items(sum(map(len, mappings)))
    return [key for mapping in mappings for key in sorted_keys(mapping)]


@function("values", "func(map[string]interface{}) []interface{}")
def values(mapping: dict[str, object]) -> list[object]:
    """Return the values, in the order of their keys."""
    return [mapping[key] for key in sorted_keys(mapping)]


@function("pick", "func(map[string]interface{}, ...string) map[string]interface{}")
def pick(mapping: dict[str, object], *keys_to_copy: str) -> dict[str, object]:
    """Return a new map with these keys only."""
    return {key: mapping[key] for key in keys_to_copy if key in mapping}


@function("omit", "func(map[string]interface{}, ...string) map[string]interface{}")
def omit(mapping: dict[str, object], *unwanted: str) -> dict[str, object]:
    """Return a new map without these keys."""
    refused = frozenset(unwanted)
    return {key: value for key, value in mapping.items() if key not in refused}


@function("dig", "func(...interface{}) (interface{}, error)")
def dig(*arguments: object) -> object:
    """Follow keys through nested maps, or return the default, the argument before the map."""
    if len(arguments) < _FEWEST_TO_DIG:
        raise FunctionError("dig needs at least three arguments")
    *path, fallback, at = arguments
    mapping = _as_map(at)
    for number, key in enumerate(_as_strings(path), start=1):
        if key not in mapping:
            return fallback
        if number == len(path):
            return mapping[key]
        mapping = _as_map(mapping[key])
    return fallback


def _as_map(value: object) -> dict[str, object]:
    if isinstance(value, dict) and type_name(value) == ANY_MAP.name:
        return value
    raise FunctionError(_conversion(value, ANY_MAP.name))


def _as_strings(values: list[object]) -> Iterator[str]:
    for value in values:
        if not isinstance(value, str):
            raise FunctionError(_conversion(value, "string"))
    return (value for value in values if isinstance(value, str))


def _conversion(value: object, expected: str) -> str:
    actual = type_name(value) if value is not None else "nil"
    return f"interface conversion: interface {{}} is {actual}, not {expected}"


_MERGE = "func(map[string]interface{}, ...map[string]interface{}) interface{}"
_MUST_MERGE = "func(map[string]interface{}, ...map[string]interface{}) (interface{}, error)"
_Map = dict[str, object]
_ITEM_BYTES = 64
_CHECK_EVERY = 1024


@function("merge", _MERGE, needs=Needs.LIMITS)
@function("mustMerge", _MUST_MERGE, needs=Needs.LIMITS)
def merge(context: Context, target: _Map, *sources: _Map) -> _Map:
    """Fill a map from others."""
    return _Merger(context, overwrite=False).merge_all(target, sources)


@function("mergeOverwrite", _MERGE, needs=Needs.LIMITS)
@function("mustMergeOverwrite", _MUST_MERGE, needs=Needs.LIMITS)
def merge_overwrite(context: Context, target: _Map, *sources: _Map) -> _Map:
    """Overwrite a map from others."""
    return _Merger(context, overwrite=True).merge_all(target, sources)


@function("deepCopy", "func(interface{}) interface{}", needs=Needs.LIMITS)
@function("mustDeepCopy", "func(interface{}) (interface{}, error)", needs=Needs.LIMITS)
def deep_copy(context: Context, value: object) -> object:
    """Return a copy that shares no list and no map with the value."""
    if value is None:
        raise FunctionError("reflect: call of reflect.Value.Type on zero Value")
    return _Copier(context).copy(value, 0)


class _Merger:
    def __init__(self, context: Context, *, overwrite: bool) -> None:
        self.context = context
        self.overwrite = overwrite

    def merge_all(self, target: _Map, sources: tuple[_Map, ...]) -> _Map:
        target = unnamed(target)
        for source in sources:
            if isinstance(target, NilMap) and not isinstance(source, NilMap):
                target = {}
            self._merge(target, source, 0)
        return target

    def _merge(self, target: _Map, source: _Map, depth: int) -> None:
        self.context.limits.check_depth(depth)
        # A copy of the items: a map may be merged with itself.
        for number, (key, value) in enumerate(list(source.items())):
            if number % _CHECK_EVERY == 0:
                self.context.check_deadline()
            if value is None and type(source) is not StringMap:
                if self.overwrite:
                    self._put(target, source, key)
            else:
                self._merge_item(target, source, key, depth)

    def _merge_item(self, target: _Map, source: _Map, key: str, depth: int) -> None:
        value, present = source[key], target.get(key)
        if isinstance(value, dict) and isinstance(present, dict) and not is_nil(present):
            self._merge(present, value, depth + 1)
            if present:
                return
        if self.overwrite or not present:
            self._put(target, source, key)

    def _put(self, target: _Map, source: _Map, key: str) -> None:
        if isinstance(target, StringMap) and not isinstance(source, StringMap):
            raise FunctionError(
                "reflect.Value.SetMapIndex: "
                "value of type interface {} is not assignable to type string"
            )
        self.context.limits.check_items(len(target) + 1)
        assign(target, key, source[key])


class _Copier:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.copied = 0

    def copy(self, value: object, depth: int) -> object:
        if isinstance(value, Object):
            return value.copied()
        if not isinstance(value, list | dict):
            return value
        self.context.check_deadline()
        limits = self.context.limits
        limits.check_depth(depth)
        self.copied += len(value)
        limits.check_items(self.copied)
        self.context.charge((len(value) + 1) * _ITEM_BYTES)
        if isinstance(value, dict):
            items = {key: self.copy(item, depth + 1) for key, item in value.items()}
            return items if isinstance(value, Unnamed) else type(value)(items)
        return type(value)([self.copy(item, depth + 1) for item in value])
