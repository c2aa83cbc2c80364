"""A node from its first reconcile to its deletion, with the core alone."""

from datetime import timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from lynq.api import DeletionPolicy, LynqNode, NodeStatus, TResource
from lynq.api.reasons import OrphanReason
from lynq.api.resource import all_resources
from lynq.core.graph.build import build_graph, entries_of
from lynq.core.node.decide import PassContext
from lynq.core.node.desired_object import prepare
from lynq.core.node.inventory import InventoryItem, read_inventory, stale_items
from lynq.core.node.objects import LiveObject, ObjectRef, owner_of
from lynq.core.node.prune import PruneCandidate, next_prune_step
from lynq.core.node.render import Renderer, RenderError
from lynq.core.node.state import ResourceFacts, ResourceOutcome, WriteCause
from lynq.core.node.status import StatusReport, next_status
from lynq.core.node.step import next_step
from lynq.core.node.variables import variables_of
from lynq.core.readiness.rules import evaluate_readiness
from unit.core.node.nodes import NOW, a_node

WEB = TResource(
    id="web",
    spec={"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "{{ .n | int }}"}},
    name_template="acme-web",
    depend_ids=("config",),
)
CONFIG = TResource(
    id="config",
    spec={"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": "{{ .plan }}"}},
    name_template="acme-config",
)
SPACE = TResource(
    id="space",
    spec={"apiVersion": "v1", "kind": "Namespace"},
    name_template="tenant-acme",
    deletion_policy=DeletionPolicy.RETAIN,
)


class Cluster:
    """A controller without its cluster: objects are kept as they were sent."""

    def __init__(self) -> None:
        self.objects: dict[ObjectRef, dict[str, Any]] = {}
        self.status = NodeStatus()
        self.writes = 0

    def live(self, ref: ObjectRef) -> LiveObject | None:
        obj = self.objects.get(ref)
        if obj is None:
            return None
        metadata = obj["metadata"]
        return LiveObject(
            uid=ref.name,
            readiness=evaluate_readiness(obj),
            labels=metadata["labels"],
            annotations=metadata["annotations"],
            owner_uids=tuple(reference["uid"] for reference in metadata.get("ownerReferences", ())),
        )

    def facts(self, node: LynqNode, resource: TResource) -> ResourceFacts:
        renderer = Renderer.of(node, variables_of(node))
        namespaced = resource.spec["kind"] != "Namespace"
        try:
            rendered = renderer.render(resource, namespaced=namespaced)
        except RenderError as error:
            return ResourceFacts(resource=resource, render_error=str(error))
        desired = prepare(rendered, resource, owner_of(node))
        return ResourceFacts(resource=resource, desired=desired, live=self.live(desired.ref))

    def reconcile(self, node: LynqNode) -> NodeStatus:
        around = PassContext(owner_of(node), NOW)
        graph = build_graph(entries_of(node.spec))
        while True:
            facts = {
                resource.id: self.facts(node, resource) for resource in all_resources(node.spec)
            }
            step = next_step(graph, facts, around)
            for write in step.writes:
                self.writes += 1
                self.objects[write.ref] = msgspec.json.decode(msgspec.json.encode(write.obj))
            if not step.writes:
                break
        pruning, unresolved = self.prune(node, facts)
        report = StatusReport(
            namespace="shop",
            generation=node.metadata.generation,
            outcomes=step.outcomes,
            pruning=pruning,
            unresolved=unresolved,
        )
        self.status = next_status(self.status, report, NOW)
        return self.status

    def prune(
        self, node: LynqNode, facts: dict[str, ResourceFacts]
    ) -> tuple[tuple[ResourceOutcome, ...], list[InventoryItem]]:
        inventory = read_inventory(self.status, "shop", variables_of(node))
        unresolved = {id_ for id_, fact in facts.items() if fact.desired is None}
        desired = [fact.ref for fact in facts.values() if fact.desired is not None]
        stale = [item for item in stale_items(inventory, desired) if item.id not in unresolved]
        pruning = self.remove(node, tuple(stale))
        return pruning, [item for item in inventory if item.id in unresolved]

    def remove(
        self, node: LynqNode, items: tuple[InventoryItem, ...]
    ) -> tuple[ResourceOutcome, ...]:
        while True:
            step = next_prune_step(
                entries_of(node.spec),
                [PruneCandidate(item, self.live(item.ref)) for item in items],
                owner_of(node),
                OrphanReason.LYNQ_NODE_DELETED,
            )
            for deletion in step.deletions:
                self.writes += 1
                gone = self.objects.pop(deletion.item.ref)
                if deletion.retain:
                    gone["metadata"]["labels"] = {"lynq.sh/orphaned": "true"}
                    self.objects[deletion.item.ref] = gone
            if not step.deletions:
                return step.outcomes

    def names(self) -> set[str]:
        return {ref.name for ref in self.objects}


def node_with(*resources: TResource, plan: str = "pro") -> LynqNode:
    return a_node(*resources, extra=f'{{"n":"0","plan":"{plan}"}}', rollout_update_start="")


def test_node_is_created_changed_and_deleted() -> None:
    cluster = Cluster()
    node = node_with(WEB, CONFIG, SPACE)

    first = cluster.reconcile(node)
    assert cluster.names() == {"acme-config", "acme-web", "tenant-acme"}
    assert cluster.writes == 3
    assert first.applied_resources == (
        "ConfigMap/shop/acme-config@config",
        "Deployment/shop/acme-web@web",
        "Namespace/shop/tenant-acme@space",
    )

    cluster.writes = 0
    assert cluster.reconcile(node) == first
    assert cluster.writes == 0

    cluster.reconcile(node_with(WEB, CONFIG, SPACE, plan="free"))
    assert cluster.writes == 1

    fewer = cluster.reconcile(node_with(CONFIG))
    assert cluster.names() == {"acme-config", "tenant-acme"}
    assert fewer.applied_resources == ("ConfigMap/shop/acme-config@config",)

    gone = cluster.remove(node, read_inventory(fewer, "shop", {}))
    assert gone == ()
    assert cluster.names() == {"tenant-acme"}


def test_broken_template_deletes_nothing() -> None:
    cluster = Cluster()
    before = cluster.reconcile(node_with(CONFIG, SPACE))
    broken = msgspec.structs.replace(CONFIG, spec={**CONFIG.spec, "data": {"x": "{{ .typo }}"}})
    after = cluster.reconcile(node_with(broken, SPACE))
    assert cluster.names() == {"acme-config", "tenant-acme"}
    assert after.applied_resources == before.applied_resources
    assert '"typo"' in after.resources[0].message
    assert cluster.reconcile(node_with(CONFIG, SPACE)).failed_resources == 0


def test_step_depends_on_its_arguments_only() -> None:
    node = node_with(CONFIG)
    cluster = Cluster()
    cluster.reconcile(node)
    facts = {"config": cluster.facts(node, CONFIG)}
    around = PassContext(owner_of(node), NOW + timedelta(days=1), force=True)
    forced = next_step(build_graph(entries_of(node.spec)), facts, around)
    again = next_step(build_graph(entries_of(node.spec)), facts, replace(around))
    assert forced == again
    assert [write.cause for write in forced.writes] == [WriteCause.FORCED]
