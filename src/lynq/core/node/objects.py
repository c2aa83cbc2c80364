"""References to objects, their owner, and the observed state of a live object."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from msgspec import Struct, field

from lynq.api import LynqNode, NodeStatus, ResourceState, ResourceStatus
from lynq.api.metadata import ObjectKey
from lynq.core.readiness.verdict import Readiness

ObjectIdentity = tuple[str, str, str, str]
"""Group, kind, namespace and name: an object is the same in every version of its group."""


class ObjectRef(NamedTuple):
    """A reference to an object; the namespace of a cluster-scoped object is ""."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def group(self) -> str:
        """The API group; "" is the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def is_namespace(self) -> bool:
        """Whether the object is a Namespace, whose deletion deletes all objects in it."""
        return (self.group, self.kind) == ("", "Namespace")

    @property
    def identity(self) -> ObjectIdentity:
        """The identity of the object, which is the same in every version of its group."""
        return self.group, self.kind, self.namespace, self.name

    def __str__(self) -> str:
        """Return kind, namespace and name, for messages."""
        return f"{self.kind} {ObjectKey(self.namespace, self.name)}"


def ref_of(entry: ResourceStatus) -> ObjectRef:
    """Return the object of an entry in a node's status."""
    return ObjectRef(entry.api_version, entry.kind, entry.namespace, entry.name)


def contested_objects(status: NodeStatus) -> Iterator[ObjectIdentity]:
    """Yield the objects that a node desires and that are in conflict with another owner."""
    for entry in status.resources:
        if entry.state is ResourceState.CONFLICTED:
            yield ref_of(entry).identity


class Owner(NamedTuple):
    """The node as the owner of objects."""

    namespace: str
    name: str
    uid: str
    is_protected: bool = False
    """Whether the node or its hub is protected: its objects then have no owner reference."""


def owner_of(node: LynqNode, *, is_protected: bool = False) -> Owner:
    """Return the owner of a node's objects."""
    return Owner(node.metadata.namespace, node.metadata.name, node.metadata.uid, is_protected)


class AppliedRecord(NamedTuple):
    """What the status of a node says about an object that it lists."""

    was_applied: bool = False
    """Whether a write of the object was accepted."""
    adopted_uid: str = ""
    """The uid of the object that existed before and was adopted; empty if none was."""
    is_completed: bool = False
    """Whether the object is a Job with creationPolicy Once that has completed."""


NOT_APPLIED: Final = AppliedRecord()
"""The record of an object that the status does not list."""


class LiveObject(Struct, frozen=True, kw_only=True):
    """The observed state of an object that exists."""

    uid: str
    readiness: Readiness
    """Whether the object is ready, or why it is not."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owner_uids: tuple[str, ...] = ()
    """The uids of its owner references."""
    is_deleting: bool = False
    digest: bytes = b""
    """Digest of the fields that we own, by Apply or by Update; empty if there are none."""
    created_at: datetime | None = None
