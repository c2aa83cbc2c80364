"""The rounds of a node's finalizer: what is pruned and reported, and when the finalizer ends."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace as replace_fields
from prometheus_client import CollectorRegistry

from lynq.api import LynqForm, LynqHub, LynqNode, NodeStatus, ResourceState
from lynq.api.events import Event, EventReason
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_PROTECT, ANNOTATION_RETAIN, FINALIZER_NODE, TRUE
from lynq.api.reasons import OrphanReason
from lynq.controllers.children import KindNotWatched
from lynq.controllers.context import ControllerContext
from lynq.controllers.node.finalize import NodeFinalizer
from lynq.controllers.node.prune import PruneResult
from lynq.controllers.node.release import ReleasedObject
from lynq.controllers.node.state import NodePass, NodeState
from lynq.controllers.options import Options
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import ObjectRef
from lynq.core.node.prune import ObjectDeletion
from lynq.core.node.state import ResourceOutcome
from lynq.kube import Result, RuntimeMetrics
from lynq.kube.errors import UnknownKind
from lynq.kube.requests import FINALIZER_ORPHAN
from lynq.kube.resource import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS
from lynq.telemetry import OperatorMetrics
from memory.api_server import MemoryApiServer
from operated.builders import NODE, entry
from operated.environment import FORMS, HUBS, NODES, Environment, Object

REF = ObjectRef("v1", "ConfigMap", "test", "settings")
ITEM = InventoryItem("settings", REF)
HELD = "example.com/hold"
HUB_SPEC: Object = {
    "source": {"type": "sqlite", "sqlite": {"path": "rows.db", "table": "tenants"}},
    "valueMappings": {"uid": "uid", "activate": "active"},
}


@dataclass
class Pruned:
    """A pruner that answers with `result`, and records what it is called with."""

    result: PruneResult = field(default_factory=PruneResult)
    applied: list[InventoryItem] = field(default_factory=list)
    errors: dict[ObjectRef, str] = field(default_factory=dict)
    seconds: float = 0.0
    """How long it takes."""
    items: list[set[ObjectRef]] = field(default_factory=list)
    listed: set[ObjectRef] = field(default_factory=set)
    retained_all: list[bool] = field(default_factory=list)
    nodes: list[LynqNode] = field(default_factory=list)

    def applied_objects(self, _: LynqNode) -> list[InventoryItem]:
        return self.applied

    async def prune(
        self,
        node_pass: NodePass,
        items: Iterable[InventoryItem],
        reason: OrphanReason,
        *,
        retain_all: bool,
    ) -> PruneResult:
        assert reason is OrphanReason.LYNQ_NODE_DELETED
        await asyncio.sleep(self.seconds)
        items = tuple(items)
        self.items.append({item.ref for item in items})
        self.listed.update(item.ref for item in items if item.is_listed)
        self.retained_all.append(retain_all)
        self.nodes.append(node_pass.node)
        node_pass.prune_errors.update(self.errors)
        return self.result


@dataclass
class Reported:
    """A reporter that records events and statuses."""

    events: list[Event] = field(default_factory=list)
    of_objects: list[tuple[ObjectRef, str, Event]] = field(default_factory=list)
    statuses: list[NodeStatus] = field(default_factory=list)

    def emit(self, _: LynqNode, events: Iterable[Event]) -> None:
        self.events += events

    def emit_for_object(self, ref: ObjectRef, uid: str, event: Event) -> None:
        self.of_objects.append((ref, uid, event))

    async def write_now(self, _: LynqNode, status: NodeStatus) -> None:
        self.statuses.append(status)

    def reasons(self) -> list[EventReason]:
        return [event.reason for event in self.events]


@dataclass
class Kinds:
    """A reader that knows ConfigMaps, and fails for other kinds."""

    error: Exception

    async def kind(self, _: str, kind: str) -> Any:
        if kind != "ConfigMap":
            raise self.error
        return SimpleNamespace(resource=CONFIG_MAPS)


@dataclass
class Rounds:
    """A finalizer with its parts."""

    env: Environment
    context: ControllerContext
    registry: CollectorRegistry
    pruned: Pruned = field(default_factory=Pruned)
    reported: Reported = field(default_factory=Reported)
    reader: Kinds = field(default_factory=lambda: Kinds(UnknownKind("no such kind")))
    state: NodeState = field(default_factory=lambda: NodeState("1"))
    hubs: dict[ObjectKey, LynqHub] = field(default_factory=dict)
    forms: dict[ObjectKey, LynqForm] = field(default_factory=dict)

    def __post_init__(self) -> None:
        caches: Any = {"hubs": self.hubs, "forms": self.forms}
        self.context = replace(self.context, **caches)
        parts: tuple[Any, Any, Any] = (self.reader, self.pruned, self.reported)
        self.finalizer = NodeFinalizer(self.context, *parts)

    async def create(self, *config_maps: Object, **metadata: Any) -> LynqNode:
        """Create a node with the finalizer."""
        spec = {"uid": "acme", "templateRef": "web", "configMaps": list(config_maps)}
        metadata = {"name": NODE, "namespace": self.env.namespace} | metadata
        metadata.setdefault("finalizers", [FINALIZER_NODE])
        await self.env.client.create(NODES, {"metadata": metadata, "spec": spec})
        return await self.node()

    async def create_deleted(self, *config_maps: Object, **metadata: Any) -> LynqNode:
        """Create a node with the finalizer, and delete it."""
        await self.create(*config_maps, **metadata)
        await self.env.client.delete(NODES, NODE, self.env.namespace)
        self.state.finalizer.deletion_observed_at = asyncio.get_running_loop().time()
        return await self.node()

    async def node(self) -> LynqNode:
        return await self.env.client.get(NODES, NODE, self.env.namespace, into=LynqNode)

    async def round(self, node: LynqNode) -> Result:
        return await self.finalizer.finalize(node, self.state)

    async def create_protected(self, resource: Any, into: Any, name: str, spec: Object) -> Any:
        """Create a protected hub or form that is being deleted."""
        annotations = {ANNOTATION_PROTECT: TRUE}
        metadata = {
            "name": name,
            "namespace": self.env.namespace,
            "finalizers": [HELD],
            "annotations": annotations,
        }
        await self.env.client.create(resource, {"metadata": metadata, "spec": spec})
        await self.env.client.delete(resource, name, self.env.namespace)
        return await self.env.client.get(resource, name, self.env.namespace, into=into)


@pytest.fixture
def rounds(env: Environment, api_server: MemoryApiServer) -> Rounds:
    # Only the waits of a test take time.
    api_server.latency = 0.0
    registry = CollectorRegistry()
    context = ControllerContext.of(
        env.client.intercepted(env.requests),
        Options(namespaces=(env.namespace,)),
        RuntimeMetrics.unexposed(),
        OperatorMetrics(registry),
    )
    return Rounds(env, replace(context, clock=env.clock), registry)


def remaining(message: str = "it has a finalizer") -> ResourceOutcome:
    return ResourceOutcome(
        id="settings", ref=REF, state=ResourceState.DELETING, reason="Deleting", message=message
    )


async def test_node_without_the_finalizer_is_left_alone(rounds: Rounds) -> None:
    node = await rounds.create_deleted(finalizers=[HELD])
    assert await rounds.round(node) == Result()
    assert rounds.pruned.items == []


async def test_finalizer_is_removed_when_nothing_remains(rounds: Rounds) -> None:
    node = await rounds.create_deleted(finalizers=[HELD, FINALIZER_NODE])
    rounds.pruned.seconds = 3.0
    assert await rounds.round(node) == Result()
    assert list((await rounds.node()).metadata.finalizers) == [HELD]
    assert rounds.reported.reasons() == [EventReason.LYNQ_NODE_DELETED]
    seconds = "lynqnode_reconcile_duration_seconds_sum"
    assert rounds.registry.get_sample_value(seconds, {"result": "success"}) == pytest.approx(3.0)


async def test_node_with_the_finalizer_alone_is_gone(rounds: Rounds) -> None:
    node = await rounds.create_deleted()
    await rounds.round(node)
    assert await rounds.env.nodes() == {}
    rounds.reported.events.clear()
    assert await rounds.round(node) == Result()
    assert rounds.reported.events == []


async def test_rounds_back_off_while_an_object_remains(rounds: Rounds) -> None:
    node = await rounds.create_deleted()
    rounds.pruned.result.remaining = [remaining()]
    delays = [(await rounds.round(node)).requeue_after for _ in range(4)]
    assert delays == [1.0, 2.0, 4.0, 8.0]
    assert list((await rounds.node()).metadata.finalizers) == [FINALIZER_NODE]
    assert rounds.reported.events == []


async def test_remaining_objects_are_reported_after_a_while(rounds: Rounds) -> None:
    node = await rounds.create_deleted()
    rounds.pruned.result.remaining = [remaining()]
    delay = rounds.context.timing.deletion_report_delay.total_seconds()
    await asyncio.sleep(delay - 0.5)
    await rounds.round(node)
    assert rounds.reported.statuses == []
    await asyncio.sleep(0.5)
    await rounds.round(node)
    (status,) = rounds.reported.statuses
    assert "it has a finalizer" in status.conditions[0].message


async def test_node_that_is_not_deleted_reports_no_deletion(rounds: Rounds) -> None:
    """The finalizer runs for a node whose deletion was seen; the type allows another one."""
    node = await rounds.create()
    rounds.pruned.result.remaining = [remaining()]
    await rounds.round(node)
    assert rounds.reported.statuses == []


# What is pruned


async def test_objects_of_cache_spec_and_status_are_pruned(rounds: Rounds) -> None:
    applied, listed = REF._replace(name="applied"), REF._replace(name="listed")
    rounds.pruned.applied.append(InventoryItem("old", applied, is_listed=False))
    await rounds.create(entry("desired"))
    status = {"appliedResources": [f"ConfigMap/{REF.namespace}/listed@listed"]}
    await rounds.env.client.patch(
        NODES, NODE, {"status": status}, rounds.env.namespace, subresource="status"
    )
    await rounds.round(await rounds.node())
    assert rounds.pruned.items == [{applied, listed, REF._replace(name="desired")}]
    assert rounds.pruned.listed == {listed}


@pytest.mark.parametrize("error", [UnknownKind("no such kind"), KindNotWatched("not watched")])
async def test_entries_that_name_no_object_are_passed_over(
    rounds: Rounds, error: Exception
) -> None:
    rounds.reader.error = error
    widget = {"apiVersion": "example.com/v1", "kind": "Widget"}
    broken = entry("broken") | {"nameTemplate": "{{ fail `no` }}"}
    node = await rounds.create_deleted(
        entry("widget") | {"spec": widget}, broken, entry("settings")
    )
    await rounds.round(node)
    assert rounds.pruned.items == [{REF}]


async def test_node_with_unreadable_variables_is_pruned(rounds: Rounds) -> None:
    node = await rounds.create_deleted(entry("settings"), annotations={"lynq.sh/extra": "no JSON"})
    await rounds.round(node)
    assert rounds.pruned.items == [{REF}]


# Retained as a whole


async def test_objects_are_not_retained_without_a_reason(rounds: Rounds) -> None:
    node = await rounds.create_deleted()
    rounds.pruned.result.remaining = [remaining()]
    for _ in range(2):
        await rounds.round(node)
    assert rounds.pruned.retained_all == [False, False]
    # The definition is read once: it existed after the deletion.
    assert rounds.state.finalizer.is_deletion_explicit
    assert [request.verb for request in rounds.env.requests.sent] == ["get"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"finalizers": [FINALIZER_NODE, FINALIZER_ORPHAN]},
        {"annotations": {ANNOTATION_RETAIN: TRUE, "note": "mine"}},
    ],
    ids=["finalizer", "annotation"],
)
async def test_orphaning_deletion_retains_all_and_is_recorded(
    rounds: Rounds, metadata: dict[str, Any]
) -> None:
    node = await rounds.create(**metadata)
    rounds.pruned.result.remaining = [remaining()]
    await rounds.round(node)
    assert rounds.pruned.retained_all == [True]
    (pruned,) = rounds.pruned.nodes
    recorded = {**metadata.get("annotations", {}), ANNOTATION_RETAIN: TRUE}
    assert pruned.metadata.annotations == (await rounds.node()).metadata.annotations == recorded
    is_recorded = ANNOTATION_RETAIN in metadata.get("annotations", {})
    sent = [request.verb for request in rounds.env.requests.sent]
    assert sent == ([] if is_recorded else ["patch"])


async def test_deleted_definition_retains_all_for_good(rounds: Rounds) -> None:
    node = await rounds.create()
    definition = NODES.name
    held = {"metadata": {"finalizers": [HELD]}}
    await rounds.env.client.patch(CUSTOM_RESOURCE_DEFINITIONS, definition, held)
    await rounds.env.client.delete(CUSTOM_RESOURCE_DEFINITIONS, definition)
    rounds.pruned.result.remaining = [remaining()]
    await rounds.round(node)
    assert not rounds.state.finalizer.is_deletion_explicit
    await rounds.env.patch(NODES, NODE, {"metadata": {"annotations": None}})
    await rounds.round(await rounds.node())
    assert rounds.pruned.retained_all == [True, True]
    assert [request.verb for request in rounds.env.requests.sent] == ["get", "patch", "patch"]


# Protection


async def test_protected_objects_block_and_are_reported_once_each(rounds: Rounds) -> None:
    namespace = rounds.env.namespace
    hub = await rounds.create_protected(HUBS, LynqHub, "hub", HUB_SPEC)
    form = await rounds.create_protected(FORMS, LynqForm, "web", {"hubId": "hub"})
    reference = {"apiVersion": HUBS.api_version, "kind": HUBS.kind, "name": "hub", "uid": "1"}
    node = await rounds.create_deleted(ownerReferences=[reference])
    rounds.forms[ObjectKey(namespace, "web")] = form
    delays = [(await rounds.round(node)).requeue_after for _ in range(2)]
    assert delays == [1.0, 2.0]
    rounds.hubs[ObjectKey(namespace, "hub")] = hub
    await rounds.round(node)
    messages = [event.message for event in rounds.reported.events]
    assert ["LynqForm web" in messages[0], "LynqHub hub" in messages[1]] == [True, True]
    assert len(messages) == 2
    assert rounds.pruned.items == []
    # Unprotected for a moment, and then again.
    rounds.hubs.clear()
    rounds.forms.clear()
    rounds.pruned.result.remaining = [remaining()]
    await rounds.round(node)
    assert len(rounds.pruned.items) == 1
    rounds.hubs[ObjectKey(namespace, "hub")] = hub
    await rounds.round(node)
    assert len(rounds.reported.events) == 3


# Events


@pytest.mark.parametrize("hub", ["deleted", "there", "none"])
async def test_retained_objects_are_reported(rounds: Rounds, hub: str) -> None:
    if hub != "none":
        protected = await rounds.create_protected(HUBS, LynqHub, "hub", HUB_SPEC)
        deleted_at = protected.metadata.deletion_timestamp if hub == "deleted" else None
        metadata = replace_fields(protected.metadata, deletion_timestamp=deleted_at)
        rounds.hubs[ObjectKey(rounds.env.namespace, "hub")] = replace_fields(
            protected, metadata=metadata
        )
    node = await rounds.create_deleted(annotations={"lynq.sh/hubId": "hub"})
    reason = OrphanReason.LYNQ_NODE_DELETED
    rounds.pruned.result.retained.append(ObjectDeletion(ITEM, "2", "7", retain=True, reason=reason))
    await rounds.round(node)
    expected = [EventReason.RESOURCE_RETAINED, EventReason.LYNQ_NODE_DELETED]
    if hub == "deleted":
        expected.insert(1, EventReason.RETAIN_RESOURCE_PRESERVED)
    assert rounds.reported.reasons() == expected
    ((ref, uid, event),) = rounds.reported.of_objects
    assert (ref, uid, event.reason) == (REF, "2", EventReason.ORPHAN_MARKERS_ADDED)


@pytest.mark.parametrize("kept_fields", [True, False])
async def test_released_objects_are_reported(rounds: Rounds, *, kept_fields: bool) -> None:
    node = await rounds.create_deleted()
    rounds.pruned.result.released.append(ReleasedObject(ITEM, "2", kept_fields=kept_fields))
    await rounds.round(node)
    event = rounds.reported.events[0]
    assert (event.reason, event.warns) == (EventReason.ADOPTED_RESOURCE_RELEASED, kept_fields)


async def test_failures_are_reported_when_they_change(rounds: Rounds) -> None:
    node = await rounds.create_deleted()
    other = REF._replace(name="other")
    waits = ResourceOutcome(
        id="other", ref=other, state=ResourceState.DELETING, reason="Deleting", message="waits"
    )
    rounds.pruned.result.remaining = [remaining("waits"), waits]
    await rounds.round(node)
    assert rounds.reported.events == []
    rounds.pruned.errors[REF] = "denied"
    for message in ("denied", "denied", "denied again"):
        rounds.pruned.result.remaining = [remaining(message), waits]
        await rounds.round(node)
    reasons = rounds.reported.reasons()
    assert reasons == [EventReason.CLEANUP_PARTIAL_FAILURE] * 2
    assert "other" not in rounds.reported.events[0].message
    # A failure that comes back is a new one.
    rounds.pruned.errors.clear()
    await rounds.round(node)
    rounds.pruned.errors[REF] = "denied again"
    await rounds.round(node)
    assert len(rounds.reported.events) == 3
