"""Copy the live values of ignored fields into the wanted object, element by element.

A field that is not there live is taken out of the wanted object too: whoever owns it has removed
it. To leave all ignored fields out would not do, as the API server would take that for their
removal. An item of a list that is not live yet is created with all that the manifest says.
"""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

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
from lynq.core.node.ignore_fields.pairing import ABSENT, counterparts, live_only


def keep_live(
    wanted: dict[str, Any], live: dict[str, Any], paths: Iterable[Path]
) -> dict[str, Any]:
    """Return the wanted object with the live values of the fields that the paths name."""
    kept = deepcopy(wanted)
    for path in paths:
        if path:
            _walk(kept, live, path, "")
    return kept


def _walk(wanted: object, live: object, path: Path, field: str) -> None:
    """Follow the path in both; `field` is the key under which `wanted` was found."""
    if path[0].descends:
        # What lies deeper goes first: a step here may replace it by what is live anyway.
        for inner, counterpart, key in list(_children(wanted, live, field)):
            _walk(inner, counterpart, path, key)
    if isinstance(wanted, dict):
        _in_object(wanted, live if isinstance(live, dict) else {}, path[0], path[1:])
    elif isinstance(wanted, list):
        _in_list(wanted, live, path, field)


def _children(wanted: object, live: object, field: str) -> Iterator[tuple[object, object, str]]:
    if isinstance(wanted, dict):
        known = live if isinstance(live, dict) else {}
        for key, value in wanted.items():
            yield value, known.get(key), key
    elif isinstance(wanted, list):
        for item, counterpart in zip(wanted, counterparts(wanted, live, field), strict=True):
            if counterpart is not ABSENT:
                yield item, counterpart, field


def _in_object(wanted: dict[str, Any], live: dict[str, Any], step: Segment, rest: Path) -> None:
    for selector in step.selectors:
        for key in _keys(selector, wanted, live):
            if rest:
                _enter(wanted, live, key, rest, may_create=isinstance(selector, Name))
            elif key in live:
                wanted[key] = deepcopy(live[key])
            else:
                wanted.pop(key, None)


def _keys(selector: Selector, wanted: dict[str, Any], live: dict[str, Any]) -> list[str]:
    if isinstance(selector, Name):
        return [selector.key]
    every = [*wanted, *(key for key in live if key not in wanted)]
    if isinstance(selector, Wildcard):
        return every
    if isinstance(selector, Filter):
        return [key for key in every if selector.passes(live.get(key, wanted.get(key)))]
    return []


def _enter(
    wanted: dict[str, Any], live: dict[str, Any], key: str, rest: Path, *, may_create: bool
) -> None:
    inner, counterpart = wanted.get(key), live.get(key)
    if inner is None and may_create and isinstance(counterpart, dict):
        created: dict[str, Any] = {}
        _walk(created, counterpart, rest, key)
        if created:
            wanted[key] = created
    else:
        _walk(inner, counterpart, rest, key)


def _in_list(wanted: list[Any], live: object, path: Path, field: str) -> None:
    step, rest = path[0], path[1:]
    pairs = counterparts(wanted, live, field)
    chosen = _places(step, wanted, pairs)
    if rest:
        for place in chosen:
            if pairs[place] is not ABSENT:
                _walk(wanted[place], pairs[place], rest, field)
        return
    added = [item for item in live_only(wanted, live, field) if _takes_new(step, item)]
    kept = [
        deepcopy(pairs[place]) if place in chosen else item
        for place, item in enumerate(wanted)
        if not (place in chosen and pairs[place] is ABSENT)
    ]
    wanted[:] = kept + deepcopy(added)


def _places(step: Segment, wanted: list[Any], pairs: list[object]) -> list[int]:
    """Return the places of the wanted list that the step names; none beyond its end."""
    every = range(len(wanted))
    found: set[int] = set()
    for selector in step.selectors:
        match selector:
            case Wildcard():
                found.update(every)
            case Index(number) if -len(wanted) <= number < len(wanted):
                found.add(number % len(wanted))
            case Slice(start, stop, by):
                found.update(every[start:stop:by])
            case Filter():
                found.update(
                    place
                    for place in every
                    if selector.passes(wanted[place])
                    or (pairs[place] is not ABSENT and selector.passes(pairs[place]))
                )
    return sorted(found)


def _takes_new(step: Segment, item: object) -> bool:
    """Return whether a live item that nobody wants is named as a whole."""
    return any(
        isinstance(selector, Wildcard) or (isinstance(selector, Filter) and selector.passes(item))
        for selector in step.selectors
    )
