"""Who wrote a node: its hub, a user who edited it, or a user who created it without a hub.

A node carries manifests, and its form names the account that writes them. The right to edit nodes
must not include that account. A node of a hub is therefore carried out only while its signature
fits. The hub restores an edited one; until then nothing of it is written or deleted.
"""

from collections.abc import Collection
from enum import Enum
from typing import Final

from lynq.api import LynqNode
from lynq.api.digests import is_signed, is_untouched
from lynq.api.installation_key import KeyState, MissingKey
from lynq.api.names import ANNOTATION_HUB_ID, ANNOTATION_SIGNATURE
from lynq.api.node_metadata import hub_by_label, hubs_by_owner, pair_of

EDITED_MESSAGE: Final = (
    "nothing is written or deleted: the LynqNode is not signed by the operator, so that it was "
    "edited, created by hand, or written by an earlier operator; its LynqHub restores and signs it "
    "at the next successful sync, or delete the LynqNode"
)

SUPERSEDED_MESSAGE: Final = (
    "nothing is written or deleted: the LynqNode is an old one that was put back, by hand or from "
    "a backup; its LynqHub restores it at the next successful sync"
)


class NodeOrigin(Enum):
    """The writer of a node."""

    HUB = "hub"
    """The hub wrote the node as it is."""
    EDITED = "edited"
    """The node belongs to a hub, and does not have the content that the hub signed."""
    STANDALONE = "standalone"
    """A user created the node without a hub."""


def origin_of(node: LynqNode, key: KeyState) -> NodeOrigin:
    """Return who wrote a node.

    Without a key no signature can be checked, and the digest counts: it detects edits by hand, but
    not forged ones. A lost key must not stop all nodes.
    """
    if not has_hub(node):
        return NodeOrigin.STANDALONE
    is_genuine = is_untouched(node) if isinstance(key, MissingKey) else is_signed(node, key)
    return NodeOrigin.HUB if is_genuine else NodeOrigin.EDITED


def has_hub(node: LynqNode) -> bool:
    """Return whether a hub wrote the node at some time.

    Users can remove every mark of the metadata, but cannot edit the status.
    """
    annotations = node.metadata.annotations
    return bool(
        hub_by_label(node)
        or hubs_by_owner(node)
        or annotations.get(ANNOTATION_HUB_ID)
        or annotations.get(ANNOTATION_SIGNATURE)
        or node.status.observed_update_start
    )


def is_lost_node_of(node: LynqNode, forms: Collection[str]) -> bool:
    """Return whether a node that lost its hub belongs to the hub that has these forms.

    The form of another hub may end like one of these: that node is not theirs to delete.
    """
    if not lost_its_hub(node):
        return False
    if pair := pair_of(node):
        return pair.form in forms
    return any(node.metadata.name.endswith(f"-{form}") for form in forms)


def lost_its_hub(node: LynqNode) -> bool:
    """Return whether a hub wrote the node, and no label or owner reference names a hub."""
    return bool(
        node.status.observed_update_start and not hub_by_label(node) and not hubs_by_owner(node)
    )
