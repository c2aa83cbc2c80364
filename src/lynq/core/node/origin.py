"""Who wrote a node: its hub, a user who edited it, or a user who created it without a hub.

A node carries manifests, and its form names the account that writes them. The right to edit nodes
must not include that account. A node of a hub is therefore carried out only while its signature
fits. The hub restores an edited one; until then nothing of it is written or deleted. While the
installation key is missing, no signature can be checked, and all nodes of hubs wait.

A node that is being deleted does not wait: its deletion is a decision of its own, and nothing of
its content is trusted for it (`lynq.controllers.impersonation`, `lynq.controllers.node.prune`).
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, TypeAlias

from lynq.api import LynqNode
from lynq.api.digests import is_authentic, is_untouched
from lynq.api.installation_key import KeyState, MissingKey
from lynq.api.names import ANNOTATION_HUB_ID, ANNOTATION_SIGNATURE
from lynq.api.node_metadata import hub_by_label, hubs_by_owner, is_superseded, pair_of
from lynq.api.reasons import ConditionReason

_EDITED: Final = (
    "nothing is written or deleted: the LynqNode is not signed by the operator, so that it was "
    "edited, created by hand, or written by an earlier operator; its LynqHub restores and signs it "
    "at the next successful sync, or delete the LynqNode"
)

_SUPERSEDED: Final = (
    "nothing is written or deleted: the LynqNode is an old one that was put back, by hand or from "
    "a backup; its LynqHub restores it at the next successful sync"
)

_STANDALONE: Final = (
    "nothing is written or deleted: the LynqNode was not created by a LynqHub, and the operator "
    "does not carry out such nodes (--allow-standalone-nodes=false); add its row to the table of "
    "the hub, and delete the LynqNode"
)

_KEY_MISSING: Final = (
    "nothing is written or deleted: the installation key is missing, so that the signature of the "
    "LynqNode cannot be checked; the condition Ready of its LynqHub says why, and what to do"
)
"""Without the problem: it changes from attempt to attempt, and ten thousand nodes would, too."""


class NodeOrigin(Enum):
    """The writer of a node."""

    HUB = "hub"
    """The hub wrote the node as it is."""
    EDITED = "edited"
    """The node belongs to a hub, and does not have the content that the hub signed."""
    UNKNOWN = "unknown"
    """The node belongs to a hub, and the key that its signature is checked with is missing."""
    STANDALONE = "standalone"
    """A user created the node without a hub."""


OriginRule: TypeAlias = Callable[[LynqNode, KeyState], NodeOrigin]


def origin_of(node: LynqNode, key: KeyState) -> NodeOrigin:
    """Return who wrote a node."""
    if not has_hub(node):
        return NodeOrigin.STANDALONE
    if isinstance(key, MissingKey):
        return NodeOrigin.UNKNOWN
    return NodeOrigin.HUB if is_authentic(node, key) else NodeOrigin.EDITED


def assumed_origin_of(node: LynqNode, key: KeyState) -> NodeOrigin:
    """Return who wrote a node, for a plan: its viewer may not be allowed to read the key.

    Then the digest counts, which detects edits by hand. A plan writes nothing.
    """
    origin = origin_of(node, key)
    if origin is not NodeOrigin.UNKNOWN:
        return origin
    return NodeOrigin.HUB if is_untouched(node) else NodeOrigin.EDITED


@dataclass(frozen=True, slots=True)
class Wait:
    """Why nothing is written or deleted for a node that is not being deleted."""

    reason: ConditionReason
    message: str


def wait_of(
    node: LynqNode, origin: NodeOrigin, now: datetime, *, allows_standalone: bool
) -> Wait | None:
    """Return what a node waits for; None if it is carried out."""
    if origin is NodeOrigin.UNKNOWN:
        return Wait(ConditionReason.WAITING_FOR_KEY, _KEY_MISSING)
    if origin is NodeOrigin.EDITED:
        return Wait(ConditionReason.WAITING_FOR_HUB, _EDITED)
    if is_rejected(node, allows_standalone=allows_standalone):
        return Wait(ConditionReason.WAITING_FOR_HUB, _STANDALONE)
    if is_superseded(node, now):
        return Wait(ConditionReason.WAITING_FOR_HUB, _SUPERSEDED)
    return None


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


def is_rejected(node: LynqNode, *, allows_standalone: bool) -> bool:
    """Return whether a node is not carried out because no hub wrote it."""
    return not allows_standalone and not has_hub(node)


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
