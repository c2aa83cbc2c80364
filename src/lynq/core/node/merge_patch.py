"""The smallest merge patch (RFC 7386) from one state to another."""

from typing import Any

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
