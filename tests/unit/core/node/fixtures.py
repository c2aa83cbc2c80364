"""A small cluster to step through: objects come with a write and are ready when someone says so."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from lynq.api import TResource
from lynq.core.graph.build import build_graph
from lynq.core.graph.model import Entry, Graph
from lynq.core.node.decide import PassContext
from lynq.core.node.desired_object import DesiredObject, prepare
from lynq.core.node.objects import LiveObject
from lynq.core.node.render import Renderer
from lynq.core.node.state import LastWrite, ResourceFacts, Write, WriteRejection
from lynq.core.node.step import ReconcileStep, next_step
from lynq.core.node.variables import variables_of
from lynq.core.readiness.verdict import READY, Readiness, not_ready
from unit.core.node.nodes import NOW, a_node, an_owner

STARTING = not_ready("ReplicasNotReady", "0 of 1 replicas are ready")


def desired_by(resource: TResource, *, namespaced: bool = True) -> DesiredObject:
    """Give what the resource asks for."""
    node = a_node(resource)
    rendered = Renderer.of(node, variables_of(node)).render(resource, namespaced=namespaced)
    return prepare(rendered, resource, an_owner())


def live_after(obj: dict[str, Any], verdict: Readiness = READY, uid: str = "1") -> LiveObject:
    """Give the object that a write leaves behind."""
    metadata = obj["metadata"]
    return LiveObject(
        uid=uid,
        verdict=verdict,
        labels={key: value for key, value in metadata["labels"].items() if value is not None},
        annotations={k: value for k, value in metadata["annotations"].items() if value is not None},
        owners=tuple(this["uid"] for this in metadata.get("ownerReferences", ())),
        digest=b"ours",
        created=NOW,
    )


class Cluster:
    """The objects of one node, and what its controller remembers of them."""

    def __init__(self, resources: Iterable[TResource]) -> None:
        self.facts = {
            this.id: ResourceFacts(resource=this, desired=desired_by(this)) for this in resources
        }
        self.writes: list[str] = []

    @property
    def graph(self) -> Graph:
        """The order of the resources."""
        every = (facts.resource for facts in self.facts.values())
        return build_graph(Entry(this.id, this.depend_ids) for this in every)

    def step(self, now: datetime = NOW, *, force: bool = False) -> ReconcileStep:
        """Ask for the next step."""
        return next_step(self.graph, self.facts, PassContext(an_owner(), now, force))

    def take(self, write: Write, verdict: Readiness) -> None:
        """Let the API server take a write."""
        self.writes.append(write.id)
        facts = self.facts[write.id]
        assert facts.desired is not None
        last_write = LastWrite(hash=facts.desired.hash, digest=b"ours")
        self.facts[write.id] = replace(
            facts, live=live_after(write.obj, verdict), last_write=last_write, was_written=True
        )

    def refuse(
        self, write: Write, rejection: WriteRejection, not_before: datetime | None = None
    ) -> None:
        """Let the API server refuse a write."""
        self.writes.append(write.id)
        facts = self.facts[write.id]
        assert facts.desired is not None
        last_write = LastWrite(hash=facts.desired.hash, rejection=rejection, not_before=not_before)
        self.facts[write.id] = replace(facts, last_write=last_write, was_written=True)

    def next_pass(self) -> None:
        """Begin another pass."""
        self.facts = {this: replace(facts, was_written=False) for this, facts in self.facts.items()}

    def becomes(self, this: str, verdict: Readiness) -> None:
        """Let an object change its state."""
        facts = self.facts[this]
        assert facts.live is not None
        self.facts[this] = replace(facts, live=replace(facts.live, verdict=verdict))
