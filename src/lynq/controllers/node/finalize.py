"""A pass over a node that is being deleted: its objects go first, then its finalizer.

The finalizer goes when every object is gone, retained or not the node's, and not before. What
keeps an object is named in the status. With `--cascade=orphan` everything is retained.
"""

import time

from lynq.api import LynqHub, LynqNode
from lynq.api.events import Event, EventReason
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_HUB_ID, ANNOTATION_RETAIN, FINALIZER_NODE, TRUE
from lynq.api.node_metadata import is_deleting
from lynq.api.reasons import OrphanReason
from lynq.api.resource import all_resources
from lynq.controllers.children import KindNotWatched
from lynq.controllers.context import ControllerContext
from lynq.controllers.node.observe import Observer
from lynq.controllers.node.prune import Pruner, PruneResult
from lynq.controllers.node.state import NodeState
from lynq.controllers.node.status import StatusReporter, marked
from lynq.core.node import events
from lynq.core.node.inventory import InventoryItem, read_inventory
from lynq.core.node.render import Renderer, RenderError
from lynq.core.node.status import deleting_status
from lynq.core.node.variables import VariablesError, variables_of
from lynq.kube import Result
from lynq.kube.errors import NotFound, UnknownKind
from lynq.kube.requests import FINALIZER_ORPHAN


def is_to_retain(node: LynqNode) -> bool:
    """Return whether a leaving node shows that it was deleted with `--cascade=orphan`.

    The garbage collector takes its finalizer off as soon as it has freed what it knows of.
    """
    known = node.metadata
    return FINALIZER_ORPHAN in known.finalizers or known.annotations.get(ANNOTATION_RETAIN) == TRUE


class NodeFinalizer:
    """Lets nodes go."""

    def __init__(
        self,
        world: ControllerContext,
        lookout: Observer,
        remover: Pruner,
        publisher: StatusReporter,
    ) -> None:
        self._world = world
        self._lookout = lookout
        self._remover = remover
        self._publisher = publisher

    async def leave(self, node: LynqNode, memory: NodeState) -> Result:
        """Take away what can be taken away now, and the finalizer if nothing is left."""
        if FINALIZER_NODE not in node.metadata.finalizers:
            return Result()
        began = time.monotonic()
        items = await self._items(node)
        reason = OrphanReason.LYNQ_NODE_DELETED
        retains = memory.retain_all or is_to_retain(node)
        if retains:
            node = await self._with_mark(node)
        cleared = await self._remover.clear(
            node, items, memory, reason, now=self._world.now, retains=retains
        )
        self._tell(node, cleared, memory)
        if not cleared.remaining:
            await self._let_go(node, seconds=time.monotonic() - began)
            return Result()
        await self._tell_what_is_left(node, cleared)
        memory.finalize_attempts += 1
        backoff = self._world.timing.node_finalizer_backoff
        return Result(backoff.delay(memory.finalize_attempts - 1))

    async def _with_mark(self, node: LynqNode) -> LynqNode:
        """Make sure that whoever goes on with it knows as well that everything is retained."""
        marks = node.metadata.annotations
        if marks.get(ANNOTATION_RETAIN) == TRUE:
            return node
        return await self._world.nodes.patch(
            node, {"annotations": marks | {ANNOTATION_RETAIN: TRUE}}
        )

    async def _items(self, node: LynqNode) -> list[InventoryItem]:
        """Return everything that the node may have made: by its status, its spec, our caches."""
        try:
            variables = variables_of(node)
        except VariablesError:
            variables = {}
        known = read_inventory(node.status, node.metadata.namespace, variables)
        wanted = await self._wanted(node, Renderer.of(node, variables))
        found = {item.ref: item for item in (*self._remover.unlisted(node), *wanted, *known)}
        return list(found.values())

    async def _wanted(self, node: LynqNode, renderer: Renderer) -> list[InventoryItem]:
        items = []
        for resource in all_resources(node.spec):
            spec = resource.spec
            try:
                kind = await self._lookout.kind(str(spec.get("apiVersion")), str(spec.get("kind")))
                namespaced = kind.resource.namespaced
                rendered = renderer.render(resource, namespaced=namespaced, with_body=False)
            except (RenderError, UnknownKind, KindNotWatched):
                # Then it was never made, or the inventory knows it.
                continue
            items.append(InventoryItem(resource.id, rendered.ref))
        return items

    def _tell(self, node: LynqNode, cleared: PruneResult, memory: NodeState) -> None:
        hub = self._leaving_hub(node)
        for item, uid in cleared.retained:
            self._publisher.tell(node, [events.retained(item)])
            self._publisher.tell_object(item.ref, uid, marked("its node was deleted"))
            if hub:
                message = f"{item.ref} stays, although its hub and its node go"
                event = Event(EventReason.RETAIN_RESOURCE_PRESERVED, message)
                self._publisher.tell(node, [event])
        stuck = [each for each in cleared.remaining if each.ref in memory.prune_errors]
        told = tuple(each.message for each in stuck)
        if stuck and told != memory.reported_prune_errors:
            self._publisher.tell(node, [events.cleanup_failed(stuck)])
        memory.reported_prune_errors = told

    def _leaving_hub(self, node: LynqNode) -> LynqHub | None:
        name = node.metadata.annotations.get(ANNOTATION_HUB_ID, "")
        hub = self._world.hubs.get(ObjectKey(node.metadata.namespace, name))
        return hub if hub and is_deleting(hub) else None

    async def _let_go(self, node: LynqNode, *, seconds: float) -> None:
        others = [each for each in node.metadata.finalizers if each != FINALIZER_NODE]
        try:
            await self._world.nodes.patch(node, {"finalizers": others or None})
        except NotFound:
            # Somebody took it off by hand.
            return
        message = "everything it had made is gone or retained"
        self._publisher.tell(node, [Event(EventReason.LYNQ_NODE_DELETED, message)])
        self._world.series.record_reconcile("success", seconds)

    async def _tell_what_is_left(self, node: LynqNode, cleared: PruneResult) -> None:
        since = node.metadata.deletion_timestamp
        now = self._world.now()
        if since is None or now - since < self._world.timing.deletion_report_delay:
            return
        status = deleting_status(
            node.status, cleared.remaining, node.metadata.namespace, node.metadata.generation, now
        )
        await self._publisher.write_now(node, status)
