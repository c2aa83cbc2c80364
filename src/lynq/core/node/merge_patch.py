"""The smallest merge patch (RFC 7386) from one state to another.

Take away by a merge patch what a manifest no longer says, as an apply would.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec


def merge_patch(before: msgspec.Struct, after: msgspec.Struct) -> dict[str, Any]:
    """Return what has to be sent; nothing if both are equal."""
    return status_patch(_plain(before), _plain(after))


def status_patch(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the patch between two JSON objects; null in one of them is not meant."""
    patch: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        known = before.get(key)
        if isinstance(value, dict) and isinstance(known, dict):
            if inner := status_patch(known, value):
                patch[key] = inner
        elif key not in before or known != value:
            patch[key] = value
    return patch


def _plain(state: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(state)
    return plain


_METADATA: Final = "f:metadata"
_MARKS: Final = ("f:labels", "f:annotations")
"""All else in metadata is others' as well: owners, finalizers."""


def drop_removed_fields(obj: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object as a merge patch that empties what of `fields` it has not.

    `fields` are those that we own, in the form of managedFields. What lies in lists needs nothing:
    a merge patch replaces them as a whole.
    """
    body = {key: below for key, below in fields.items() if key != _METADATA}
    known = fields.get(_METADATA, {})
    marks = {key: known[key] for key in _MARKS if key in known}
    return _emptied(obj, {**body, _METADATA: marks} if marks else body)


def _emptied(obj: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    patch = dict(obj)
    for key, below in fields.items():
        kind, _, name = key.partition(":")
        if kind != "f":
            continue
        if name not in obj:
            patch[name] = None
        elif isinstance(obj[name], dict):
            patch[name] = _emptied(obj[name], below)
    return patch
