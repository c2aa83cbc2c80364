"""Merge patches of the ownership metadata of an object: orphan, adopt, restore, release."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from lynq.api import Metadata, OwnerReference
from lynq.api.names import (
    ANNOTATION_ADOPTED,
    ANNOTATION_NODE_NAME,
    ANNOTATION_ORPHANED_AT,
    ANNOTATION_ORPHANED_FROM,
    ANNOTATION_ORPHANED_REASON,
    ANNOTATION_TRACKING_ID,
    LABEL_NODE,
    LABEL_NODE_NAMESPACE,
    LABEL_ORPHANED,
    TRUE,
)
from lynq.api.reasons import OrphanReason
from lynq.api.wire import rfc3339
from lynq.core.node.objects import LiveObject, Owner
from lynq.core.node.ownership import ANNOTATIONS, LABELS, ORPHAN_ANNOTATIONS

Object = dict[str, Any]


def orphan_patch(
    references: Iterable[OwnerReference], owner: Owner, reason: OrphanReason, now: datetime
) -> Object:
    """Return the merge patch that releases an object and marks it as an orphan.

    `references` are those of the live object: only ours is removed. The label `lynq.sh/managed`
    stays, so that our watches still select the object when it is adopted again.
    """
    labels = {LABEL_ORPHANED: TRUE, LABEL_NODE: None, LABEL_NODE_NAMESPACE: None}
    annotations = {
        ANNOTATION_ORPHANED_AT: rfc3339(now.replace(microsecond=0)),
        ANNOTATION_ORPHANED_FROM: f"{owner.namespace}/{owner.name}",
        ANNOTATION_ORPHANED_REASON: str(reason),
        ANNOTATION_NODE_NAME: None,
        ANNOTATION_TRACKING_ID: None,
    }
    return {
        "metadata": {
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": owner_removal_patch(references, owner),
        }
    }


def owner_removal_patch(references: Iterable[OwnerReference], owner: Owner) -> list[Object] | None:
    """Return the owner references without ours, as the value of a merge patch."""
    others = (reference for reference in references if reference.uid != owner.uid)
    return [msgspec.to_builtins(reference) for reference in others] or None


def adoption_patch(obj: Object) -> Object:
    """Return the merge patch that writes an orphan and removes its orphan markers.

    It is one write: after the first of two, an owned object would still be marked as an orphan.
    """
    metadata = obj["metadata"]
    labels = {**metadata.get("labels", {}), LABEL_ORPHANED: None}
    annotations = {**metadata.get("annotations", {}), **dict.fromkeys(ORPHAN_ANNOTATIONS)}
    return {**obj, "metadata": {**metadata, "labels": labels, "annotations": annotations}}


def restore_metadata_patch(obj: Object, live: LiveObject, owner: Owner) -> Object:
    """Return the merge patch that restores our labels, annotations and owner reference only.

    `obj` has no applied-hash and apply-start-time: those of the first write stay.
    """
    desired = obj["metadata"]
    metadata = {key: desired[key] for key in ("name", "namespace") if key in desired}
    metadata["labels"] = _only(desired.get("labels", {}), LABELS)
    metadata["annotations"] = _only(desired.get("annotations", {}), ANNOTATIONS)
    # A merge patch replaces the whole list, which may contain other owners. An object with our
    # hash that is not owned by this node has none, or it would belong to another node.
    if "ownerReferences" in desired and owner.uid not in live.owner_uids:
        metadata["ownerReferences"] = desired["ownerReferences"]
    restored = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}
    return without_adopted(restored, live)


def labels_tie_patch(obj: Object, live: LiveObject, owner: Owner, metadata: Metadata) -> Object:
    """Return the merge patch that ties an object by our labels instead of our owner reference."""
    patch = restore_metadata_patch(obj, live, owner)
    references = owner_removal_patch(metadata.owner_references, owner)
    # Pinned, because a merge patch replaces the whole list.
    pinned = {"ownerReferences": references, "resourceVersion": metadata.resource_version}
    return {**patch, "metadata": {**patch["metadata"], **pinned}}


def without_adopted(patch: Object, live: LiveObject) -> Object:
    """Return the merge patch that also removes `lynq.sh/adopted`, unless it sets it."""
    metadata = patch["metadata"]
    annotations = metadata.get("annotations") or {}
    if ANNOTATION_ADOPTED not in live.annotations or ANNOTATION_ADOPTED in annotations:
        return patch
    annotations = {**annotations, ANNOTATION_ADOPTED: None}
    return {**patch, "metadata": {**metadata, "annotations": annotations}}


def _only(mapping: Object, keys: frozenset[str]) -> Object:
    return {key: value for key, value in mapping.items() if key in keys}


def marks_removal_patch(metadata: Metadata, owner: Owner) -> Object | None:
    """Return the merge patch that removes our labels, annotations and owner reference, or None."""
    labels = dict.fromkeys(LABELS & metadata.labels.keys())
    annotations = dict.fromkeys(ANNOTATIONS & metadata.annotations.keys())
    removed: Object = {}
    if labels:
        removed["labels"] = labels
    if annotations:
        removed["annotations"] = annotations
    if any(reference.uid == owner.uid for reference in metadata.owner_references):
        removed["ownerReferences"] = owner_removal_patch(metadata.owner_references, owner)
    if not removed:
        return None
    return {"metadata": {**removed, "resourceVersion": metadata.resource_version}}
