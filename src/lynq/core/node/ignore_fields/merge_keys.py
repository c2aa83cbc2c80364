"""Merge keys: the fields that identify an item of a list, as in the built-in kinds."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

MergeKey: TypeAlias = tuple[tuple[str, str | int], ...]
"""Names and values of the fields that identify an item, in the order of the names."""

_KeyOf: TypeAlias = Callable[[Mapping[str, Any]], MergeKey | None]

# By the key of the list; all other lists are keyed by name.
_MERGE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "conditions": ("type",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
}


def merge_keys(items: Sequence[object], field: str) -> list[MergeKey] | None:
    """Return the keys of the items, if every item has one and they are unique.

    `field` is the key of the list in its object.
    """
    key_of = _port if field == "ports" else _by(_MERGE_KEYS.get(field, ("name",)))
    keys: list[MergeKey] = []
    for item in items:
        key = key_of(item) if isinstance(item, Mapping) else None
        if key is None:
            return None
        keys.append(key)
    return keys if len(set(keys)) == len(keys) else None


def _by(names: tuple[str, ...]) -> _KeyOf:
    def key_of(item: Mapping[str, Any]) -> MergeKey | None:
        values = [(name, item.get(name)) for name in names]
        key = tuple((name, value) for name, value in values if isinstance(value, str))
        return key if len(key) == len(names) else None

    return key_of


def _port(item: Mapping[str, Any]) -> MergeKey | None:
    """Return the key of a container's or Service's port; the API server defaults to TCP."""
    name = "containerPort" if "containerPort" in item else "port"
    number, protocol = item.get(name), item.get("protocol") or "TCP"
    if isinstance(number, int) and isinstance(protocol, str):
        return (name, number), ("protocol", protocol)
    return None
