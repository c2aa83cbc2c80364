"""A node whose render moved to the background keeps its status until it is rendered."""

import asyncio
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from lynq.api import LynqNode, NodeStatus
from lynq.controllers.installation_key import CurrentKey
from lynq.controllers.node.object_reader import ObjectReader
from lynq.controllers.node.observe import Observer
from lynq.controllers.node.reconcile import NodeReconciler
from lynq.controllers.node.slow_render import RenderPools, TemplateKey
from lynq.controllers.node.state import NodeState
from lynq.controllers.options import Options
from lynq.controllers.render_journal import RenderJournal
from lynq.controllers.timing import Timing
from lynq.core.node.objects import ObjectRef
from lynq.core.node.render import Rendered
from lynq.kube import Resource, Result
from lynq.kube.resource import CONFIG_MAPS
from unit.core.hub.fixtures import NOON, Cluster, a_form, readiness, rows, synced

RENDERED = Rendered(ObjectRef("v1", "ConfigMap", "prod", "acme-app"), {"kind": "ConfigMap"})


class QuickPool:
    """A pool whose renders finish after the resource is observed, and before the node is."""

    def submit(self, *_: object) -> "Future[Rendered]":
        pending: Future[Rendered] = Future()
        asyncio.get_running_loop().call_soon(pending.set_result, RENDERED)
        return pending


class Discovery:
    """Knows one kind."""

    async def resource(self, *_: object) -> Resource:
        return CONFIG_MAPS


class Children:
    """Has a synced cache of one kind."""

    async def watched(self, resource: Resource, **_: object) -> Any:
        return SimpleNamespace(resource=resource)


def reported_node() -> LynqNode:
    cluster = Cluster()
    synced(cluster, rows("acme"), a_form())
    node = cluster.nodes["acme-web"]
    status = NodeStatus(
        observed_generation=node.metadata.generation, conditions=(readiness(ready=True),)
    )
    return replace(node, status=status)


async def test_render_that_finishes_in_the_same_moment_changes_no_status() -> None:
    """A garbage collection during a render moves the render to the background for a moment."""
    node, pools = reported_node(), RenderPools(lambda _: None, RenderJournal())
    pools.heavy = QuickPool()  # type: ignore[assignment]
    (resource,) = node.spec.config_maps
    pools.heavy_templates.add(TemplateKey.of(node, resource, with_body=True))
    children: Any = Children()
    discovery: Any = Discovery()
    claims: Any = SimpleNamespace(owner=lambda _: None)
    context: Any = SimpleNamespace(clock=lambda: NOON, timing=Timing(), options=Options())
    # A reconcile that goes on to write would need more.
    nothing: Any = None
    reader = ObjectReader(nothing, children, discovery)
    observer = Observer(reader, nothing, pools, current_key=CurrentKey(), claims=claims)
    reconciler = NodeReconciler(
        context, observer, nothing, nothing, nothing, states=nothing, claims=claims, gate=nothing
    )
    state = NodeState(node.metadata.uid)
    assert await reconciler.reconcile(node, state) == Result()
    (render,) = state.renders.by_id.values()
    assert render.pending.result() is RENDERED
