"""What admission has to know of other objects: read from caches, never asked for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from lynq.api import DeletionPolicy, HubSpec, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_PROTECT
from lynq.api.node_metadata import is_protected
from lynq.api.resource import all_resources


class ClusterView(Protocol):
    """The caches of whoever runs the webhooks."""

    def covers(self, namespace: str) -> bool:
        """Return whether everything in this namespace is known by now."""

    def hub(self, key: ObjectKey) -> HubSpec | None:
        """Return what a hub wants; None if it is not there, or cannot be read."""

    def nodes_of_hub(self, key: ObjectKey) -> Sequence[LynqNode]:
        """Return the nodes that a hub has made."""

    def nodes_of_form(self, key: ObjectKey) -> Sequence[LynqNode]:
        """Return the nodes that were made from a form."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What goes, and what stays, when nodes go."""

    nodes: int = 0
    resources: int = 0
    """Objects that go with them."""
    retained: int = 0
    """Objects that stay, by their deletionPolicy."""
    protected: int = 0
    """Nodes that refuse to go."""

    @classmethod
    def of(cls, nodes: Iterable[LynqNode]) -> "Footprint":
        """Count what these nodes have, by what their status says."""
        count = resources = retained = protected = 0
        for node in nodes:
            count += 1
            protected += is_protected(node)
            kept = _retained_ids(node)
            stay = sum(each.id in kept for each in node.status.resources) if kept else 0
            retained += stay
            resources += len(node.status.resources) - stay
        return cls(count, resources, retained, protected)

    def __str__(self) -> str:
        """Say it for a person who is about to delete."""
        told = f"{_many(self.nodes, 'LynqNode')} and {_many(self.resources, 'resource')} will go"
        if self.retained:
            told += f", {_many(self.retained, 'resource')} will stay (deletionPolicy Retain)"
        if self.protected:
            told += (
                f"; {_many(self.protected, 'LynqNode')} with {ANNOTATION_PROTECT} will hold it up"
            )
        return told


def _retained_ids(node: LynqNode) -> frozenset[str]:
    retains = DeletionPolicy.RETAIN
    return frozenset(
        each.id for each in all_resources(node.spec) if each.deletion_policy is retains
    )


def _many(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
