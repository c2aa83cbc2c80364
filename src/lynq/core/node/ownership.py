"""Tie objects to their node, prove that they are tied, and let them go.

An owner reference ties what lies in the node's own namespace and may go with it. It cannot reach
other namespaces or cluster-scoped kinds, and would let the garbage collector take what is to be
retained; those carry two labels.

The marks by which Lynq knows its objects, which no form and no row can set.

A form may well use other `lynq.sh/` keys, `lynq.sh/uid` for one. Those below decide what is written
and what is deleted, so they mean something only if they come from us.
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
# Written by the API server alone; an apply that names managedFields is refused.
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


def merged_labels(own: Mapping[str, Any], rendered: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest's labels and the entry's, which win; every object is marked managed."""
    return {**_without({**own, **rendered}, LABELS), LABEL_MANAGED: TRUE}


def merged_annotations(own: Mapping[str, Any], rendered: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest's annotations and the entry's, which win."""
    return _without({**own, **rendered}, ANNOTATIONS)


def without_server_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata without what only the API server may say."""
    return _without(metadata, _SERVER_FIELDS)


def _without(these: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in these.items() if key not in keys}


Object = dict[str, Any]

_ORPHAN_ANNOTATIONS: Final = (ANNOTATION_ORPHANED_AT, ANNOTATION_ORPHANED_REASON)


def is_tracked_by_labels(ref: ObjectRef, owner: Owner, policy: DeletionPolicy) -> bool:
    """Return whether labels tie the object to its node, and not an owner reference."""
    return policy is DeletionPolicy.RETAIN or ref.namespace != owner.namespace


def with_ownership(obj: Object, ref: ObjectRef, owner: Owner, policy: DeletionPolicy) -> Object:
    """Return the object tied to its node."""
    metadata = obj["metadata"]
    if not is_tracked_by_labels(ref, owner, policy):
        references = [*(metadata.get("ownerReferences") or ()), _reference(owner)]
        return {**obj, "metadata": {**metadata, "ownerReferences": references}}
    label = tracking_label(owner.name)
    labels = {LABEL_NODE: label, LABEL_NODE_NAMESPACE: owner.namespace}
    marks: Object = {"labels": {**metadata.get("labels", {}), **labels}}
    if label != owner.name:
        full = {ANNOTATION_NODE_NAME: owner.name}
        marks["annotations"] = {**metadata.get("annotations", {}), **full}
    return {**obj, "metadata": {**metadata, **marks}}


def is_owned_by(live: LiveObject, owner: Owner) -> bool:
    """Return whether the object provably belongs to this node; only then may it be deleted."""
    if owner.uid and owner.uid in live.owners:
        return True
    label = live.labels.get(LABEL_NODE)
    if not label or live.labels.get(LABEL_NODE_NAMESPACE) != owner.namespace:
        return False
    # A label of a long name proves nothing alone: a short name can be chosen to look like it.
    return tracked_name(label, live.annotations.get(ANNOTATION_NODE_NAME)) == owner.name


def is_owned_by_another_node(live: LiveObject, owner: Owner) -> bool:
    """Return whether the object belongs to another node.

    All nodes write as one field manager, so the API server would report no conflict between two
    of them, and they would overwrite each other for ever.
    """
    if is_owned_by(live, owner) or is_orphan(live):
        return False
    # One label without the other is what is left when somebody took one off: that is healed.
    if LABEL_NODE in live.labels and LABEL_NODE_NAMESPACE in live.labels:
        return True
    written = LABEL_MANAGED in live.labels or ANNOTATION_APPLIED_HASH in live.annotations
    return written and bool(live.owners)


def is_orphan(live: LiveObject) -> bool:
    """Return whether the object was retained when it was no longer wanted."""
    return live.labels.get(LABEL_ORPHANED) == TRUE or any(
        key in live.annotations for key in _ORPHAN_ANNOTATIONS
    )


def orphan_patch(
    references: Iterable[OwnerReference], owner: Owner, reason: OrphanReason, now: datetime
) -> Object:
    """Return the merge patch that lets an object go and marks it as an orphan.

    `references` are those of the live object: only ours is taken off. The label
    `lynq.sh/managed` stays, or our watches would not show the object when it is wanted again.
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
    """Return owner references as a merge patch needs them to take ours off."""
    return [msgspec.to_builtins(this) for this in references if this.uid != owner.uid] or None


def adoption_patch(obj: Object) -> Object:
    """Return the merge patch that writes an orphan anew and takes its marks off, in one write.

    Two writes could be torn: an object of ours that still says it is nobody's.
    """
    metadata = obj["metadata"]
    labels = {**metadata.get("labels", {}), LABEL_ORPHANED: None}
    annotations = {**metadata.get("annotations", {}), **dict.fromkeys(_ORPHAN_ANNOTATIONS)}
    return {**obj, "metadata": {**metadata, "labels": labels, "annotations": annotations}}


def restore_metadata_patch(obj: Object, live: LiveObject, owner: Owner) -> Object:
    """Return the merge patch that gives an object its marks and ties back, and nothing else.

    `obj` comes without stamps: hash and clock stay those of the write that made the object.
    """
    known = obj["metadata"]
    metadata = {key: known[key] for key in ("name", "namespace") if key in known}
    metadata["labels"] = _only(known.get("labels", {}), LABELS)
    metadata["annotations"] = _only(known.get("annotations", {}), ANNOTATIONS)
    # A merge replaces the list, and others may own the object beside us. Of one that carries our
    # hash and is not tied to us nobody does, or it would be another node's.
    if "ownerReferences" in known and not is_owned_by(live, owner):
        metadata["ownerReferences"] = known["ownerReferences"]
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}


def _only(these: Object, keys: frozenset[str]) -> Object:
    return {key: value for key, value in these.items() if key in keys}


def _reference(owner: Owner) -> Object:
    return {
        "apiVersion": API_VERSION,
        "kind": LynqNode.definition.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
