"""Which fields of a live object belong to our field manager, by its managedFields.

The API server keeps two entries for one manager: one for the fields that were applied, and one for
the fields that were created, merged or replaced (operation Update). Both are ours. A digest of both
entries that differs from the one after our last write means that another manager took a field.
Ignored fields are ours as well, because our writes contain their live values. They are left out of
the digest of a resource with ignoreFields.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Final

import msgspec

from lynq.api import Metadata
from lynq.api.metadata import ManagedFields
from lynq.api.names import FIELD_MANAGER
from lynq.api.nesting import depth_checked
from lynq.core.node.ignore_fields.select import FieldsTree, subtract_fields
from lynq.core.node.ownership import ANNOTATIONS, LABELS

_DIGEST_BYTES: Final = 8


def has_update_entry(metadata: Metadata) -> bool:
    """Return whether we own fields by operation Update."""
    return any(entry.operation == "Update" for entry in _own_entries(metadata))


def has_other_managers(metadata: Metadata) -> bool:
    """Return whether another manager owns a field outside of subresources."""
    return any(
        entry.manager != FIELD_MANAGER and not entry.subresource
        for entry in metadata.managed_fields
    )


def owned_fields(metadata: Metadata) -> dict[str, Any]:
    """Return the fields that we own, by Apply or by Update, as one tree in the form of FieldsV1."""
    return _union(
        msgspec.json.decode(depth_checked(entry.fields_v1)) for entry in _own_entries(metadata)
    )


def owned_fields_digest(metadata: Metadata) -> bytes:
    """Return the digest of our entries; empty if there are none."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    entries = _own_entries(metadata)
    for entry in entries:
        digest.update(f"{entry.operation} {entry.api_version} ".encode())
        digest.update(bytes(entry.fields_v1))
    return digest.digest() if entries else b""


def unignored_fields_digest(metadata: Metadata, ignored: FieldsTree) -> bytes:
    """Return the digest of our entries without ignored fields; empty if there are no entries.

    Our labels and annotations are never ignored.
    """
    digest = blake2b(digest_size=_DIGEST_BYTES)
    entries = _own_entries(metadata)
    for entry in entries:
        fields = msgspec.json.decode(depth_checked(entry.fields_v1), type=dict[str, Any])
        kept = _union((subtract_fields(fields, ignored), _marks(fields)))
        digest.update(f"{entry.operation} {entry.api_version} ".encode())
        digest.update(msgspec.json.encode(kept, order="sorted"))
    return digest.digest() if entries else b""


def _marks(fields: FieldsTree) -> FieldsTree:
    """Return those of the fields that are our labels and annotations."""
    metadata = fields.get("f:metadata", {})
    kinds = (("f:labels", LABELS), ("f:annotations", ANNOTATIONS))
    marks: FieldsTree = {
        kind: {name: {} for name in metadata.get(kind, {}) if name.removeprefix("f:") in keys}
        for kind, keys in kinds
    }
    return {"f:metadata": marks}


def migration_patch(metadata: Metadata) -> dict[str, Any] | None:
    """Return the merge patch that turns our Update entries into Apply entries, or None.

    An apply over fields that we own by Update would conflict with ourselves, and a field that
    leaves the manifest would stay. The resourceVersion guards the list, which is written as a
    whole. (client-go has the same as csaupgrade.)
    """
    if not has_update_entry(metadata):
        return None
    entries = _migrated_entries(metadata)
    return {"metadata": {"managedFields": entries, "resourceVersion": metadata.resource_version}}


def _migrated_entries(metadata: Metadata) -> list[dict[str, Any]]:
    # Decoded from JSON, because fields_v1 is raw JSON in the struct.
    text = msgspec.json.encode(metadata.managed_fields)
    decoded = msgspec.json.decode(text, type=list[dict[str, Any]])
    entries = [{**entry, "fieldsType": "FieldsV1"} for entry in decoded]
    applied: dict[str, dict[str, Any]] = {}
    for entry in filter(_is_own, entries):
        version = entry["apiVersion"]
        fields = _union((applied.get(version, {}).get("fieldsV1", {}), entry["fieldsV1"]))
        applied[version] = {**entry, "operation": "Apply", "fieldsV1": fields}
    return [*applied.values(), *(entry for entry in entries if not _is_own(entry))]


def _is_own(entry: dict[str, Any]) -> bool:
    return entry["manager"] == FIELD_MANAGER and not entry.get("subresource")


def _own_entries(metadata: Metadata) -> list[ManagedFields]:
    return [
        entry
        for entry in metadata.managed_fields
        if entry.manager == FIELD_MANAGER and not entry.subresource
    ]


def _union(trees: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return all paths of the trees; a leaf is an empty dict."""
    union: dict[str, Any] = {}
    for tree in trees:
        for key, subtree in tree.items():
            union[key] = _union((union.get(key, {}), subtree))
    return union
