"""Which item of a live list is which of the wanted one.

Other controllers put items of their own in front or between. Where items have a key that tells
them apart, as in a pod's containers, the key counts; elsewhere only the position is left.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, TypeAlias

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
