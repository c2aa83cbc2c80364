"""The view of the cluster that validation reads: cached objects, and the impact of a deletion."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from lynq.api import DeletionPolicy, HubSpec, LynqNode
from lynq.api.denied_hosts import DeniedHosts
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_PROTECT
from lynq.api.node_metadata import is_protected
from lynq.api.resource import all_resources
from lynq.api.text import plural
from lynq.core.object_limits import ObjectLimits


class ClusterView(Protocol):
    """Read access to the caches and options of the process that serves the webhooks."""

    @property
    def denied_hosts(self) -> DeniedHosts:
        """The hosts that hubs may not connect to."""

    @property
    def limits(self) -> ObjectLimits:
        """The objects that nodes may write."""

    def covers(self, namespace: str) -> bool:
        """Return whether the namespace is watched, and its hubs and nodes are listed."""

    def hub(self, key: ObjectKey) -> HubSpec | None:
        """Return the spec of a hub; None if it does not exist or cannot be decoded."""

    def nodes_of_hub(self, key: ObjectKey) -> Sequence[LynqNode] | None:
        """Return the nodes with the label of a hub; None if not all of them are known."""

    def nodes_of_form(self, key: ObjectKey) -> Sequence[LynqNode] | None:
        """Return the nodes that were rendered from a form; None if not all of them are known."""


@dataclass(frozen=True, slots=True)
class NoCaches:
    """The view for a caller that may be anyone: the object alone decides."""

    denied_hosts: DeniedHosts
    limits: ObjectLimits

    def covers(self, _namespace: str) -> bool:
        """Return False."""
        return False

    def hub(self, _key: ObjectKey) -> None:
        """Return None."""
        return

    def nodes_of_hub(self, _key: ObjectKey) -> None:
        """Return None."""
        return

    def nodes_of_form(self, _key: ObjectKey) -> None:
        """Return None."""
        return


@dataclass(frozen=True, slots=True)
class DeletionImpact:
    """The effect of the deletion of a hub or form: its nodes and their objects, counted."""

    nodes: int = 0
    resources: int = 0
    """Objects that are deleted with the nodes."""
    retained: int = 0
    """Objects with deletionPolicy Retain."""
    protected: int = 0
    """Nodes that the annotation `lynq.sh/protect` keeps."""

    @classmethod
    def of(cls, nodes: Iterable[LynqNode]) -> "DeletionImpact":
        """Count the objects in the status of these nodes."""
        count = resources = retained = protected = 0
        for node in nodes:
            count += 1
            protected += is_protected(node)
            retained_ids = _retained_ids(node)
            node_retained = sum(entry.id in retained_ids for entry in node.status.resources)
            retained += node_retained
            resources += len(node.status.resources) - node_retained
        return cls(count, resources, retained, protected)

    def __str__(self) -> str:
        """Return the warning for the user who deletes the hub or form."""
        text = (
            f"{_count(self.nodes, 'LynqNode')} and {_count(self.resources, 'resource')} "
            "will be deleted"
        )
        if self.retained:
            text += f", {_count(self.retained, 'resource')} will be retained (deletionPolicy)"
        if self.protected:
            text += (
                f"; {_count(self.protected, 'LynqNode')} with {ANNOTATION_PROTECT} will block it"
            )
        return text


def _retained_ids(node: LynqNode) -> frozenset[str]:
    return frozenset(
        resource.id
        for resource in all_resources(node.spec)
        if resource.deletion_policy is DeletionPolicy.RETAIN
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {plural(noun, number)}"
