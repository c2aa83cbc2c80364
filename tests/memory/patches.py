"""JSON merge patches (RFC 7386) and JSON patches (RFC 6902)."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

Body = dict[str, Any]


class InvalidPatchError(ValueError):
    """A JSON patch that cannot be carried out."""


def merge_patched(target: Any, patch: Any) -> Any:
    """Return the target with a merge patch; the target stays as it is."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patched(merged.get(key), value)
    return merged


def json_patched(target: Body, operations: list[Body]) -> Body:
    """Return the target with the operations of a JSON patch; the target stays as it is."""
    document: Any = deepcopy(target)
    for operation in operations:
        document = _performed(document, operation)
    result: Body = document
    return result


def _performed(document: Any, operation: Body) -> Any:
    path = _pointer(operation["path"])
    match operation["op"]:
        case "test":
            if _value_at(document, path) != operation.get("value"):
                raise InvalidPatchError(f"testing value {operation['path']} failed")
        case "add":
            return _added(document, path, deepcopy(operation["value"]))
        case "replace":
            # The API server replaces an absent value of an object, too.
            if isinstance(_value_at(document, path[:-1]), list):
                document = _removed(document, path)
            return _added(document, path, deepcopy(operation["value"]))
        case "remove":
            return _removed(document, path)
        case "copy" | "move" as kind:
            source = _pointer(operation["from"])
            value = deepcopy(_value_at(document, source))
            if kind == "move":
                document = _removed(document, source)
            return _added(document, path, value)
        case other:
            raise InvalidPatchError(f"unknown operation {other}")
    return document


def _pointer(text: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _child(container: Any, key: str) -> Any:
    try:
        return container[int(key)] if isinstance(container, list) else container[key]
    except (KeyError, IndexError, ValueError, TypeError):
        raise InvalidPatchError(f"the path {key} does not exist") from None


def _value_at(document: Any, path: list[str]) -> Any:
    for key in path:
        document = _child(document, key)
    return document


def _added(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    container, key = _value_at(document, path[:-1]), path[-1]
    if isinstance(container, list):
        container.insert(len(container) if key == "-" else int(key), value)
    elif isinstance(container, dict):
        container[key] = value
    else:
        raise InvalidPatchError(f"the path {key} does not exist")
    return document


def _removed(document: Any, path: list[str]) -> Any:
    container, key = _value_at(document, path[:-1]), path[-1]
    _child(container, key)
    if isinstance(container, list):
        del container[int(key)]
    else:
        del container[key]
    return document
