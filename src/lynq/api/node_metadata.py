"""What a node says about itself: whose it is, and what it was written from, and when."""

from datetime import datetime

from lynq.api.digests import is_untouched
from lynq.api.names import (
    ANNOTATION_PAUSED,
    ANNOTATION_PROTECT,
    ANNOTATION_ROLLOUT_UPDATE_START,
    ANNOTATION_SPEC_DIGEST,
    ANNOTATION_TEMPLATE_GENERATION,
    LABEL_UID,
    TRUE,
)
from lynq.api.naming import NodePair, node_name
from lynq.api.node import LynqNode
from lynq.api.wire import parse_rfc3339, rfc3339


def pair_of(node: LynqNode) -> NodePair | None:
    """Return which row and form a node is for, as its name says; None if it does not say so.

    A node whose spec was edited to name another row is still the one that its name says. A name can
    be cut in two places (`a` and `b-c`, `a-b` and `c`): where spec and label differ about that, the
    spec is believed if it is what the hub wrote, else the label.
    """
    claimed = NodePair(node.spec.uid, node.spec.template_ref)
    labelled = node.metadata.labels.get(LABEL_UID)
    if node_name(claimed) != node.metadata.name:
        return _named_by(labelled, node)
    if labelled == claimed.uid:
        return claimed
    other = _named_by(labelled, node)
    return claimed if other is None or _is_as_the_hub_wrote(node) else other


def _named_by(uid: str | None, node: LynqNode) -> NodePair | None:
    """Return the pair of this uid that gives the node's name; None if none does."""
    name = node.metadata.name
    if uid and name.startswith(f"{uid}-"):
        return NodePair(uid, name.removeprefix(f"{uid}-"))
    return None


def _is_as_the_hub_wrote(node: LynqNode) -> bool:
    return ANNOTATION_SPEC_DIGEST in node.metadata.annotations and is_untouched(node)


def form_generation(node: LynqNode) -> int | None:
    """Return the generation of the form that the node was written from; None if it says none."""
    text = node.metadata.annotations.get(ANNOTATION_TEMPLATE_GENERATION, "")
    return int(text) if text.isascii() and text.isdigit() else None


def written_at(node: LynqNode) -> datetime | None:
    """Return when the node was last written for a new row or form."""
    return parse_rfc3339(node.metadata.annotations.get(ANNOTATION_ROLLOUT_UPDATE_START, ""))


def stamp(moment: datetime) -> str:
    """Write a moment so that two writes within one second differ."""
    return rfc3339(moment, digits="microseconds")


def is_paused(node: LynqNode) -> bool:
    """Return whether a person wants the node left as it is."""
    return node.metadata.annotations.get(ANNOTATION_PAUSED) == TRUE


def is_protected(node: LynqNode) -> bool:
    """Return whether a person has forbidden to delete the node; admission says the same."""
    return node.metadata.annotations.get(ANNOTATION_PROTECT) == TRUE


def is_deleting(node: LynqNode) -> bool:
    """Return whether the node is being deleted."""
    return node.metadata.deletion_timestamp is not None
