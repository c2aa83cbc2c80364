"""The fields in which a live object differs from the desired one, and who owns them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lynq.api.masking import Mask
from lynq.api.names import FIELD_MANAGER
from lynq.core.plan.fields import FieldChange, field_changes, masked_fields

_BRACKET: Final = re.compile(r"\[([^\]]*)(?:\]|\Z)")
_LIST_KEYS: Final = ("k:", "v:", "i:")


@dataclass(frozen=True, slots=True)
class FieldDrift:
    """One field that the next write changes."""

    change: FieldChange
    managers: tuple[str, ...] = ()
    """The managers that own the live value, without the operator."""


def field_drifts(
    live: Mapping[str, Any] | None, written: Mapping[str, Any], masks: Sequence[Mask] = ()
) -> tuple[FieldDrift, ...]:
    """Return the fields that differ between the live object and what a write would make of it.

    Labels and annotations of Lynq do not count. Values of Secrets are hidden, and values that the
    masks know.
    """
    owners = _owners(live or {})
    return tuple(
        FieldDrift(change, _managers(change.path, owners))
        for change in masked_fields(field_changes(live, written), masks)
        if not change.is_bookkeeping
    )


def field_paths(tree: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths of a tree of managed fields; items of lists are [], as keys hold values."""
    for key, inside in tree.items():
        if key == ".":
            continue
        name = key.removeprefix("f:")
        named = f"{path}.{name}" if path else name
        longer = f"{path}[]" if key.startswith(_LIST_KEYS) else named
        deeper = {each: value for each, value in inside.items() if each != "."}
        if deeper:
            yield from field_paths(deeper, longer)
        else:
            yield longer


def _owners(live: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return the managers by field path."""
    owners: dict[str, set[str]] = {}
    for entry in live.get("metadata", {}).get("managedFields") or ():
        manager = entry.get("manager", "")
        if manager == FIELD_MANAGER or entry.get("subresource"):
            continue
        for path in field_paths(entry.get("fieldsV1") or {}):
            owners.setdefault(path, set()).add(manager)
    return owners


def _managers(path: str, owners: Mapping[str, set[str]]) -> tuple[str, ...]:
    wanted = _BRACKET.sub(_as_owned, path)
    managers = {
        manager
        for owned, names in owners.items()
        if owned == wanted or owned.startswith((f"{wanted}.", f"{wanted}["))
        for manager in names
    }
    return tuple(sorted(managers))


def _as_owned(bracket: re.Match[str]) -> str:
    """Return an item of a list or a key in brackets as the paths of managed fields have it."""
    inside = bracket[1]
    is_item = not inside or inside.startswith("name=") or inside.isdecimal()
    return "[]" if is_item else f".{inside}"
