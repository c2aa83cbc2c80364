"""Which nodes claim an object: decided by caches, and by reads of nodes of other shards."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as replace_fields
from prometheus_client import CollectorRegistry

from lynq.api import FormSpec, LynqForm, LynqNode, Metadata, NodeSpec
from lynq.api.metadata import ObjectKey
from lynq.controllers.context import ControllerContext
from lynq.controllers.node.claims import NodeClaims
from lynq.controllers.node.state import NodeStates
from lynq.controllers.options import Options, Shard
from lynq.core.node.objects import NOT_APPLIED, AppliedRecord, LiveObject, ObjectRef, Owner
from lynq.core.readiness.rules import evaluate_readiness
from lynq.kube import RuntimeMetrics
from lynq.telemetry import OperatorMetrics
from operated.environment import NODES, Environment, Object

M = 3
SHARED = "pro-settings"
APPLIED = AppliedRecord(was_applied=True)


def context_of_shard(env: Environment, number: int, count: int = M) -> ControllerContext:
    """Return the context of a process whose watches have received nothing."""
    options = Options(namespaces=(env.namespace,), shard=Shard(number, count), timing=env.timing)
    client, metrics = env.client.intercepted(env.requests), OperatorMetrics(CollectorRegistry())
    return ControllerContext.of(client, options, RuntimeMetrics.unexposed(), metrics)


def claims_of_shard(env: Environment, number: int, count: int = M) -> NodeClaims:
    """Return the claims of a process whose watches have received nothing."""
    return NodeClaims(context_of_shard(env, number, count), NodeStates())


async def create_node(env: Environment, name: str, **labels: str) -> Object:
    metadata = {"name": name, "namespace": env.namespace, "labels": labels}
    spec = {"hubId": "hub", "uid": "acme", "templateRef": "web"}
    return await env.client.create(NODES, {"metadata": metadata, "spec": spec})


async def create_conflicted_node(env: Environment, name: str, **labels: str) -> None:
    await create_node(env, name, **labels)
    entry = {"id": "settings", "apiVersion": "v1", "kind": "ConfigMap", "state": "Conflicted"}
    status = {"resources": [{**entry, "namespace": env.namespace, "name": SHARED}]}
    await env.client.patch(NODES, name, {"status": status}, env.namespace, subresource="status")


@pytest.mark.parametrize(("number", "count"), [(0, M), (1, M), (0, 2)])
async def test_conflict_that_no_watch_has_shown_is_respected(
    env: Environment, number: int, count: int
) -> None:
    await create_node(env, "acme-web")
    owner = await env.client.get(NODES, "acme-web", env.namespace, into=LynqNode)
    claims = claims_of_shard(env, number, count)
    assert await claims.current_contenders(owner) == {}
    await create_conflicted_node(env, "beta-web", **{"lynq.sh/conflicted": "true"})
    ref = ObjectRef("v1", "ConfigMap", env.namespace, SHARED)
    contender = f'LynqNode "{env.namespace}/beta-web"'
    assert await claims.current_contenders(owner) == {ref.identity: contender}
    itself = await env.client.get(NODES, "beta-web", env.namespace, into=LynqNode)
    assert await claims.current_contenders(itself) == {}


async def test_conflict_that_an_older_version_reported_is_respected(env: Environment) -> None:
    """Its node has no label until its own shard has reconciled it."""
    await create_conflicted_node(env, "beta-web")
    await create_node(env, "acme-web")
    owner = await env.client.get(NODES, "acme-web", env.namespace, into=LynqNode)
    claims = claims_of_shard(env, 1)
    contender = list((await claims.current_contenders(owner)).values())
    assert contender == [f'LynqNode "{env.namespace}/beta-web"']
    assert list((await claims.current_contenders(owner)).values()) == contender
    # All nodes; the labelled ones, and that node.
    assert [request.verb for request in env.requests.sent] == ["list", "list", "get"]
    label = {"metadata": {"labels": {"lynq.sh/conflicted": "true"}}}
    await env.patch(NODES, "beta-web", label)
    for requests in (5, 6):
        assert list((await claims.current_contenders(owner)).values()) == contender
        assert len(env.requests.sent) == requests


async def test_conflict_that_its_node_has_not_reported_yet_is_respected(env: Environment) -> None:
    context, states = context_of_shard(env, 0), NodeStates()
    names, ref = ("acme-web", "beta-web"), ObjectRef("v1", "ConfigMap", env.namespace, SHARED)
    spec = NodeSpec(uid="acme", template_ref="web")
    owner, contender = [
        await context.nodes.create(
            LynqNode(metadata=Metadata(name=name, namespace=env.namespace), spec=spec)
        )
        for name in names
    ]
    claims = NodeClaims(context, states)
    assert claims.contender(ref, owner) == ""
    states.set_contested(contender, [ref])
    assert claims.contender(ref, owner) == f'LynqNode "{env.namespace}/beta-web"'
    assert claims.contender(ref, contender) == ""


async def test_owner_that_is_no_node_is_looked_up_once(env: Environment) -> None:
    env.timing = replace(env.timing, node_list_lifetime=0.0)
    claims, ref = claims_of_shard(env, 1), ObjectRef("v1", "ConfigMap", env.namespace, SHARED)
    live = LiveObject(uid="2", readiness=evaluate_readiness({}), owner_uids=("of-a-certificate",))
    for _ in range(3):
        owner = Owner(env.namespace, "acme-web", "1")
        assert await claims.claimant(live, ref, owner, NOT_APPLIED) == ""
    assert [request.verb for request in env.requests.sent] == ["list"]


async def test_node_of_another_shard_is_found_by_its_uid_alone(env: Environment) -> None:
    """The labels of the object name no node, or one that does not exist."""
    name = "gamma-web"
    node = await create_node(env, name)
    claims, ref = claims_of_shard(env, 2), ObjectRef("v1", "ConfigMap", env.namespace, SHARED)
    owner = Owner(env.namespace, "other-web", "1")
    labels = {"lynq.sh/node": "absent-web", "lynq.sh/node-namespace": env.namespace}
    tracking_id = {
        "lynq.sh/tracking-id": f"{node['metadata']['uid']}:/ConfigMap:{env.namespace}/{SHARED}"
    }
    live = LiveObject(
        uid="2", readiness=evaluate_readiness({}), labels=labels, annotations=tracking_id
    )
    assert await claims.claimant(live, ref, owner, NOT_APPLIED) == f'LynqNode "{name}"'
    owned = replace_fields(live, labels={}, annotations={}, owner_uids=(node["metadata"]["uid"],))
    assert await claims.claimant(owned, ref, owner, NOT_APPLIED) == f'LynqNode "{name}"'
    # The node in the labels, a list of all nodes, the node with the uid; and that node again.
    assert [request.verb for request in env.requests.sent] == ["get", "list", "get", "get"]
    elsewhere = replace_fields(
        live, labels={**labels, "lynq.sh/node-namespace": "elsewhere"}, annotations={}
    )
    assert await claims.claimant(elsewhere, ref, owner, NOT_APPLIED) == (
        'LynqNode "elsewhere/absent-web"'
    )
    assert len(env.requests.sent) == 4


def unsharded_context(env: Environment) -> ControllerContext:
    """Return the context of a process without shards whose watches have received nothing."""
    return ControllerContext.of(
        env.client.intercepted(env.requests),
        Options(namespaces=(env.namespace,)),
        RuntimeMetrics.unexposed(),
        OperatorMetrics(CollectorRegistry()),
    )


async def cached_node(
    env: Environment, context: ControllerContext, name: str, *, listed: str = "", **metadata: Any
) -> LynqNode:
    """Return a node that a process has in its cache."""
    hub = {"lynq.sh/hub": "hub"}
    spec = NodeSpec(uid=name.partition("-")[0], template_ref=name.partition("-")[2])
    created = LynqNode(
        metadata=Metadata(name=name, namespace=env.namespace, labels=hub, **metadata), spec=spec
    )
    node = await context.nodes.create(created)
    if listed:
        entry = {"id": "settings", "apiVersion": "v1", "kind": "ConfigMap", "state": "Ready"}
        resources = [{**entry, "namespace": env.namespace, "name": listed}]
        body = {"status": {"resources": resources}}
        await env.client.patch(NODES, name, body, env.namespace, subresource="status")
        node = await context.nodes.patch(await fetched(context, node), {"annotations": {"a": "b"}})
    return node


async def fetched(context: ControllerContext, node: LynqNode) -> LynqNode:
    live = await context.nodes.fetch(node.metadata.key)
    assert live is not None
    return live


def live_object(**parts: Any) -> LiveObject:
    return LiveObject(uid="2", readiness=evaluate_readiness({}), **parts)


def labelled(env: Environment, node: str, **parts: Any) -> LiveObject:
    """Return an object whose labels name a node."""
    labels = {"lynq.sh/node": node, "lynq.sh/node-namespace": env.namespace}
    return live_object(labels=labels, **parts)


# Desired by others


async def test_process_without_shards_reads_no_contenders(env: Environment) -> None:
    """Its cache has all nodes."""
    context = unsharded_context(env)
    owner = await cached_node(env, context, "acme-web")
    await create_conflicted_node(env, "beta-web", **{"lynq.sh/conflicted": "true"})
    env.requests.sent.clear()
    assert await NodeClaims(context, NodeStates()).current_contenders(owner) == {}
    assert env.requests.sent == []


async def test_deleted_or_absent_node_is_no_contender(env: Environment) -> None:
    context, states = unsharded_context(env), NodeStates()
    ref = ObjectRef("v1", "ConfigMap", env.namespace, SHARED)
    owner = await cached_node(env, context, "acme-web")
    contender = await cached_node(env, context, "beta-web", finalizers=["example.com/hold"])
    claims = NodeClaims(context, states)
    states.set_contested(contender, [ref])
    assert claims.contender(ref, owner)
    await env.client.delete(NODES, "beta-web", env.namespace)
    await context.nodes.patch(await fetched(context, contender), {"annotations": {"a": "b"}})
    assert claims.contender(ref, owner) == ""
    context.nodes.cache.store_deletion(contender.metadata.key, contender.metadata.uid)
    assert claims.contender(ref, owner) == ""


# Siblings


async def test_siblings_are_the_other_forms_of_the_hub_and_their_nodes(env: Environment) -> None:
    context = unsharded_context(env)
    namespace = env.namespace
    for name, hub in (("web", "hub"), ("worker", "hub"), ("mail", "hub"), ("other", "elsewhere")):
        form = LynqForm(
            metadata=Metadata(name=name, namespace=namespace), spec=FormSpec(hub_id=hub)
        )
        await context.forms.create(form)
    leaving = LynqForm(
        metadata=Metadata(name="leaving", namespace=namespace, finalizers=["example.com/hold"]),
        spec=FormSpec(hub_id="hub"),
    )
    await context.forms.create(leaving)
    await env.client.delete(context.forms.resource, "leaving", namespace)
    deleted = await context.forms.fetch(ObjectKey(namespace, "leaving"))
    assert deleted is not None
    await context.forms.patch(deleted, {"annotations": {"a": "b"}})
    node = await cached_node(env, context, "acme-web")
    worker = await cached_node(env, context, "acme-worker")
    siblings = await NodeClaims(context, NodeStates()).siblings(node)
    assert {each.form.metadata.name: each.node for each in siblings} == {
        "worker": worker,
        "mail": None,
    }
    assert {each.key.name for each in siblings} == {"acme-worker", "acme-mail"}
    # Of the form above.
    assert env.requests.count("get") == 1


async def test_sibling_of_another_shard_is_read(env: Environment) -> None:
    context = context_of_shard(env, 1)
    form = LynqForm(
        metadata=Metadata(name="worker", namespace=env.namespace), spec=FormSpec(hub_id="hub")
    )
    await context.forms.create(form)
    node = await cached_node(env, context, "acme-web")
    claims = NodeClaims(context, NodeStates())
    assert [each.node for each in await claims.siblings(node)] == [None]
    await create_node(env, "acme-worker")
    (sibling,) = await claims.siblings(node)
    assert sibling.node is not None
    assert sibling.node.metadata.name == "acme-worker"


# Belonging to others


async def test_orphan_and_own_object_belong_to_no_other_node(env: Environment) -> None:
    claims, ref = claims_of_shard(env, 1), ObjectRef("v1", "ConfigMap", env.namespace, SHARED)
    owner = Owner(env.namespace, "acme-web", "1")
    for live in (
        live_object(labels={"lynq.sh/orphaned": "true"}),
        live_object(owner_uids=("1",)),
    ):
        assert await claims.claimant(live, ref, owner, NOT_APPLIED) == ""
    assert env.requests.sent == []


async def test_owner_in_the_cache_is_not_read(env: Environment) -> None:
    context = context_of_shard(env, 1)
    ref = ObjectRef("v1", "ConfigMap", env.namespace, SHARED)
    node = await cached_node(env, context, "beta-web")
    env.requests.sent.clear()
    live = labelled(env, "beta-web", owner_uids=(node.metadata.uid,))
    owner = Owner(env.namespace, "acme-web", "1")
    claims = NodeClaims(context, NodeStates())
    assert await claims.claimant(live, ref, owner, NOT_APPLIED) == 'LynqNode "beta-web"'
    assert env.requests.sent == []


async def test_node_in_the_labels_proves_its_uid_without_a_list(env: Environment) -> None:
    claims, ref = claims_of_shard(env, 1), ObjectRef("v1", "ConfigMap", env.namespace, SHARED)
    uid = (await create_node(env, "beta-web"))["metadata"]["uid"]
    owner = Owner(env.namespace, "acme-web", "1")
    live = labelled(env, "beta-web", owner_uids=(uid,))
    assert await claims.claimant(live, ref, owner, NOT_APPLIED) == 'LynqNode "beta-web"'
    assert [request.verb for request in env.requests.sent] == ["get"]


async def test_node_in_the_labels_is_no_proof_of_another_uid(env: Environment) -> None:
    claims, ref = claims_of_shard(env, 1), ObjectRef("v1", "ConfigMap", env.namespace, SHARED)
    await create_node(env, "beta-web")
    uid = (await create_node(env, "gamma-web"))["metadata"]["uid"]
    owner = Owner(env.namespace, "acme-web", "1")
    live = labelled(env, "beta-web", owner_uids=(uid,))
    assert await claims.claimant(live, ref, owner, NOT_APPLIED) == 'LynqNode "gamma-web"'


@pytest.mark.parametrize("is_cached", [True, False])
@pytest.mark.parametrize("listed", [SHARED, "other"])
async def test_edited_labels_name_the_owner_if_it_lists_the_object(
    env: Environment, listed: str, *, is_cached: bool
) -> None:
    context = unsharded_context(env)
    ref = ObjectRef("v1", "ConfigMap", env.namespace, SHARED)
    await cached_node(env, context, "beta-web", listed=listed)
    if not is_cached:
        context = context_of_shard(env, 1)
    claims, owner = NodeClaims(context, NodeStates()), Owner(env.namespace, "acme-web", "1")
    claimant = 'LynqNode "beta-web"' if listed == SHARED else ""
    live = labelled(env, "beta-web", digest=b"ours")
    assert await claims.claimant(live, ref, owner, APPLIED) == claimant
    absent = labelled(env, "absent-web", digest=b"ours")
    assert await claims.claimant(absent, ref, owner, APPLIED) == ""
