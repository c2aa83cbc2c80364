"""What the metadata of a hub, form or node says: its state, its hub, its form, its row.

Two rules decide the hub of a node. The label `lynq.sh/hub` is what users and selectors see, and it
can be edited by hand. Owner references are what the garbage collector goes by. Each rule has a
function of its own, because callers differ in the rule that they need.
"""

from datetime import datetime, timedelta
from typing import Final

from lynq.api.digests import is_untouched
from lynq.api.form import LynqForm
from lynq.api.hub import LynqHub
from lynq.api.metadata import HasMetadata, ObjectKey
from lynq.api.names import (
    ANNOTATION_PAUSED,
    ANNOTATION_PROTECT,
    ANNOTATION_ROLLOUT_UPDATE_START,
    ANNOTATION_ROW_CHANGED_AT,
    ANNOTATION_SPEC_DIGEST,
    ANNOTATION_TEMPLATE_GENERATION,
    LABEL_BUCKET,
    LABEL_CONFLICTED,
    LABEL_HUB,
    LABEL_UID,
    TRUE,
)
from lynq.api.naming import NodePair, node_name
from lynq.api.node import LynqNode
from lynq.api.wire import parse_rfc3339, rfc3339

SHARD_LABELS: Final = frozenset({LABEL_BUCKET, LABEL_CONFLICTED})
"""Labels of a node that concern shards only: neither its plan nor its objects depend on them."""
_CLOCK_TOLERANCE: Final = timedelta(minutes=1)
"""How far the clocks of two replicas may differ."""


def is_deleting(obj: HasMetadata) -> bool:
    """Return whether the object is being deleted."""
    return obj.metadata.deletion_timestamp is not None


def is_paused(obj: HasMetadata) -> bool:
    """Return whether the annotation `lynq.sh/paused` stops the reconciles of the object."""
    return obj.metadata.annotations.get(ANNOTATION_PAUSED) == TRUE


def is_protected(obj: HasMetadata) -> bool:
    """Return whether the annotation `lynq.sh/protect` forbids the deletion of the object."""
    return obj.metadata.annotations.get(ANNOTATION_PROTECT) == TRUE


def is_deletion_blocked(obj: HasMetadata) -> bool:
    """Return whether the object is being deleted, and `lynq.sh/protect` forbids that."""
    return is_deleting(obj) and is_protected(obj)


def hub_of_form(form: LynqForm) -> ObjectKey:
    """Return the key of the hub in the form's spec; the hub may not exist."""
    return ObjectKey(form.metadata.namespace, form.spec.hub_id)


def form_of(node: LynqNode) -> ObjectKey:
    """Return the key of the form in the node's spec; the form may not exist."""
    return ObjectKey(node.metadata.namespace, node.spec.template_ref)


def hub_by_label(node: LynqNode | None) -> ObjectKey | None:
    """Return the key of the hub in the node's label `lynq.sh/hub`."""
    if node is None:
        return None
    name = node.metadata.labels.get(LABEL_HUB)
    return ObjectKey(node.metadata.namespace, name) if name else None


def hubs_by_owner(node: LynqNode | None) -> set[ObjectKey]:
    """Return the keys of the hubs in the node's owner references."""
    if node is None:
        return set()
    return {
        ObjectKey(node.metadata.namespace, reference.name)
        for reference in node.metadata.owner_references
        if reference.kind == LynqHub.definition.kind
    }


def is_owned_by_hub(node: LynqNode, hub: LynqHub) -> bool:
    """Return whether an owner reference of the node has the hub's uid."""
    if node.metadata.namespace != hub.metadata.namespace:
        return False
    return any(reference.uid == hub.metadata.uid for reference in node.metadata.owner_references)


def is_controlled_by_hub(node: LynqNode, hub: LynqHub) -> bool:
    """Return whether the controller reference of the node has the hub's uid."""
    return any(
        reference.controller and reference.uid == hub.metadata.uid
        for reference in node.metadata.owner_references
    )


def is_controlled_by_other_hub(node: LynqNode, hub: LynqHub) -> bool:
    """Return whether the controller reference of the node names another hub.

    Names are compared and not uids: a hub that is re-created under its old name keeps its nodes.
    """
    return any(
        reference.controller and reference.kind == hub.kind and reference.name != hub.metadata.name
        for reference in node.metadata.owner_references
    )


def pair_of(node: LynqNode) -> NodePair | None:
    """Return the row and form in the node's name; None if spec and label do not fit the name.

    The name wins over a spec that was edited to another row. A name can be split in two ways (`a`
    and `b-c`, `a-b` and `c`). Where spec and label differ on that, the spec wins if its digest
    shows that the hub wrote it, else the label.
    """
    by_spec = NodePair(node.spec.uid, node.spec.template_ref)
    label = node.metadata.labels.get(LABEL_UID)
    by_label = _pair_of_uid(label, node)
    if node_name(by_spec) != node.metadata.name:
        return by_label
    if label == by_spec.uid or by_label is None:
        return by_spec
    return by_spec if _is_as_the_hub_wrote(node) else by_label


def pair_or_spec(node: LynqNode) -> NodePair:
    """Return the row and form in the node's name, or those in its spec if the name has none."""
    return pair_of(node) or NodePair(node.spec.uid, node.spec.template_ref)


def form_by_name(node: LynqNode) -> ObjectKey:
    """Return the key of the form in the node's name, which cannot be edited as the spec can."""
    return ObjectKey(node.metadata.namespace, pair_or_spec(node).form)


def _pair_of_uid(uid: str | None, node: LynqNode) -> NodePair | None:
    """Return the pair with this uid that has the node's name, if there is one."""
    name = node.metadata.name
    if uid and name.startswith(f"{uid}-"):
        return NodePair(uid, name.removeprefix(f"{uid}-"))
    return None


def _is_as_the_hub_wrote(node: LynqNode) -> bool:
    return ANNOTATION_SPEC_DIGEST in node.metadata.annotations and is_untouched(node)


def form_generation(node: LynqNode) -> int | None:
    """Return the generation of the form that the node was rendered from, if it is annotated."""
    text = node.metadata.annotations.get(ANNOTATION_TEMPLATE_GENERATION, "")
    return int(text) if text.isascii() and text.isdigit() else None


def written_at(node: LynqNode) -> datetime | None:
    """Return the time of the last write of the node for a new row or form, if it is annotated."""
    return parse_rfc3339(node.metadata.annotations.get(ANNOTATION_ROLLOUT_UPDATE_START, ""))


def observed_write(node: LynqNode, now: datetime) -> datetime | None:
    """Return the last write that the status reflects; None if a wrong clock made it.

    Users cannot edit the status.
    """
    observed = parse_rfc3339(node.status.observed_update_start)
    return observed if observed and observed <= now + _CLOCK_TOLERANCE else None


def is_superseded(node: LynqNode, now: datetime) -> bool:
    """Return whether a user put back a node that the hub has written again since."""
    written, observed = written_at(node), observed_write(node, now)
    return bool(written and observed and written < observed)


def time_of_new_write(node: LynqNode, now: datetime) -> datetime:
    """Return the time of a write for a new row or form: later than that of the last one."""
    observed = observed_write(node, now)
    return max(now, observed + timedelta.resolution) if observed else now


def time_of_last_write(node: LynqNode, now: datetime) -> datetime:
    """Return the time of the hub's last write, also if a user edited the annotation."""
    written, observed = written_at(node), observed_write(node, now)
    if written is None or written > now + _CLOCK_TOLERANCE:
        written = observed or now
    return max(written, observed) if observed else written


def row_changed_at(node: LynqNode) -> datetime | None:
    """Return when the row changed that the last write of the node reflects, if it is annotated."""
    return parse_rfc3339(node.metadata.annotations.get(ANNOTATION_ROW_CHANGED_AT, ""))


def stamp(time: datetime) -> str:
    """Format a time with microseconds, so that two writes within one second differ."""
    return rfc3339(time, digits="microseconds")
