"""The writes of a plan: which node is made, changed or removed, why, and what is told about it."""

from dataclasses import dataclass
from enum import Enum

from lynq.api import LynqNode
from lynq.api.naming import NodePair
from lynq.core.hub.diff import UpdateCause


@dataclass(frozen=True, slots=True)
class NodeCreation:
    """A node to make."""

    pair: NodePair
    node: LynqNode


@dataclass(frozen=True, slots=True)
class NodeUpdate:
    """A node to write again."""

    pair: NodePair
    cause: UpdateCause
    before: LynqNode
    after: LynqNode
    """With the resourceVersion of `before`: whoever wrote in between is not overwritten."""


class DeletionCause(Enum):
    """Why a node goes."""

    ROW_GONE = "its row is gone or inactive"
    FORM_GONE = "its form is gone"
    HUB_GONE = "its hub is being deleted"


@dataclass(frozen=True, slots=True)
class NodeDeletion:
    """A node to delete."""

    pair: NodePair
    name: str
    node_uid: str
    """The precondition of the delete: a node made anew under the same name is not meant."""
    why: DeletionCause
    version: str = ""
    """The resourceVersion that was looked at, if the removal is void when the node has changed:
    somebody may have paused or protected it."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """A form of which nodes wait for a place under maxSkew."""

    form: str
    waiting: tuple[str, ...]
    max_skew: int
    updating: int
    """How many nodes hold a place."""
