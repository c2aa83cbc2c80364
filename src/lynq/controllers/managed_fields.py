"""Which fields of an object are ours: our entries in its managedFields.

To the API server one manager is two, by what it has applied and by what it has otherwise written.
Both count: when their digest is another than our last write left it, somebody took a field from us.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Final

import msgspec

from lynq.api import Metadata
from lynq.api.metadata import ManagedFields
from lynq.api.names import FIELD_MANAGER

_DIGEST_BYTES: Final = 8


def updated_by_us(known: Metadata) -> bool:
    """Return whether we have created, merged or replaced fields of an object."""
    return any(each.operation == "Update" for each in _our_entries(known))


def written_by_others(known: Metadata) -> bool:
    """Return whether anybody else has a field of an object, its status aside."""
    return any(
        each.manager != FIELD_MANAGER and not each.subresource for each in known.managed_fields
    )


def _our_entries(known: Metadata) -> list[ManagedFields]:
    return [
        each
        for each in known.managed_fields
        if each.manager == FIELD_MANAGER and not each.subresource
    ]


def fields_of_ours(known: Metadata) -> dict[str, Any]:
    """Return the fields that we own, however we came to own them, as one tree."""
    return union(msgspec.json.decode(each.fields_v1) for each in _our_entries(known))


def union(trees: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return all the paths of these trees; a leaf is an empty one."""
    found: dict[str, Any] = {}
    for tree in trees:
        for key, below in tree.items():
            found[key] = union((found.get(key, {}), below))
    return found


def digest_of_ours(known: Metadata) -> bytes:
    """Return the digest of the fields that we own, however we came to own them."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    entries = _our_entries(known)
    for each in entries:
        digest.update(f"{each.operation} {each.api_version} ".encode())
        digest.update(bytes(each.fields_v1))
    return digest.digest() if entries else b""
