"""Copies the live values of ignored fields into the desired object.

An ignored field that the live object lacks is removed from the desired object too: its owner has
removed it. Ignored fields cannot just be left out, because the API server would remove them. A list
item that is not live yet is created with all fields of the manifest.

Items of a desired list are matched with live items. Other controllers insert items of their own, so
items are matched by their merge key where they have one, as the containers of a pod do, and by
position elsewhere.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any, Final

from lynq.core.node.ignore_fields.jsonpath import (
    Filter,
    Index,
    Name,
    Path,
    Segment,
    Selector,
    Slice,
    Wildcard,
)
from lynq.core.node.ignore_fields.merge_keys import MergeKey, merge_keys

ABSENT: Final = object()
"""The counterpart of an item that is not live; None would be the value null."""


def counterparts(desired: Sequence[object], live: object, field: str) -> list[object]:
    """Return the live item of each desired one, or ABSENT; `field` is the key of the list."""
    items = live if isinstance(live, list) else []
    by_key = _keyed(items, field)
    keys = merge_keys(desired, field)
    if by_key is None or keys is None:
        return [items[index] if index < len(items) else ABSENT for index in range(len(desired))]
    return [by_key.get(key, ABSENT) for key in keys]


def live_only(desired: Sequence[object], live: object, field: str) -> list[object]:
    """Return the live items without a desired counterpart, in their order."""
    items = live if isinstance(live, list) else []
    by_key = _keyed(items, field)
    keys = merge_keys(desired, field)
    if by_key is None or keys is None:
        return items[len(desired) :]
    return [item for key, item in by_key.items() if key not in set(keys)]


def _keyed(items: Sequence[object], field: str) -> dict[MergeKey, object] | None:
    keys = merge_keys(items, field)
    return None if keys is None else dict(zip(keys, items, strict=True))


def keep_live(
    desired: dict[str, Any], live: dict[str, Any], paths: Iterable[Path]
) -> dict[str, Any]:
    """Return the desired object with the live values of the fields that the paths select."""
    kept = deepcopy(desired)
    for path in paths:
        if path:
            _walk(kept, live, path, "")
    return kept


def _walk(desired: object, live: object, path: Path, field: str) -> None:
    """Follow the path in both objects; `field` is the key of `desired` in its parent."""
    if path[0].descends:
        # Deeper values first: this segment may replace them by live values.
        for inner, counterpart, key in list(_children(desired, live, field)):
            _walk(inner, counterpart, path, key)
    if isinstance(desired, dict):
        _in_object(desired, live if isinstance(live, dict) else {}, path[0], path[1:])
    elif isinstance(desired, list):
        _in_list(desired, live, path, field)


def _children(desired: object, live: object, field: str) -> Iterator[tuple[object, object, str]]:
    if isinstance(desired, dict):
        counterpart_of = live if isinstance(live, dict) else {}
        for key, value in desired.items():
            yield value, counterpart_of.get(key), key
    elif isinstance(desired, list):
        for item, counterpart in zip(desired, counterparts(desired, live, field), strict=True):
            if counterpart is not ABSENT:
                yield item, counterpart, field


def _in_object(desired: dict[str, Any], live: dict[str, Any], segment: Segment, rest: Path) -> None:
    for selector in segment.selectors:
        for key in _selected_keys(selector, desired, live):
            if rest:
                _enter(desired, live, key, rest, may_create=isinstance(selector, Name))
            elif key in live:
                desired[key] = deepcopy(live[key])
            else:
                desired.pop(key, None)


def _selected_keys(selector: Selector, desired: dict[str, Any], live: dict[str, Any]) -> list[str]:
    if isinstance(selector, Name):
        return [selector.key]
    every = [*desired, *(key for key in live if key not in desired)]
    if isinstance(selector, Wildcard):
        return every
    if isinstance(selector, Filter):
        return [key for key in every if selector.passes(live.get(key, desired.get(key)))]
    return []


def _enter(
    desired: dict[str, Any], live: dict[str, Any], key: str, rest: Path, *, may_create: bool
) -> None:
    inner, counterpart = desired.get(key), live.get(key)
    if inner is None and may_create and isinstance(counterpart, dict):
        created: dict[str, Any] = {}
        _walk(created, counterpart, rest, key)
        if created:
            desired[key] = created
    else:
        _walk(inner, counterpart, rest, key)


def _in_list(desired: list[Any], live: object, path: Path, field: str) -> None:
    segment, rest = path[0], path[1:]
    pairs = counterparts(desired, live, field)
    chosen = _indexes(segment, desired, pairs)
    if rest:
        for index in chosen:
            if pairs[index] is not ABSENT:
                _walk(desired[index], pairs[index], rest, field)
        return
    added = [item for item in live_only(desired, live, field) if _selects_new(segment, item)]
    kept = [
        deepcopy(pairs[index]) if index in chosen else item
        for index, item in enumerate(desired)
        if not (index in chosen and pairs[index] is ABSENT)
    ]
    desired[:] = kept + deepcopy(added)


def _indexes(segment: Segment, desired: list[Any], pairs: list[object]) -> list[int]:
    """Return the indexes of the desired list that the segment selects."""
    every = range(len(desired))
    indexes: set[int] = set()
    for selector in segment.selectors:
        match selector:
            case Wildcard():
                indexes.update(every)
            case Index(number) if -len(desired) <= number < len(desired):
                indexes.add(number % len(desired))
            case Slice(start, stop, by):
                indexes.update(every[start:stop:by])
            case Filter():
                indexes.update(
                    index
                    for index in every
                    if selector.passes(desired[index])
                    or (pairs[index] is not ABSENT and selector.passes(pairs[index]))
                )
    return sorted(indexes)


def _selects_new(segment: Segment, item: object) -> bool:
    """Return whether the segment selects a live item that is not desired."""
    return any(
        isinstance(selector, Wildcard) or (isinstance(selector, Filter) and selector.passes(item))
        for selector in segment.selectors
    )
