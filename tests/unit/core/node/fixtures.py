"""The objects of one node in memory: created by writes, ready when a test says so."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from lynq.api import NodeStatus, ResourceState, ResourceStatus, TResource
from lynq.core.graph.build import build_graph
from lynq.core.graph.model import Entry, Graph
from lynq.core.node.decide import PassContext
from lynq.core.node.desired_object import DesiredObject, prepare
from lynq.core.node.objects import LiveObject
from lynq.core.node.render import Renderer
from lynq.core.node.state import LastWrite, ResourceFacts, Write, WriteRejection
from lynq.core.node.step import ReconcileStep, next_step
from lynq.core.node.successor import Successors
from lynq.core.node.variables import variables_of
from lynq.core.readiness.verdict import READY, Readiness, not_ready
from unit.core.node.nodes import NOW, a_node, an_owner

REJECTION = WriteRejection("422 Invalid: metadata.name")
STARTING = not_ready("ReplicasNotReady", "0 of 1 replicas are ready")


def desired_by(
    resource: TResource,
    body: dict[str, Any] | None = None,
    *,
    namespaced: bool = True,
    is_adopted: bool = False,
) -> DesiredObject:
    """Return the desired object of a resource; `body` is the live object."""
    node = a_node(resource)
    rendered = Renderer.of(node, variables_of(node)).render(resource, namespaced=namespaced)
    return prepare(rendered, resource, an_owner(), body, is_adopted=is_adopted)


def live_after(obj: dict[str, Any], readiness: Readiness = READY, uid: str = "1") -> LiveObject:
    """Return the live object after a write."""
    metadata = obj["metadata"]
    return LiveObject(
        uid=uid,
        readiness=readiness,
        labels={key: value for key, value in metadata["labels"].items() if value is not None},
        annotations={k: value for k, value in metadata["annotations"].items() if value is not None},
        owner_uids=tuple(reference["uid"] for reference in metadata.get("ownerReferences", ())),
        digest=b"ours",
        created_at=NOW,
    )


class Cluster:
    """The resources of one node, with their live objects and last writes."""

    def __init__(self, resources: Iterable[TResource]) -> None:
        self.facts = {
            resource.id: ResourceFacts(resource=resource, desired=desired_by(resource))
            for resource in resources
        }
        self.writes: list[str] = []

    @property
    def graph(self) -> Graph:
        """The dependency graph of the resources."""
        resources = (facts.resource for facts in self.facts.values())
        return build_graph(Entry(resource.id, resource.depend_ids) for resource in resources)

    def step(self, now: datetime = NOW, *, force: bool = False) -> ReconcileStep:
        """Return the next step."""
        return next_step(self.graph, self.facts, PassContext(an_owner(), now, force))

    def accept(self, write: Write, readiness: Readiness) -> None:
        """Accept a write, as the API server would."""
        self.writes.append(write.id)
        facts = self.facts[write.id]
        assert facts.desired is not None
        last_write = LastWrite(hash=facts.desired.hash, digest=b"ours")
        self.facts[write.id] = replace(
            facts, live=live_after(write.obj, readiness), last_write=last_write, was_written=True
        )

    def reject(
        self, write: Write, rejection: WriteRejection, not_before: datetime | None = None
    ) -> None:
        """Reject a write, as the API server would."""
        self.writes.append(write.id)
        facts = self.facts[write.id]
        assert facts.desired is not None
        last_write = LastWrite(hash=facts.desired.hash, rejection=rejection, not_before=not_before)
        self.facts[write.id] = replace(facts, last_write=last_write, was_written=True)

    def next_reconcile(self) -> None:
        """Begin another reconcile."""
        self.facts = {
            resource_id: replace(facts, was_written=False)
            for resource_id, facts in self.facts.items()
        }

    def set_readiness(self, resource_id: str, readiness: Readiness) -> None:
        """Change the readiness of a live object."""
        facts = self.facts[resource_id]
        assert facts.live is not None
        self.facts[resource_id] = replace(facts, live=replace(facts.live, readiness=readiness))


def successors(
    *resources: TResource,
    accepted: str = "",
    updates_rejected: str = "",
    recorded: Mapping[str, str] | None = None,
) -> Successors:
    """Return resources by one-letter ids: `accepted` were written; the others were rejected.

    `updates_rejected` are live with other than the desired content. `recorded` are objects that
    the status lists as accepted, by resource id.
    """
    cluster = Cluster(resources)
    for write in cluster.step().writes:
        if write.id in accepted or write.id in updates_rejected:
            cluster.accept(write, READY)
        else:
            cluster.reject(write, REJECTION)
    for resource_id in updates_rejected:
        facts = cluster.facts[resource_id]
        assert facts.desired is not None
        changed = replace(facts.desired, hash="another")
        cluster.facts[resource_id] = replace(facts, desired=changed)
    step = cluster.step()
    return Successors(
        an_owner(),
        NodeStatus(
            resources=tuple(
                ResourceStatus(
                    id=resource_id,
                    api_version="v1",
                    kind="ConfigMap",
                    namespace="shop",
                    name=name,
                    state=ResourceState.READY,
                    fields_digest="00ff",
                )
                for resource_id, name in (recorded or {}).items()
            )
        ),
        cluster.graph,
        cluster.facts,
        {outcome.id: outcome for outcome in step.outcomes},
    )
