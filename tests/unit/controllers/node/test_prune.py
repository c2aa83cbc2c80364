"""Pruning: which objects are deleted, retained or released, in which order, and what remains."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import pytest_asyncio
from msgspec.json import decode
from prometheus_client import CollectorRegistry

from background_tasks import run_in_background
from built_in_resources import DEPLOYMENTS
from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.names import (
    ANNOTATION_ADOPTED,
    ANNOTATION_TRACKING_ID,
    FIELD_MANAGER,
    LABEL_MANAGED,
    LABEL_NODE,
    LABEL_NODE_NAMESPACE,
    TRUE,
)
from lynq.api.reasons import OrphanReason
from lynq.controllers.children import Children
from lynq.controllers.context import ControllerContext
from lynq.controllers.impersonation import ClientSelector
from lynq.controllers.node.object_reader import ObjectReader
from lynq.controllers.node.prune import Pruner, PruneResult
from lynq.controllers.node.state import NodePass, NodeState
from lynq.controllers.options import Options
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import ObjectIdentity, ObjectRef, owner_of
from lynq.core.node.ownership import tracking_id
from lynq.kube import Discovery, Interceptor, Request, Resource, Response, RuntimeMetrics, Send
from lynq.kube.errors import Fenced, KubeError
from lynq.kube.resource import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from lynq.telemetry import OperatorMetrics
from memory.api_server import MemoryApiServer
from operated.builders import NODE, create_node, entry, exists, labels
from operated.environment import NODES, Environment, Object
from operated.manifests import deployment
from waiting import eventually

REASON = OrphanReason.REMOVED_FROM_TEMPLATE
HELD: Object = {"finalizers": ["example.com/hold"]}


@dataclass
class Claims:
    """The nodes that desire objects of others, by name: in the caches, and now."""

    cached: dict[str, str] = field(default_factory=dict)
    current: dict[str, str] = field(default_factory=dict)
    reads: int = 0

    def contender(self, ref: ObjectRef, _: LynqNode) -> str:
        return self.cached.get(ref.name, "")

    async def current_contenders(self, _: LynqNode) -> dict[ObjectIdentity, str]:
        self.reads += 1
        return {
            ObjectRef("v1", "ConfigMap", "test", name).identity: node
            for name, node in self.current.items()
        }


@dataclass
class Gate:
    """Sends the writes of objects, except for those that it defers."""

    deferred: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    before: Callable[[], Awaitable[None]] | None = None
    """What happens while a write waits."""

    async def send(
        self, _: LynqNode, ref: ObjectRef, write: Callable[[], Awaitable[bool]]
    ) -> bool | None:
        self.asked.append(ref.name)
        if ref.name in self.deferred:
            return None
        if self.before:
            await self.before()
        return await write()


@dataclass
class Pruning:
    """A pruner on the API server in memory."""

    env: Environment
    context: ControllerContext
    node_pass: NodePass
    children: Children
    discovery: Discovery
    claims: Claims = field(default_factory=Claims)
    gate: Gate = field(default_factory=Gate)

    def __post_init__(self) -> None:
        self.intercept()

    def intercept(self, *interceptors: Interceptor) -> None:
        """Make a pruner whose requests are intercepted."""
        client = self.context.client.intercepted(*interceptors)
        self.context = replace(self.context, client=client)
        parts: dict[str, Any] = {"claims": self.claims, "gate": self.gate}
        self.pruner = Pruner(
            self.context,
            ClientSelector(self.context),
            ObjectReader(client, self.children, self.discovery),
            self.children,
            self.discovery,
            **parts,
        )

    async def apply(self, name: str, resource: Resource = CONFIG_MAPS, **parts: Any) -> Object:
        """Apply an object as the operator does, tied to the node by labels."""
        ref = ref_of(name, resource)
        owner = owner_of(self.node_pass.node)
        metadata: Object = {
            "name": name,
            "namespace": ref.namespace,
            "labels": {
                LABEL_MANAGED: TRUE,
                LABEL_NODE: owner.name,
                LABEL_NODE_NAMESPACE: owner.namespace,
            },
            "annotations": {ANNOTATION_TRACKING_ID: tracking_id(ref, owner)},
        }
        metadata |= parts.pop("metadata", {})
        body = {"metadata": metadata, **parts}
        return await self.env.client.apply(resource, body, manager=FIELD_MANAGER)

    async def watch(self, resource: Resource = CONFIG_MAPS) -> None:
        """Start the watch of a kind, and wait for its objects."""
        await self.discovery.resource(resource.api_version, resource.kind)
        kind = await self.children.watched(resource)
        listed = await self.env.client.list(resource, self.env.namespace)
        names = {obj["metadata"]["name"] for obj in listed.items if labels(obj)}
        await eventually(lambda: {key.name for key, _ in kind.cache.items()} == names)
        self.env.requests.sent.clear()

    async def prune(self, *items: str | InventoryItem, **options: Any) -> PruneResult:
        located = [each if isinstance(each, InventoryItem) else item(each) for each in items]
        return await self.pruner.prune(self.node_pass, located, REASON, **options)

    def sent(self) -> list[tuple[str, str]]:
        """Return verb and name of all requests about objects."""
        return [
            (request.verb, request.path.rpartition("/")[2]) for request in self.env.requests.sent
        ]

    def next_pass(self) -> None:
        self.node_pass = NodePass.for_finalizer(self.node_pass.node, self.node_pass.state, 0.0)
        self.env.requests.sent.clear()


def ref_of(name: str, resource: Resource = CONFIG_MAPS) -> ObjectRef:
    return ObjectRef(resource.api_version, resource.kind, "test", name)


def item(name: str, resource: Resource = CONFIG_MAPS, **parts: Any) -> InventoryItem:
    return InventoryItem(name, ref_of(name, resource), **parts)


def decoded(request: Request) -> Object:
    body: Object = decode(request.body or b"{}")
    return body


def messages(result: PruneResult) -> dict[str, str]:
    return {outcome.ref.name: outcome.message for outcome in result.remaining}


@pytest_asyncio.fixture(loop_scope="function")
async def pruning(env: Environment) -> AsyncIterator[Pruning]:
    await create_node(env, entry("desired"), entry("dependent", dependIds=["base"]), entry("base"))
    node = await env.client.get(NODES, NODE, env.namespace, into=LynqNode)
    options = Options(namespaces=(env.namespace,), timing=env.timing)
    metrics = RuntimeMetrics.unexposed()
    client = env.client.intercepted(env.requests)
    context = ControllerContext.of(client, options, metrics, OperatorMetrics(CollectorRegistry()))
    context = replace(context, clock=env.clock)
    discovery = Discovery(client)
    children = Children(
        client, discovery, metrics, on_change=lambda _: None, namespaces=(env.namespace,)
    )
    node_pass = NodePass.for_finalizer(node, NodeState(node.metadata.uid), 0.0)
    async with run_in_background(children.run()):
        yield Pruning(env, context, node_pass, children, discovery)


# Which objects


async def test_applied_objects_are_those_that_the_node_owns(pruning: Pruning) -> None:
    node = pruning.node_pass.node
    by_labels = await pruning.apply("by-labels")
    owner = {
        "apiVersion": NODES.api_version,
        "kind": "LynqNode",
        "name": NODE,
        "uid": node.metadata.uid,
    }
    managed = {"labels": {LABEL_MANAGED: TRUE}, "annotations": {}, "ownerReferences": [owner]}
    await pruning.apply("by-owner", metadata=managed)
    # Labels without the tracking id are copied, and other managers copy all of them.
    await pruning.apply("copy", metadata={"annotations": {}})
    metadata = {
        key: by_labels["metadata"][key] for key in ("labels", "annotations", "namespace")
    } | {"name": "theirs", "ownerReferences": [owner]}
    await pruning.env.client.create(CONFIG_MAPS, {"metadata": metadata}, manager="theirs")
    await pruning.watch()
    items = pruning.pruner.applied_objects(node)
    assert {item.ref.name for item in items} == {"by-labels", "by-owner"}
    assert not any(item.is_listed for item in items)


async def test_nothing_to_prune_sends_nothing(pruning: Pruning) -> None:
    assert await pruning.prune() == PruneResult()
    assert pruning.env.requests.sent == []


async def test_object_is_deleted_with_what_was_decided_about(
    pruning: Pruning, api_server: MemoryApiServer
) -> None:
    created = await pruning.apply("settings")
    await pruning.watch()
    kind = await pruning.children.watched(CONFIG_MAPS)
    await break_watch(api_server)
    result = await pruning.prune("settings")
    assert [item.ref.name for item in result.deleted] == ["settings"]
    assert result.remaining == ()
    (request,) = [each for each in pruning.env.requests.sent if each.verb == "delete"]
    body = decoded(request)
    metadata = created["metadata"]
    assert body["preconditions"] == {
        "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
    }
    assert body["propagationPolicy"] == "Background"
    # Neither the cache nor a read shows it again.
    assert kind.child(ObjectKey("test", "settings")) is None
    pruning.next_pass()
    assert (await pruning.prune("settings")).deleted == []
    assert ("delete", "settings") not in pruning.sent()
    assert ("get", "settings") not in pruning.sent()


async def test_workload_is_deleted_in_the_foreground(pruning: Pruning) -> None:
    manifest = deployment("web")
    await pruning.apply("web", DEPLOYMENTS, spec=manifest["spec"])
    await pruning.watch(DEPLOYMENTS)
    await pruning.prune(item("web", DEPLOYMENTS))
    (request,) = [each for each in pruning.env.requests.sent if each.verb == "delete"]
    assert decoded(request)["propagationPolicy"] == "Foreground"


async def test_object_that_does_not_exist_is_read_once(pruning: Pruning) -> None:
    await pruning.watch()
    assert (await pruning.prune("settings")).remaining == ()
    assert pruning.sent() == [("get", "settings")]
    pruning.next_pass()
    await pruning.prune("settings")
    assert pruning.sent() == []


async def test_object_of_another_node_is_left_alone(pruning: Pruning) -> None:
    await pruning.apply("settings", metadata={"annotations": {}, "labels": {LABEL_MANAGED: TRUE}})
    await pruning.watch()
    assert (await pruning.prune("settings")).remaining == ()
    assert pruning.sent() == []


async def test_deleted_object_with_a_finalizer_remains_and_is_deleted_once(
    pruning: Pruning, api_server: MemoryApiServer
) -> None:
    await pruning.apply("settings", metadata=HELD)
    await pruning.watch()
    await break_watch(api_server)
    result = await pruning.prune("settings")
    assert [item.ref.name for item in result.deleted] == ["settings"]
    assert "waiting for its pods or finalizers" in messages(result)["settings"]
    pruning.next_pass()
    result = await pruning.prune("settings")
    assert "waiting for its pods or finalizers" in messages(result)["settings"]
    assert ("delete", "settings") not in pruning.sent()


async def test_held_object_is_observed_and_kept(pruning: Pruning) -> None:
    await pruning.apply("settings")
    await pruning.apply("other")
    await pruning.watch()
    held = {item("settings"): "its successor is accepted", item("absent"): "anything"}
    result = await pruning.prune("other", held=held)
    assert [item.ref.name for item in result.deleted] == ["other"]
    assert messages(result) == {
        "settings": "no longer desired; kept until its successor is accepted"
    }


# Retained, released


async def test_retained_id_of_the_form_retains_an_object_that_left_it(pruning: Pruning) -> None:
    await pruning.apply("settings")
    await pruning.apply("other")
    await pruning.watch()
    form = ObjectKey(pruning.env.namespace, "web")
    pruning.context.retained_ids.set(form, frozenset({"settings"}))
    result = await pruning.prune("settings", "other")
    assert [each.item.ref.name for each in result.retained] == ["settings"]
    assert [item.ref.name for item in result.deleted] == ["other"]


async def test_whole_node_is_retained(pruning: Pruning) -> None:
    created = await pruning.apply("settings")
    await pruning.watch()
    result = await pruning.prune("settings", retain_all=True)
    assert [(each.item.ref.name, each.uid) for each in result.retained] == [
        ("settings", created["metadata"]["uid"])
    ]
    assert result.deleted == []
    assert pruning.sent() == [("get", "settings"), ("patch", "settings")]


async def test_adopted_object_is_released_once(
    pruning: Pruning, api_server: MemoryApiServer
) -> None:
    """The watch, which is late here, still shows it as owned."""
    created = await pruning.apply("settings")
    note = {"metadata": {"annotations": {ANNOTATION_ADOPTED: TRUE}}}
    await pruning.env.client.patch(
        CONFIG_MAPS, "settings", note, pruning.env.namespace, manager=FIELD_MANAGER
    )
    await pruning.watch()
    await break_watch(api_server)
    result = await pruning.prune("settings")
    (released,) = result.released
    assert (released.item.ref.name, released.uid) == ("settings", created["metadata"]["uid"])
    assert released.kept_fields is False
    assert result.remaining == ()
    assert labels(await pruning.env.get(CONFIG_MAPS, "settings")) == {}
    pruning.next_pass()
    assert (await pruning.prune("settings")).remaining == ()
    assert ("get", "settings") not in pruning.sent()


# Waves


async def test_dependents_are_pruned_first_and_each_wave_is_confirmed(pruning: Pruning) -> None:
    await pruning.apply("dependent")
    await pruning.apply("base")
    await pruning.watch()
    confirmed: list[list[tuple[str, str]]] = []

    async def confirm() -> None:
        confirmed.append(pruning.sent())

    result = await pruning.prune("base", "dependent", confirm=confirm)
    assert [item.ref.name for item in result.deleted] == ["dependent", "base"]
    assert confirmed == [[], [("delete", "dependent")]]


async def test_pass_that_is_not_confirmed_deletes_nothing(pruning: Pruning) -> None:
    await pruning.apply("settings")
    await pruning.watch()

    async def confirm() -> None:
        raise RuntimeError("the node has changed")

    with pytest.raises(RuntimeError):
        await pruning.prune("settings", confirm=confirm)
    assert await exists(pruning.env, "settings")


async def test_deferred_deletion_is_asked_for_once(pruning: Pruning) -> None:
    await pruning.apply("slow")
    await pruning.apply("settings")
    await pruning.watch()
    pruning.gate.deferred.add("slow")
    result = await pruning.prune("slow", "settings")
    assert [item.ref.name for item in result.deleted] == ["settings"]
    assert messages(result) == {"slow": "being deleted"}
    assert pruning.gate.asked == ["slow", "settings"]


# Contenders


async def test_object_that_a_cached_node_desires_is_retained(pruning: Pruning) -> None:
    await pruning.apply("settings")
    await pruning.watch()
    pruning.claims.cached["settings"] = 'LynqNode "beta-web"'
    result = await pruning.prune("settings")
    assert [each.item.ref.name for each in result.retained] == ["settings"]
    assert pruning.claims.reads == 0


async def test_object_that_a_node_desires_now_is_retained(pruning: Pruning) -> None:
    await pruning.apply("settings")
    await pruning.watch()
    pruning.claims.current["settings"] = 'LynqNode "beta-web"'
    result = await pruning.prune("settings")
    assert [each.item.ref.name for each in result.retained] == ["settings"]
    assert result.deleted == []
    assert pruning.claims.reads == 1


@pytest.mark.parametrize("seen", ["cached", "current"])
async def test_object_that_becomes_desired_while_its_deletion_waits_is_retained(
    pruning: Pruning, seen: str
) -> None:
    await pruning.apply("settings")
    await pruning.watch()

    async def desire() -> None:
        getattr(pruning.claims, seen)["settings"] = 'LynqNode "beta-web"'
        if seen == "current":
            await asyncio.sleep(pruning.context.timing.contenders_lifetime)

    pruning.gate.before = desire
    result = await pruning.prune("settings")
    assert [each.item.ref.name for each in result.retained] == ["settings"]
    assert result.deleted == []


async def test_contenders_that_were_just_read_are_not_read_again(pruning: Pruning) -> None:
    await pruning.apply("settings")
    await pruning.watch()

    async def wait() -> None:
        await asyncio.sleep(pruning.context.timing.contenders_lifetime - 0.01)

    pruning.gate.before = wait
    assert (await pruning.prune("settings")).deleted
    assert pruning.claims.reads == 1


async def test_deletion_that_failed_reads_no_contenders_again(pruning: Pruning) -> None:
    await pruning.apply("settings")
    await pruning.watch()
    pruning.env.requests.failing.add(("delete", "/settings"))
    await pruning.prune("settings")
    assert pruning.claims.reads == 1


# Failures


async def test_failed_deletion_is_tried_once_in_a_pass(pruning: Pruning) -> None:
    await pruning.apply("settings")
    await pruning.watch()
    pruning.env.requests.failing.add(("delete", "/settings"))
    result = await pruning.prune("settings")
    assert pruning.sent() == [("delete", "settings")]
    message = "could not delete the object; retrying: failed by the test"
    assert messages(result) == {"settings": message}
    assert pruning.node_pass.prune_errors == {ref_of("settings"): message}


@pytest.mark.parametrize(
    ("metadata", "options", "verb"),
    [({}, {"retain_all": True}, "retain"), ({"adopted": TRUE}, {}, "release")],
)
async def test_message_says_what_failed(
    pruning: Pruning, metadata: dict[str, str], options: dict[str, Any], verb: str
) -> None:
    created = await pruning.apply("settings")
    if metadata:
        annotations = created["metadata"]["annotations"] | {ANNOTATION_ADOPTED: TRUE}
        await pruning.apply("settings", metadata={"annotations": annotations})
    await pruning.watch()
    pruning.env.requests.failing.add(("patch" if verb == "retain" else "apply", "/settings"))
    result = await pruning.prune("settings", **options)
    assert messages(result)["settings"].startswith(f"could not {verb} the object; retrying: ")


async def test_changed_object_is_decided_about_again_once(pruning: Pruning) -> None:
    """The second deletion has no resourceVersion: the object was just read."""
    await pruning.apply("settings")
    await pruning.watch()
    note = {"metadata": {"annotations": {"note": "mine"}}}

    async def change() -> None:
        pruning.gate.before = None
        kind = await pruning.children.watched(CONFIG_MAPS)
        with kind.writing(ObjectKey("test", "settings")):
            await pruning.env.patch(CONFIG_MAPS, "settings", note)

    pruning.gate.before = change
    result = await pruning.prune("settings")
    assert [item.ref.name for item in result.deleted] == ["settings"]
    assert pruning.sent() == [
        ("delete", "settings"),
        ("get", "settings"),
        ("delete", "settings"),
    ]
    first, second = (each for each in pruning.env.requests.sent if each.verb == "delete")
    assert "resourceVersion" in decoded(first)["preconditions"]
    assert "resourceVersion" not in decoded(second)["preconditions"]


async def test_object_that_was_gone_and_is_back_is_deleted(pruning: Pruning) -> None:
    await pruning.watch()
    await pruning.prune("settings")
    await pruning.apply("settings")
    await pruning.watch()
    note = {"metadata": {"annotations": {"note": "mine"}}}

    async def change() -> None:
        pruning.gate.before = None
        await pruning.env.patch(CONFIG_MAPS, "settings", note)

    pruning.gate.before = change
    result = await pruning.prune("settings")
    assert [item.ref.name for item in result.deleted] == ["settings"]


async def test_changed_object_of_another_owner_is_kept(pruning: Pruning) -> None:
    await pruning.apply("settings")
    await pruning.watch()

    async def adopt() -> None:
        other = {LABEL_NODE: "beta-web"}
        patch = {"metadata": {"labels": other, "annotations": {ANNOTATION_TRACKING_ID: "7:x"}}}
        await pruning.env.patch(CONFIG_MAPS, "settings", patch)

    pruning.gate.before = adopt
    result = await pruning.prune("settings")
    assert (result.deleted, result.remaining) == ([], ())
    assert await exists(pruning.env, "settings")


async def test_object_that_changes_twice_remains(pruning: Pruning) -> None:
    await pruning.apply("settings")
    await pruning.watch()

    async def replace_object() -> None:
        await pruning.env.client.delete(CONFIG_MAPS, "settings", "test")
        await pruning.apply("settings")

    pruning.gate.before = replace_object
    result = await pruning.prune("settings")
    assert messages(result) == {"settings": "concurrent modification; retrying"}
    assert [verb for verb, _ in pruning.sent()].count("delete") == 2


@pytest.mark.parametrize("times", [1, 2])
async def test_deletion_that_may_succeed_in_a_moment_is_sent_twice(
    pruning: Pruning, api_server: MemoryApiServer, times: int
) -> None:
    await pruning.apply("settings")
    await pruning.watch()
    api_server.fail("delete", "/settings", times=times, status=500)
    result = await pruning.prune("settings")
    if times == 1:
        assert [item.ref.name for item in result.deleted] == ["settings"]
    else:
        assert messages(result)["settings"].startswith("could not delete the object; retrying: ")


async def test_object_that_is_gone_when_it_is_deleted_is_deleted(pruning: Pruning) -> None:
    await pruning.apply("settings")
    await pruning.watch()

    async def delete() -> None:
        await pruning.env.client.delete(CONFIG_MAPS, "settings", "test")

    pruning.gate.before = delete
    result = await pruning.prune("settings")
    assert [item.ref.name for item in result.deleted] == ["settings"]
    assert pruning.sent() == [("delete", "settings")]


async def test_namespace_that_is_not_allowed_is_not_deleted(pruning: Pruning) -> None:
    owner, ref = owner_of(pruning.node_pass.node), ObjectRef("v1", "Namespace", "", "space")
    metadata = {
        "name": "space",
        "labels": {LABEL_MANAGED: TRUE},
        "annotations": {ANNOTATION_TRACKING_ID: tracking_id(ref, owner)},
    }
    await pruning.env.client.apply(NAMESPACES, {"metadata": metadata}, manager=FIELD_MANAGER)
    options = replace(pruning.context.options, allowed_namespaces=("other",))
    pruning.context = replace(pruning.context, options=options)
    pruning.intercept()
    result = await pruning.prune(InventoryItem("space", ref))
    assert "--allowed-namespaces" in messages(result)["space"]
    assert await pruning.env.client.get(NAMESPACES, "space")


@pytest.mark.parametrize("verb", ["get", "delete"])
async def test_error_of_the_whole_node_ends_the_pass(pruning: Pruning, verb: str) -> None:
    if verb == "delete":
        await pruning.apply("settings")
    await pruning.watch()
    fail(pruning, verb, Fenced("write not sent"))
    with pytest.raises(Fenced):
        await pruning.prune("settings")
    assert pruning.node_pass.prune_errors == {}


async def test_object_that_cannot_be_read_remains(pruning: Pruning) -> None:
    await pruning.watch()
    pruning.env.requests.failing.add(("get", "/settings"))
    result = await pruning.prune("settings")
    assert messages(result) == {"settings": "failed by the test"}
    held = await pruning.prune(held={item("settings"): "later"})
    assert messages(held) == {"settings": "no longer desired; kept until later"}


# Kinds


WIDGET = ObjectRef("example.com/v1", "Widget", "test", "one")


def widgets(*served: str, group: str = "example.com", scope: str = "Namespaced") -> Object:
    """Return the definition of a kind that is served in these versions, and stored as v1."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {
            "name": name,
            "served": name in served,
            "storage": name == "v1",
            "schema": {"openAPIV3Schema": schema},
        }
        for name in ("v1beta1", "v1")
    ]
    names = {"plural": "widgets", "kind": "Widget"}
    return {
        "metadata": {"name": f"widgets.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": versions},
    }


def widget_kind(group: str = "example.com", *, namespaced: bool = True) -> Resource:
    return Resource(group, "v1", "Widget", "widgets", namespaced=namespaced)


async def test_object_of_an_unserved_version_is_found_in_another(
    pruning: Pruning, api_server: MemoryApiServer
) -> None:
    api_server.install(widgets("v1"))
    await pruning.apply("one", widget_kind())
    old = WIDGET._replace(api_version="example.com/v1beta1")
    result = await pruning.prune(InventoryItem("one", old))
    assert [item.ref for item in result.deleted] == [WIDGET]


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_object_of_a_served_version_is_deleted_in_it(
    pruning: Pruning, api_server: MemoryApiServer, version: str
) -> None:
    api_server.install(widgets("v1", "v1beta1"))
    await pruning.apply("one", widget_kind())
    ref = WIDGET._replace(api_version=f"example.com/{version}")
    result = await pruning.prune(InventoryItem("one", ref))
    assert [item.ref for item in result.deleted] == [ref]


async def test_entry_without_a_version_is_looked_for_in_every_group(
    pruning: Pruning, api_server: MemoryApiServer
) -> None:
    """As the Go operator wrote it."""
    for group in ("example.com", "example.org"):
        api_server.install(widgets("v1", group=group))
    foreign = {"metadata": {"name": "one", "namespace": "test"}}
    await pruning.env.client.create(widget_kind("example.org"), foreign)
    await pruning.apply("one", widget_kind())
    await pruning.watch(widget_kind())
    await asyncio.sleep(60)
    result = await pruning.prune(InventoryItem("one", WIDGET._replace(api_version="")))
    assert [item.ref for item in result.deleted] == [WIDGET]
    assert await exists(pruning.env, "one", widget_kind("example.org"))
    # Discovery has found the kind before.
    assert ("get", "apis") not in pruning.sent()


async def test_entry_of_a_cluster_scoped_kind_may_have_a_namespace(
    pruning: Pruning, api_server: MemoryApiServer
) -> None:
    api_server.install(widgets("v1", scope="Cluster"))
    kind, owner = widget_kind(namespaced=False), owner_of(pruning.node_pass.node)
    ref = WIDGET._replace(namespace="")
    metadata = {
        "name": "one",
        "labels": {LABEL_MANAGED: TRUE},
        "annotations": {ANNOTATION_TRACKING_ID: tracking_id(ref, owner)},
    }
    await pruning.env.client.apply(kind, {"metadata": metadata}, manager=FIELD_MANAGER)
    result = await pruning.prune(InventoryItem("one", WIDGET._replace(api_version="")))
    assert [item.ref for item in result.deleted] == [ref]


async def test_kind_that_is_not_served_is_gone_after_two_discoveries(pruning: Pruning) -> None:
    item = InventoryItem("one", WIDGET)
    result = await pruning.prune(item)
    assert messages(result) == {
        "one": "the API server serves no example.com/v1 Widget, nor any other kind of its group; "
        "is the CRD installed?"
    }
    held = await pruning.prune(held={item: "later"})
    assert messages(held) == {"one": "no longer desired; kept until later"}
    await asyncio.sleep(10)
    pruning.discovery.invalidate()
    assert (await pruning.prune(item)).remaining == ()


async def test_kind_that_is_served_again_counts_as_served(
    pruning: Pruning, api_server: MemoryApiServer
) -> None:
    item = InventoryItem("one", WIDGET)
    await pruning.prune(item)
    api_server.install(widgets("v1"))
    await asyncio.sleep(10)
    pruning.discovery.invalidate()
    assert (await pruning.prune(item)).remaining == ()
    assert WIDGET not in pruning.node_pass.state.prune.unserved_since


async def test_entry_of_a_kind_that_no_group_has_remains_at_first(pruning: Pruning) -> None:
    item = InventoryItem("one", WIDGET._replace(api_version=""))
    assert messages(await pruning.prune(item)) == {"one": "the API server serves no Widget"}


async def test_object_of_a_kind_that_is_not_watched_remains(
    pruning: Pruning, api_server: MemoryApiServer
) -> None:
    created = await pruning.apply("settings")
    fault = api_server.fail(path="/configmaps", times=math.inf, status=500)
    result = await pruning.prune("settings")
    assert "cannot watch ConfigMap objects" in messages(result)["settings"]
    held = await pruning.prune(held={item("settings"): "later"})
    assert messages(held) == {"settings": "no longer desired; kept until later"}
    fault.times = 0
    assert (await pruning.env.get(CONFIG_MAPS, "settings")) == created


async def test_kind_that_vanishes_hides_no_failure(
    pruning: Pruning, api_server: MemoryApiServer
) -> None:
    api_server.install(widgets("v1"))
    await pruning.apply("one", widget_kind())
    await pruning.watch(widget_kind())

    async def remove_definition(request: Request, send: Send) -> Response:
        if request.verb != "delete":
            return await send(request)
        await pruning.env.client.delete(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")
        await asyncio.sleep(10)
        pruning.discovery.invalidate()
        raise KubeError("failed by the test")

    pruning.intercept(remove_definition)
    result = await pruning.prune(InventoryItem("one", WIDGET))
    assert messages(result) == {"one": "could not delete the object; retrying: failed by the test"}


@pytest.mark.parametrize("still_exists", [True, False])
async def test_object_is_read_while_its_kind_is_not_watched(
    pruning: Pruning, api_server: MemoryApiServer, *, still_exists: bool
) -> None:
    """The cache may be outdated, and an object that is gone leaves it."""
    await pruning.apply("settings")
    await pruning.watch()
    kind, key = await pruning.children.watched(CONFIG_MAPS), ObjectKey("test", "settings")
    await break_watch(api_server)
    await eventually(lambda: kind.is_unwatched, within=300)
    if not still_exists:
        await pruning.env.client.delete(CONFIG_MAPS, "settings", "test")
    pruning.env.requests.sent.clear()
    held = {item("settings"): "later"}
    assert len((await pruning.prune(held=held)).remaining) == still_exists
    assert [sent for sent in pruning.sent() if sent[1] == "settings"] == [("get", "settings")]
    assert (kind.child(key) is not None) == still_exists


async def test_discovery_that_fails_keeps_the_object(pruning: Pruning) -> None:
    pruning.env.requests.failing |= {("get", "/api"), ("get", "/apis")}
    result = await pruning.prune("settings")
    assert messages(result) == {"settings": "failed by the test"}


async def break_watch(api_server: MemoryApiServer) -> None:
    """End the watch of ConfigMaps, and reject new ones."""
    for verb in ("list", "watch"):
        api_server.fail(verb, "/configmaps", times=math.inf, status=500)
    api_server.end_watches("configmaps")
    await asyncio.sleep(1)


def fail(pruning: Pruning, verb: str, error: KubeError) -> None:
    """Fail the requests about the object."""

    async def failing(request: Request, send: Send) -> Response:
        if request.verb == verb and request.path.endswith("/settings"):
            raise error
        return await send(request)

    pruning.intercept(failing)
