"""Validates a value against a structural schema, as the API server does with strict fields.

Only the keywords that `lynq.api.schema` generates are known. CEL rules are not evaluated: the
validation of hubs and forms has the same rules in Python. Messages contain no value.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from lynq.api.problems import Problem, at_key

_TYPES: Final[Mapping[str, type]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
}
_OPEN: Final = "x-kubernetes-preserve-unknown-fields"


def schema_problems(value: object, schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Yield every place at which a value does not fit a schema."""
    if not _has_type(value, schema["type"]):
        yield Problem(path, f"must be of type {schema['type']}, not {_type_name(value)}")
    elif isinstance(value, dict):
        yield from _object_problems(value, schema, path)
    elif isinstance(value, list):
        yield from _list_problems(value, schema, path)
    else:
        yield from _scalar_problems(value, schema, path)


def _has_type(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES[name])


def _type_name(value: object) -> str:
    if value is None:
        return "null"
    names = (name for name, kind in _TYPES.items() if isinstance(value, kind))
    return next(names, "number")


def _object_problems(
    value: dict[str, Any], schema: Mapping[str, Any], path: str
) -> Iterator[Problem]:
    for name in schema.get("required", ()):
        if value.get(name) is None:
            yield Problem(at_key(path, name), "required")
    properties, further = schema.get("properties"), schema.get("additionalProperties")
    for name, item in value.items():
        child = at_key(path, name)
        if properties and name in properties:
            # A null is an absent field: the API server drops it.
            if item is not None:
                yield from schema_problems(item, properties[name], child)
        elif further:
            yield from schema_problems(item, further, child)
        elif properties and not schema.get(_OPEN):
            yield Problem(child, f"unknown field{_suggestion(name, properties)}")


def _suggestion(name: str, properties: Mapping[str, Any]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for an error

    matches = get_close_matches(name, properties, 1)
    return f": did you mean {matches[0]}?" if matches else ""


def _list_problems(value: list[Any], schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if len(value) > (limit := schema.get("maxItems", len(value))):
        yield Problem(path, f"has {len(value)} items, at most {limit} are allowed")
    for index, item in enumerate(value):
        yield from schema_problems(item, schema["items"], f"{path}[{index}]")


def _scalar_problems(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[Problem]:  # noqa: ANN401
    if "enum" in schema and value not in schema["enum"]:
        yield Problem(path, f"must be one of {', '.join(schema['enum'])}")
    if "minimum" in schema and value < schema["minimum"]:
        yield Problem(path, f"must be at least {schema['minimum']}")
    if "maximum" in schema and value > schema["maximum"]:
        yield Problem(path, f"must be at most {schema['maximum']}")
    if len(str(value)) < schema.get("minLength", 0):
        yield Problem(path, "must not be empty")
    if len(str(value)) > schema.get("maxLength", len(str(value))):
        yield Problem(path, f"must have at most {schema['maxLength']} characters")
    if "pattern" in schema and not _compiled(schema["pattern"]).search(value):
        yield Problem(path, f"must match {schema['pattern']}")


_compiled: Final = cache(re.compile)
