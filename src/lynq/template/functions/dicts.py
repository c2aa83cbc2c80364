"""Dicts: building, reading and changing them."""

from collections.abc import Iterator

from lynq.template.context import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.roots import assign, remove, unnamed
from lynq.template.functions.signature import Needs, function
from lynq.template.gofmt.printing import show
from lynq.template.values import ANY_MAP, NilMap, sorted_keys, type_name

_FEWEST_TO_DIG = 3


@function("dict", "func(...interface{}) map[string]interface{}", needs=Needs.LIMITS)
def make_dict(context: Context, *values: object) -> dict[str, object]:
    """Make a map of keys and values in turn; a last key alone gets an empty string."""
    texts = [show(key, context.limits) for key in values[::2]]
    items = [*values[1::2], ""]
    return dict(zip(texts, items, strict=False))


@function("get", "func(map[string]interface{}, string) interface{}")
def get(mapping: dict[str, object], key: str) -> object:
    """Give a key's value, or an empty string."""
    return mapping.get(key, "")


@function(
    "set",
    "func(map[string]interface{}, string, interface{}) map[string]interface{}",
    needs=Needs.LIMITS,
)
def put(context: Context, mapping: dict[str, object], key: str, value: object) -> dict[str, object]:
    """Set a key in the map itself, and give the map."""
    if isinstance(mapping, NilMap):
        raise FunctionError("assignment to entry in nil map")
    context.limits.check_items(len(mapping) + 1)
    given = unnamed(mapping)
    assign(given, key, value)
    return given


@function("unset", "func(map[string]interface{}, string) map[string]interface{}")
def unset(mapping: dict[str, object], key: str) -> dict[str, object]:
    """Take a key out of the map itself, and give the map."""
    given = unnamed(mapping)
    remove(given, key)
    return given


@function("hasKey", "func(map[string]interface{}, string) bool")
def has_key(mapping: dict[str, object], key: str) -> bool:
    """Tell whether the map has the key."""
    return key in mapping


@function("pluck", "func(string, ...map[string]interface{}) []interface{}")
def pluck(key: str, *mappings: dict[str, object]) -> list[object]:
    """Give the key's value in each map that has it."""
    return [mapping[key] for mapping in mappings if key in mapping]


@function("keys", "func(...map[string]interface{}) []string", needs=Needs.LIMITS)
def keys(context: Context, *mappings: dict[str, object]) -> list[str]:
    """Give the keys of all maps: sorted, where Go gives no order, for a render is repeatable."""
    context.limits.check_items(sum(map(len, mappings)))
    return [key for mapping in mappings for key in sorted_keys(mapping)]


@function("values", "func(map[string]interface{}) []interface{}")
def values(mapping: dict[str, object]) -> list[object]:
    """Give the values, in the order of their keys."""
    return [mapping[key] for key in sorted_keys(mapping)]


@function("pick", "func(map[string]interface{}, ...string) map[string]interface{}")
def pick(mapping: dict[str, object], *wanted: str) -> dict[str, object]:
    """Give a new map with these keys only."""
    return {key: mapping[key] for key in wanted if key in mapping}


@function("omit", "func(map[string]interface{}, ...string) map[string]interface{}")
def omit(mapping: dict[str, object], *unwanted: str) -> dict[str, object]:
    """Give a new map without these keys."""
    refused = frozenset(unwanted)
    return {key: value for key, value in mapping.items() if key not in refused}


@function("dig", "func(...interface{}) (interface{}, error)")
def dig(*arguments: object) -> object:
    """Follow keys through maps within maps, or give the default that stands before the map."""
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


def _conversion(value: object, wanted: str) -> str:
    found = type_name(value) if value is not None else "nil"
    return f"interface conversion: interface {{}} is {found}, not {wanted}"
