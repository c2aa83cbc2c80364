"""Ownership of objects: how an object is tied to its node, and which node it belongs to.

An owner reference ties an object in the node's own namespace that is deleted with the node. It
cannot reach other namespaces or cluster-scoped kinds, and the garbage collector would delete an
object that is to be retained, that existed before, or that `lynq.sh/protect` keeps: a deletion in
the foreground waits for no finalizer. Such objects are tracked by two labels, and by the annotation
`lynq.sh/tracking-id`. The labels are for queries and can be copied and edited.
The tracking id is the proof: it holds the uid of the node and the place of the object, so a copy or
a restore in another namespace does not fit it. Objects that an older version wrote have none until
their next write; their proof is that the status of the node lists them.

The labels and annotations below decide what is written and deleted, so a form or a row cannot set
them. A form may use other `lynq.sh/` keys, for example `lynq.sh/uid`.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from lynq.api import DeletionPolicy, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.names import (
    ANNOTATION_ADOPTED,
    ANNOTATION_APPLIED_HASH,
    ANNOTATION_APPLY_START_TIME,
    ANNOTATION_CREATED_ONCE,
    ANNOTATION_DELETION_POLICY,
    ANNOTATION_NODE_NAME,
    ANNOTATION_ORPHANED_AT,
    ANNOTATION_ORPHANED_FROM,
    ANNOTATION_ORPHANED_REASON,
    ANNOTATION_TRACKING_ID,
    API_VERSION,
    LABEL_BUCKET,
    LABEL_MANAGED,
    LABEL_NODE,
    LABEL_NODE_NAMESPACE,
    LABEL_ORPHANED,
    TRUE,
)
from lynq.api.naming import bucket_label, tracked_name, tracking_label
from lynq.api.text import printable
from lynq.core.node.objects import AppliedRecord, LiveObject, ObjectRef, Owner, ref_of

LABELS: Final = frozenset(
    {LABEL_BUCKET, LABEL_MANAGED, LABEL_NODE, LABEL_NODE_NAMESPACE, LABEL_ORPHANED}
)
ANNOTATIONS: Final = frozenset(
    {
        ANNOTATION_ADOPTED,
        ANNOTATION_APPLIED_HASH,
        ANNOTATION_APPLY_START_TIME,
        ANNOTATION_CREATED_ONCE,
        ANNOTATION_DELETION_POLICY,
        ANNOTATION_NODE_NAME,
        ANNOTATION_ORPHANED_AT,
        ANNOTATION_ORPHANED_FROM,
        ANNOTATION_ORPHANED_REASON,
        ANNOTATION_TRACKING_ID,
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

ORPHAN_ANNOTATIONS: Final = (
    ANNOTATION_ORPHANED_AT,
    ANNOTATION_ORPHANED_FROM,
    ANNOTATION_ORPHANED_REASON,
)

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


def tracking_id(ref: ObjectRef, owner: Owner) -> str:
    """Return the proof that the object at this place belongs to this node."""
    return f"{owner.uid}:{_place(ref)}"


def _place(ref: ObjectRef) -> str:
    return f"{ref.group}/{ref.kind}:{ref.namespace}/{ref.name}"


def is_tracked_by_labels(
    ref: ObjectRef, owner: Owner, policy: DeletionPolicy, *, is_adopted: bool = False
) -> bool:
    """Return whether the object is tied to its node by labels, and not by an owner reference."""
    is_kept = is_adopted or owner.is_protected or policy is DeletionPolicy.RETAIN
    return is_kept or ref.namespace != owner.namespace


def with_ownership(
    obj: Object, ref: ObjectRef, owner: Owner, policy: DeletionPolicy, *, is_adopted: bool = False
) -> Object:
    """Return the object tied to its node."""
    bucket = {LABEL_BUCKET: bucket_label(owner.namespace, owner.name)}
    metadata = {**obj["metadata"], "labels": {**(obj["metadata"].get("labels") or {}), **bucket}}
    if not is_tracked_by_labels(ref, owner, policy, is_adopted=is_adopted):
        references = [*(metadata.get("ownerReferences") or ()), _owner_reference(owner)]
        return {**obj, "metadata": {**metadata, "ownerReferences": references}}
    label = tracking_label(owner.name)
    labels = {LABEL_NODE: label, LABEL_NODE_NAMESPACE: owner.namespace}
    annotations = {ANNOTATION_TRACKING_ID: tracking_id(ref, owner)}
    if label != owner.name:
        annotations[ANNOTATION_NODE_NAME] = owner.name
    tracking: Object = {
        "labels": {**metadata["labels"], **labels},
        "annotations": {**metadata.get("annotations", {}), **annotations},
    }
    return {**obj, "metadata": {**metadata, **tracking}}


def is_owned_by(live: LiveObject, ref: ObjectRef, owner: Owner, *, is_listed: bool) -> bool:
    """Return whether the object provably belongs to this node; only then it may be deleted.

    `is_listed` is whether the status of the node lists the object.
    """
    if not owner.uid:
        return False
    # An owner reference reaches its own namespace only: elsewhere it is that of a copy.
    if owner.uid in live.owner_uids and ref.namespace == owner.namespace:
        return True
    if proof := live.annotations.get(ANNOTATION_TRACKING_ID):
        return proof == tracking_id(ref, owner)
    return is_listed and _node_of(live) == (owner.namespace, owner.name)


def is_takeover(live: LiveObject, ref: ObjectRef, owner: Owner, record: AppliedRecord) -> bool:
    """Return whether an object that no node claims was written for this node before.

    Its ties were removed or edited, or they are those of a deleted node of the same name. It is
    written again, and until then it is not deleted.
    """
    if _node_of(live) == (owner.namespace, owner.name) and not is_copy(live, ref):
        return True
    return record.was_applied and bool(live.digest)


def is_copy(live: LiveObject, ref: ObjectRef) -> bool:
    """Return whether the tracking id belongs to another place: then the ties prove nothing."""
    proof = live.annotations.get(ANNOTATION_TRACKING_ID)
    return bool(proof) and _proven_uid(live, ref) is None


def _proven_uid(live: LiveObject, ref: ObjectRef) -> str | None:
    """Return the uid of the node in the tracking id, if it belongs to this place."""
    uid, _, place = live.annotations.get(ANNOTATION_TRACKING_ID, "").partition(":")
    return uid if uid and place == _place(ref) else None


def _node_of(live: LiveObject) -> tuple[str, str] | None:
    """Return namespace and name of the node in the labels."""
    label, namespace = live.labels.get(LABEL_NODE), live.labels.get(LABEL_NODE_NAMESPACE)
    if not label or not namespace:
        return None
    # The label of a long name is a hash, which alone proves nothing: a short name can equal it.
    return namespace, tracked_name(label, live.annotations.get(ANNOTATION_NODE_NAME))


class Nodes(Protocol):
    """The nodes that exist, as far as the operator watches them."""

    def covers(self, namespace: str) -> bool:
        """Return whether the nodes of a namespace are watched."""

    def key_by_uid(self, uid: str) -> ObjectKey | None:
        """Return the key of the node with this uid."""

    def by_key(self, key: ObjectKey) -> LynqNode | None:
        """Return the node with this namespace and name."""


UNNAMED_NODE: Final = "another LynqNode"


class PossibleOwners(NamedTuple):
    """The nodes that an object may belong to."""

    uids: tuple[str, ...]
    """Of the tracking id, and of the owner references; not all of these are nodes."""
    key: ObjectKey | None
    """The node in the labels."""


def possible_owners(live: LiveObject, ref: ObjectRef, owner: Owner) -> PossibleOwners | None:
    """Return the nodes that the object may belong to; None if it is an orphan or the owner's."""
    # Labels prove nothing against the owner reference of another node.
    if is_orphan(live) or is_owned_by(live, ref, owner, is_listed=False):
        return None
    proven = _proven_uid(live, ref)
    node = None if is_copy(live, ref) else _node_of(live)
    return PossibleOwners(
        (*((proven,) if proven else ()), *live.owner_uids), ObjectKey(*node) if node else None
    )


def is_lost(live: LiveObject, ref: ObjectRef, owner: Owner) -> bool:
    """Return whether an object that belonged to this node is an orphan, or has another owner.

    An object without any tie is not lost: the garbage collector may have removed the reference.
    """
    possible = possible_owners(live, ref, owner)
    if possible is None:
        return is_orphan(live)
    own = ObjectKey(owner.namespace, owner.name)
    return bool(possible.uids) or possible.key not in {None, own}


def claimant_of(
    live: LiveObject, ref: ObjectRef, owner: Owner, record: AppliedRecord, nodes: Nodes
) -> str:
    """Return the other node that the object belongs to, for messages; "" if there is none.

    All nodes share one field manager, so the API server reports no conflict between two nodes, and
    they would overwrite each other in a loop.
    """
    possible = possible_owners(live, ref, owner)
    if possible is None:
        return ""
    if proven := next(filter(None, map(nodes.key_by_uid, possible.uids)), None):
        return _named(proven, owner)
    key = possible.key
    if key is None:
        was_written = LABEL_MANAGED in live.labels or ANNOTATION_APPLIED_HASH in live.annotations
        return UNNAMED_NODE if was_written and live.owner_uids else ""
    # Labels that were edited on an object of this node name a node that does not list it.
    is_edited = record.was_applied and bool(live.digest) and nodes.covers(key.namespace)
    is_own = key == (owner.namespace, owner.name)
    if is_own or (is_edited and not _lists(nodes.by_key(key), ref)):
        return ""
    return _named(key, owner)


def _named(key: ObjectKey, owner: Owner) -> str:
    name = key.name if key.namespace == owner.namespace else str(key)
    return f'LynqNode "{printable(name)}"'


def _lists(node: LynqNode | None, ref: ObjectRef) -> bool:
    """Return whether the status of a node may list an object."""
    if node is None:
        return False
    entries = node.status.resources
    # The Go operator's status has no entries.
    is_unknown = not entries and bool(node.status.applied_resources)
    return is_unknown or any(ref_of(entry).identity == ref.identity for entry in entries)


def has_lost_ties(live: LiveObject, desired: Object, ref: ObjectRef, owner: Owner) -> bool:
    """Return whether the ties of the object differ from those of the desired object.

    A missing tracking id or bucket is no loss: the next write adds it.
    """
    if not is_owned_by(live, ref, owner, is_listed=True):
        return True
    metadata = desired["metadata"]
    labels, annotations = metadata.get("labels", {}), metadata.get("annotations", {})
    # The label is part of the ownership: our watches select by it.
    ties = (LABEL_MANAGED, LABEL_NODE, LABEL_NODE_NAMESPACE)
    if any(key in labels and live.labels.get(key) != labels[key] for key in ties):
        return True
    proof = live.annotations.get(ANNOTATION_TRACKING_ID)
    if proof and proof != annotations.get(ANNOTATION_TRACKING_ID, proof):
        return True
    adopted: str | None = annotations.get(ANNOTATION_ADOPTED)
    return live.annotations.get(ANNOTATION_ADOPTED) != adopted


def has_other_bucket(live: LiveObject, desired: Object) -> bool:
    """Return whether the bucket is missing or edited, so that another shard receives the object."""
    bucket: str = desired["metadata"]["labels"][LABEL_BUCKET]
    return live.labels.get(LABEL_BUCKET) != bucket


def has_surplus_reference(live: LiveObject, desired: Object, owner: Owner) -> bool:
    """Return whether the live object has our owner reference, and the desired one has not."""
    references = desired["metadata"].get("ownerReferences", ())
    is_desired = any(reference["uid"] == owner.uid for reference in references)
    return owner.uid in live.owner_uids and not is_desired


def is_orphan(live: LiveObject) -> bool:
    """Return whether the object was retained when it was no longer desired."""
    # An earlier version adopts an object without removing the node that it was retained from.
    marks = (ANNOTATION_ORPHANED_AT, ANNOTATION_ORPHANED_REASON)
    return live.labels.get(LABEL_ORPHANED) == TRUE or any(key in live.annotations for key in marks)


def _owner_reference(owner: Owner) -> Object:
    return {
        "apiVersion": API_VERSION,
        "kind": LynqNode.definition.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
