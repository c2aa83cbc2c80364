"""Copy the live values of ignored fields into the wanted object, element by element.

A field that is not there live is taken out of the wanted object too: whoever owns it has removed
it. To leave all ignored fields out would not do, as the API server would take that for their
removal. An item of a list that is not live yet is created with all that the manifest says.

Which item of a live list is which of the wanted one.

Other controllers put items of their own in front or between. Where items have a key that tells
them apart, as in a pod's containers, the key counts; elsewhere only the position is left.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, TypeAlias

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

ABSENT: Final = object()
"""Stands for the counterpart that is not there; null is a value."""

_KeyOf: TypeAlias = Callable[[Mapping[str, Any]], Hashable]

# The merge keys of the built-in kinds, by the list's own key; all others go by name.
_MERGE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "conditions": ("type",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
}


def counterparts(wanted: Sequence[object], live: object, field: str) -> list[object]:
    """Return for each wanted item its live one, or ABSENT; `field` is the list's key."""
    items = live if isinstance(live, list) else []
    by_key = _keyed(items, field)
    keys = _keys(wanted, field)
    if by_key is None or keys is None:
        return [items[place] if place < len(items) else ABSENT for place in range(len(wanted))]
    return [by_key.get(key, ABSENT) for key in keys]


def live_only(wanted: Sequence[object], live: object, field: str) -> list[object]:
    """Return the live items that no wanted one stands for, in their order."""
    items = live if isinstance(live, list) else []
    by_key = _keyed(items, field)
    keys = _keys(wanted, field)
    if by_key is None or keys is None:
        return items[len(wanted) :]
    return [item for key, item in by_key.items() if key not in set(keys)]


def _keyed(items: Sequence[object], field: str) -> dict[Hashable, object] | None:
    keys = _keys(items, field)
    return None if keys is None else dict(zip(keys, items, strict=True))


def _keys(items: Sequence[object], field: str) -> list[Hashable] | None:
    """Return the items' keys, if each has one and no two the same."""
    key_of = _port if field == "ports" else _by(_MERGE_KEYS.get(field, ("name",)))
    keys: list[Hashable] = []
    for item in items:
        key = key_of(item) if isinstance(item, Mapping) else None
        if key is None:
            return None
        keys.append(key)
    return keys if len(set(keys)) == len(keys) else None


def _by(names: tuple[str, ...]) -> _KeyOf:
    def key_of(item: Mapping[str, Any]) -> Hashable:
        values = tuple(item.get(name) for name in names)
        return values if all(isinstance(value, str) for value in values) else None

    return key_of


def _port(item: Mapping[str, Any]) -> Hashable:
    """Return the key of a container's or a Service's port; the API server fills in TCP."""
    number = item.get("containerPort", item.get("port"))
    protocol = item.get("protocol") or "TCP"
    return (number, protocol) if isinstance(number, int) and isinstance(protocol, str) else None


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
        for key in _selected_keys(selector, wanted, live):
            if rest:
                _enter(wanted, live, key, rest, may_create=isinstance(selector, Name))
            elif key in live:
                wanted[key] = deepcopy(live[key])
            else:
                wanted.pop(key, None)


def _selected_keys(selector: Selector, wanted: dict[str, Any], live: dict[str, Any]) -> list[str]:
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
