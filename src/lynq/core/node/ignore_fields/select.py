"""The fields that paths select in one object: left out of it, or as a tree of FieldsV1.

`keep` copies live values. The functions here need no live object: the content that decides about a
write, and the managed fields that drift is detected by, have no ignored fields.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final, TypeAlias

import msgspec

from lynq.core.node.ignore_fields.jsonpath import (
    Filter,
    Index,
    Name,
    Path,
    Segment,
    Slice,
    Wildcard,
)
from lynq.core.node.ignore_fields.merge_keys import merge_keys

Location: TypeAlias = tuple[str | int, ...]
"""Keys and indexes from the root of an object; the last key may be absent."""

FieldsTree: TypeAlias = dict[str, Any]
"""Fields in the form of FieldsV1; an empty dict stands for the whole field."""

_SELF: Final[FieldsTree] = {".": {}}
"""Ownership of a map or item itself. It is lost with its last field."""


def without_fields(obj: dict[str, Any], paths: Iterable[Path]) -> dict[str, Any]:
    """Return a copy of the object without the fields that the paths select."""
    kept = deepcopy(obj)
    # All fields are selected first: a removal would move the items of a list.
    for location in sorted(_selected(obj, paths), key=_by_index, reverse=True):
        _remove(kept, location)
    return kept


def selected_fields(obj: dict[str, Any], paths: Iterable[Path]) -> FieldsTree:
    """Return the fields that the paths select, as the API server names them in managedFields.

    Items of a list are named by their merge keys. A list without merge keys has one owner; a
    field of its items is not part of the tree.
    """
    tree: FieldsTree = {}
    for location in _selected(obj, paths):
        if names := _field_names(obj, location):
            _insert(tree, names)
    return tree


def subtract_fields(owned: FieldsTree, ignored: FieldsTree) -> FieldsTree:
    """Return the owned fields that are not ignored."""
    kept: FieldsTree = {}
    for name, inner in owned.items():
        if name not in ignored or (ignored[name] and not inner):
            # A field that is owned as a whole is more than its ignored part.
            kept[name] = inner
        elif ignored[name] and (rest := subtract_fields(inner, ignored[name])) not in ({}, _SELF):
            kept[name] = rest
    return kept


def _selected(obj: dict[str, Any], paths: Iterable[Path]) -> set[Location]:
    return {location for path in paths if path for location in _walk(obj, path, ())}


def _walk(value: object, path: Path, at: Location) -> Iterator[Location]:
    segment, rest = path[0], path[1:]
    if segment.descends:
        for step, inner in _items(value):
            yield from _walk(inner, path, (*at, step))
    for step in _steps(value, segment):
        if not rest:
            yield (*at, step)
        elif (inner := _inside(value, step)) is not None:
            yield from _walk(inner, rest, (*at, step))


def _items(value: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _steps(value: object, segment: Segment) -> Iterator[str | int]:
    """Return the keys or indexes that the segment selects; a named key need not exist."""
    is_list = isinstance(value, list)
    count = len(value) if isinstance(value, list) else 0
    for selector in segment.selectors:
        match selector:
            case Name(key) if isinstance(value, Mapping):
                yield key
            case Index(number) if is_list and -count <= number < count:
                yield number % count
            case Slice(start, stop, by) if is_list:
                yield from range(count)[start:stop:by]
            case Wildcard():
                yield from (step for step, _ in _items(value))
            case Filter():
                yield from (step for step, inner in _items(value) if selector.passes(inner))


def _inside(value: object, step: str | int) -> object:
    if isinstance(value, Mapping):
        return value.get(step)
    return value[step] if isinstance(value, list) and isinstance(step, int) else None


def _by_index(location: Location) -> tuple[tuple[int, str], ...]:
    """Order the locations, so that in reverse the last item of a list comes first."""
    return tuple((step, "") if isinstance(step, int) else (-1, step) for step in location)


def _remove(obj: object, location: Location) -> None:
    for step in location[:-1]:
        obj = _inside(obj, step)
    if isinstance(obj, dict):
        obj.pop(location[-1], None)
    elif isinstance(obj, list) and isinstance(location[-1], int):
        del obj[location[-1]]


def _field_names(obj: dict[str, Any], location: Location) -> list[str] | None:
    """Return the names of the location in FieldsV1; None if it is inside of an unkeyed list."""
    names: list[str] = []
    value: object = obj
    field = ""
    for step in location:
        if isinstance(step, str):
            names.append(f"f:{step}")
            field = step
        elif isinstance(value, list) and (keys := merge_keys(value, field)):
            names.append(f"k:{msgspec.json.encode(dict(keys[step])).decode()}")
        else:
            return None
        value = _inside(value, step)
    return names


def _insert(tree: FieldsTree, names: list[str]) -> None:
    """Add a field; a field that is wholly selected needs none of its inner ones."""
    for name in names[:-1]:
        if name in tree and not tree[name]:
            return
        tree = tree.setdefault(name, {})
    tree[names[-1]] = {}
