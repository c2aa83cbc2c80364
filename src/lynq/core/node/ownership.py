"""Ownership of objects: how an object is tied to its node, recognized, adopted and orphaned.

An owner reference ties an object in the node's own namespace that is deleted with the node. It
cannot reach other namespaces or cluster-scoped kinds, and the garbage collector would delete an
object that is to be retained. Such objects are tracked by two labels.

The labels and annotations below decide what is written and deleted, so a form or a row cannot set
them. A form may use other `lynq.sh/` keys, for example `lynq.sh/uid`.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from lynq.api import DeletionPolicy, LynqNode, OwnerReference
from lynq.api.names import (
    ANNOTATION_APPLIED_HASH,
    ANNOTATION_APPLY_START_TIME,
    ANNOTATION_CREATED_ONCE,
    ANNOTATION_DELETION_POLICY,
    ANNOTATION_NODE_NAME,
    ANNOTATION_ORPHANED_AT,
    ANNOTATION_ORPHANED_REASON,
    API_VERSION,
    LABEL_MANAGED,
    LABEL_NODE,
    LABEL_NODE_NAMESPACE,
    LABEL_ORPHANED,
    TRUE,
)
from lynq.api.naming import tracked_name, tracking_label
from lynq.api.reasons import OrphanReason
from lynq.api.wire import rfc3339
from lynq.core.node.objects import LiveObject, ObjectRef, Owner

LABELS: Final = frozenset({LABEL_MANAGED, LABEL_NODE, LABEL_NODE_NAMESPACE, LABEL_ORPHANED})
ANNOTATIONS: Final = frozenset(
    {
        ANNOTATION_APPLIED_HASH,
        ANNOTATION_APPLY_START_TIME,
        ANNOTATION_CREATED_ONCE,
        ANNOTATION_DELETION_POLICY,
        ANNOTATION_NODE_NAME,
        ANNOTATION_ORPHANED_AT,
        ANNOTATION_ORPHANED_REASON,
    }
)
_SERVER_FIELDS: Final = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generateName",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
"""Metadata that only the API server sets; it rejects an apply with managedFields."""

_ORPHAN_ANNOTATIONS: Final = (ANNOTATION_ORPHANED_AT, ANNOTATION_ORPHANED_REASON)

Object = dict[str, Any]


def merged_labels(manifest: Mapping[str, Any], entry: Mapping[str, str]) -> dict[str, Any]:
    """Return the labels of manifest and entry, which wins, with the label managed."""
    return {**_without({**manifest, **entry}, LABELS), LABEL_MANAGED: TRUE}


def merged_annotations(manifest: Mapping[str, Any], entry: Mapping[str, str]) -> dict[str, Any]:
    """Return the annotations of manifest and entry, which wins."""
    return _without({**manifest, **entry}, ANNOTATIONS)


def without_server_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata without the fields that only the API server sets."""
    return _without(metadata, _SERVER_FIELDS)


def _without(mapping: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in keys}


def is_tracked_by_labels(ref: ObjectRef, owner: Owner, policy: DeletionPolicy) -> bool:
    """Return whether the object is tied to its node by labels, and not by an owner reference."""
    return policy is DeletionPolicy.RETAIN or ref.namespace != owner.namespace


def with_ownership(obj: Object, ref: ObjectRef, owner: Owner, policy: DeletionPolicy) -> Object:
    """Return the object tied to its node."""
    metadata = obj["metadata"]
    if not is_tracked_by_labels(ref, owner, policy):
        references = [*(metadata.get("ownerReferences") or ()), _owner_reference(owner)]
        return {**obj, "metadata": {**metadata, "ownerReferences": references}}
    label = tracking_label(owner.name)
    labels = {LABEL_NODE: label, LABEL_NODE_NAMESPACE: owner.namespace}
    tracking: Object = {"labels": {**metadata.get("labels", {}), **labels}}
    if label != owner.name:
        full_name = {ANNOTATION_NODE_NAME: owner.name}
        tracking["annotations"] = {**metadata.get("annotations", {}), **full_name}
    return {**obj, "metadata": {**metadata, **tracking}}


def is_owned_by(live: LiveObject, owner: Owner) -> bool:
    """Return whether the object provably belongs to this node; only then it may be deleted."""
    if owner.uid and owner.uid in live.owner_uids:
        return True
    label = live.labels.get(LABEL_NODE)
    if not label or live.labels.get(LABEL_NODE_NAMESPACE) != owner.namespace:
        return False
    # The label of a long name is a hash, which alone proves nothing: a short name can equal it.
    return tracked_name(label, live.annotations.get(ANNOTATION_NODE_NAME)) == owner.name


def is_owned_by_another_node(live: LiveObject, owner: Owner) -> bool:
    """Return whether the object belongs to another node.

    All nodes share one field manager, so the API server reports no conflict between two nodes, and
    they would overwrite each other in a loop.
    """
    if is_owned_by(live, owner) or is_orphan(live):
        return False
    # One label without the other is drift, and is restored.
    if LABEL_NODE in live.labels and LABEL_NODE_NAMESPACE in live.labels:
        return True
    was_written = LABEL_MANAGED in live.labels or ANNOTATION_APPLIED_HASH in live.annotations
    return was_written and bool(live.owner_uids)


def is_orphan(live: LiveObject) -> bool:
    """Return whether the object was retained when it was no longer desired."""
    return live.labels.get(LABEL_ORPHANED) == TRUE or any(
        key in live.annotations for key in _ORPHAN_ANNOTATIONS
    )


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
        ANNOTATION_ORPHANED_REASON: str(reason),
        ANNOTATION_NODE_NAME: None,
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
    annotations = {**metadata.get("annotations", {}), **dict.fromkeys(_ORPHAN_ANNOTATIONS)}
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
    if "ownerReferences" in desired and not is_owned_by(live, owner):
        metadata["ownerReferences"] = desired["ownerReferences"]
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}


def _only(mapping: Object, keys: frozenset[str]) -> Object:
    return {key: value for key, value in mapping.items() if key in keys}


def _owner_reference(owner: Owner) -> Object:
    return {
        "apiVersion": API_VERSION,
        "kind": LynqNode.definition.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
