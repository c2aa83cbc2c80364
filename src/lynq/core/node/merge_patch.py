"""JSON merge patches (RFC 7386): the difference of two states, and the removal of fields."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

_METADATA: Final = "f:metadata"
_PATCHED_METADATA: Final = ("f:labels", "f:annotations")
"""Other metadata is shared with other managers: owner references, finalizers."""


def merge_patch(before: msgspec.Struct, after: msgspec.Struct) -> dict[str, Any]:
    """Return the smallest merge patch between two states; empty if they are equal."""
    return status_patch(_plain(before), _plain(after))


def status_patch(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the smallest merge patch between two JSON objects, which contain no null."""
    patch: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        previous = before.get(key)
        if isinstance(value, dict) and isinstance(previous, dict):
            if inner := status_patch(previous, value):
                patch[key] = inner
        elif previous != value:
            patch[key] = value
    return patch


def drop_removed_fields(obj: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object as a merge patch with null for each of `fields` that it does not contain.

    `fields` are the fields that we own, in the form of FieldsV1. List items need no null: a merge
    patch replaces the whole list.
    """
    body = {key: subtree for key, subtree in fields.items() if key != _METADATA}
    owned = fields.get(_METADATA, {})
    metadata = {key: owned[key] for key in _PATCHED_METADATA if key in owned}
    return _with_nulls(obj, {**body, _METADATA: metadata} if metadata else body)


def _with_nulls(obj: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    patch = dict(obj)
    for key, subtree in fields.items():
        kind, _, name = key.partition(":")
        if kind != "f":
            continue
        if name not in obj:
            patch[name] = None
        elif isinstance(obj[name], dict):
            patch[name] = _with_nulls(obj[name], subtree)
    return patch


def _plain(state: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(state)
    return plain
