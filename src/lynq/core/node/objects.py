"""Which object of the cluster: its kind, place and name, and who the node is that made it.

What the caches know of an object in the cluster: its marks, and how it stands.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from lynq.api import LynqNode, ResourceStatus
from lynq.api.metadata import ObjectKey
from lynq.core.readiness.verdict import Readiness


class ObjectRef(NamedTuple):
    """An object, whether it exists or not; the namespace of a cluster-scoped one is ""."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def group(self) -> str:
        """The API group; "" is the core's."""
        return self.api_version.rpartition("/")[0]

    @property
    def is_namespace(self) -> bool:
        """Whether it is a namespace: with it goes all that is in it."""
        return (self.group, self.kind) == ("", "Namespace")

    @property
    def place(self) -> tuple[str, str, str, str]:
        """What makes it one object: an object is the same in every version of its group."""
        return self.group, self.kind, self.namespace, self.name

    def __str__(self) -> str:
        """Name it for people."""
        return f"{self.kind} {ObjectKey(self.namespace, self.name)}"


def ref_of(entry: ResourceStatus) -> ObjectRef:
    """Return the object that an entry of a node's status speaks about."""
    return ObjectRef(entry.api_version, entry.kind, entry.namespace, entry.name)


class Owner(NamedTuple):
    """The node that objects belong to."""

    namespace: str
    name: str
    uid: str


def owner_of(node: LynqNode) -> Owner:
    """Return the node as the owner of its objects."""
    return Owner(node.metadata.namespace, node.metadata.name, node.metadata.uid)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveObject:
    """An object that exists."""

    uid: str
    verdict: Readiness
    """Whether it is ready, and if not, why not."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[str, ...] = ()
    """The uids of its owner references."""
    deleting: bool = False
    digest: bytes = b""
    """Of the fields that we own, applied or otherwise written; empty if there are none."""
    created: datetime | None = None
