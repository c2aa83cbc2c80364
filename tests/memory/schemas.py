"""The structural schema of a custom kind: pruning, defaults and validation.

Not evaluated: rules in CEL (`x-kubernetes-validations`), formats, and combinations (`anyOf`, …).
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final, NamedTuple

Schema = Mapping[str, Any]

_TYPE_META: Final = frozenset({"apiVersion", "kind", "metadata"})


class Problem(NamedTuple):
    """One violation: field, reason and message, as in the causes of a Status."""

    field: str
    reason: str
    message: str


def completed(obj: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Return an object without unknown fields, and with the defaults of absent ones."""
    content = {key: value for key, value in obj.items() if key not in _TYPE_META}
    kept = {key: obj[key] for key in ("apiVersion", "kind", "metadata") if key in obj}
    defaulted: dict[str, Any] = _completed(content, schema)
    return kept | defaulted


def _completed(value: Any, schema: Schema) -> Any:
    if isinstance(value, list):
        items = schema.get("items")
        return [_completed(item, items) for item in value] if items else value
    if not isinstance(value, dict):
        return value
    properties: Mapping[str, Schema] = schema.get("properties", {})
    additional = schema.get("additionalProperties")
    keeps = schema.get("x-kubernetes-preserve-unknown-fields") or additional is True
    result = {}
    for key, part in value.items():
        if part is None and key in properties and not properties[key].get("nullable"):
            continue
        if key in properties:
            result[key] = _completed(part, properties[key])
        elif isinstance(additional, Mapping):
            result[key] = _completed(part, additional)
        elif keeps:
            result[key] = part
    for key, part_schema in properties.items():
        if key not in result and "default" in part_schema:
            result[key] = _completed(deepcopy(part_schema["default"]), part_schema)
    return result


def undeclared(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """Yield the paths of fields that the schema does not have."""
    if isinstance(value, list) and (items := schema.get("items")):
        for item in value:
            yield from undeclared(item, items, path)
    if not isinstance(value, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    properties = schema.get("properties", {})
    additional = schema.get("additionalProperties")
    for key, part in value.items():
        if not path and key in _TYPE_META:
            continue
        if part_schema := properties.get(key):
            yield from undeclared(part, part_schema, f"{path}.{key}")
        elif isinstance(additional, Mapping):
            yield from undeclared(part, additional, f"{path}.{key}")
        elif not additional:
            yield f"{path}.{key}"


def problems(obj: dict[str, Any], schema: Schema) -> list[Problem]:
    """Return the violations of an object."""
    content = {key: value for key, value in obj.items() if key not in _TYPE_META}
    return list(_problems(content, {**schema, "required": _required(schema)}, ""))


def _required(schema: Schema) -> list[str]:
    return [key for key in schema.get("required", ()) if key not in _TYPE_META]


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_NAMES: Final = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def _problems(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    if schema.get("x-kubernetes-int-or-string"):
        return
    expected = schema.get("type", "")
    types = _TYPES.get(expected)
    if types and (not isinstance(value, types) or (isinstance(value, bool) and bool not in types)):
        message = (
            f"Invalid value: {_quoted(value)}: {path} in body must be of type {expected}: "
            f"{_quoted(_NAMES[type(value)])}"
        )
        yield Problem(path, "FieldValueTypeInvalid", message)
        return
    yield from _value_problems(value, schema, path)
    if isinstance(value, list) and (items := schema.get("items")):
        yield from _duplicates(value, schema, path)
        for index, item in enumerate(value):
            yield from _problems(item, items, f"{path}[{index}]")
    if isinstance(value, dict):
        yield from _field_problems(value, schema, path)


def _field_problems(value: dict[str, Any], schema: Schema, path: str) -> Iterator[Problem]:
    for key in schema.get("required", ()):
        if key not in value:
            yield Problem(_joined(path, key), "FieldValueRequired", "Required value")
    properties = schema.get("properties", {})
    additional = schema.get("additionalProperties")
    for key, part in value.items():
        if part_schema := properties.get(key):
            yield from _problems(part, part_schema, _joined(path, key))
        elif isinstance(additional, Mapping):
            yield from _problems(part, additional, _joined(path, key))


def _value_problems(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    def invalid(problem: str) -> Problem:
        message = f"Invalid value: {_quoted(value)}: {path} in body {problem}"
        return Problem(path, "FieldValueInvalid", message)

    enum = schema.get("enum")
    if enum is not None and value not in enum:
        supported = ", ".join(_quoted(each) for each in enum)
        message = f"Unsupported value: {_quoted(value)}: supported values: {supported}"
        yield Problem(path, "FieldValueNotSupported", message)
    if (minimum := schema.get("minimum")) is not None and value < minimum:
        yield invalid(f"should be greater than or equal to {minimum}")
    if (maximum := schema.get("maximum")) is not None and value > maximum:
        yield invalid(f"should be less than or equal to {maximum}")
    if (pattern := schema.get("pattern")) and not re.search(pattern, value):
        yield invalid(f"should match '{pattern}'")
    for key, size in (("minLength", len), ("minItems", len)):
        if (limit := schema.get(key)) is not None and size(value) < limit:
            yield invalid(f"should be at least {limit} long")
    for key, size in (("maxLength", len), ("maxItems", len)):
        if (limit := schema.get(key)) is not None and size(value) > limit:
            yield Problem(path, "FieldValueTooLong", f"Too long: may not be more than {limit}")


def _duplicates(value: list[Any], schema: Schema, path: str) -> Iterator[Problem]:
    keys = schema.get("x-kubernetes-list-map-keys", ())
    seen: list[Any] = []
    for index, item in enumerate(value if keys else ()):
        identity = {key: item.get(key) for key in keys} if isinstance(item, dict) else item
        if identity in seen:
            message = f"Duplicate value: {_quoted(identity)}"
            yield Problem(f"{path}[{index}]", "FieldValueDuplicate", message)
        seen.append(identity)


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
