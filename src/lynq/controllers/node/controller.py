"""The node's controller: which nodes are looked at when, and what kind of pass each gets."""

import time
import uuid
from collections.abc import Callable

import structlog

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.names import LABEL_HUB
from lynq.api.node_metadata import hub_by_label, is_deleting, is_paused
from lynq.controllers.children import ChildChange, Children, node_named_by
from lynq.controllers.context import BY_UID, ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.impersonation import ClientSelector
from lynq.controllers.node.apply import Applier
from lynq.controllers.node.finalize import NodeFinalizer, is_to_retain
from lynq.controllers.node.observe import Observer
from lynq.controllers.node.prune import Pruner
from lynq.controllers.node.reconcile import NodeChanged, NodeReconciler
from lynq.controllers.node.slow_render import RenderPool
from lynq.controllers.node.state import NodeStates
from lynq.controllers.node.status import StatusReporter
from lynq.core.node.status import with_paused
from lynq.kube import Discovery, QueuePriority, Result, WorkQueue
from lynq.kube.errors import Conflict, NotFound


class NodeController:
    """Reconciles nodes."""

    def __init__(
        self,
        world: ControllerContext,
        queue: WorkQueue[ObjectKey],
        teller: EventEmitter,
        object_teller: EventEmitter,
    ) -> None:
        self._world = world
        self._queue = queue
        self._listeners: list[Callable[[LynqNode], None]] = []
        discovery = Discovery(world.client)
        self.children = Children(
            world.client,
            discovery,
            world.metrics,
            wake=self._wake_owners,
            namespaces=world.options.namespaces,
            timing=world.timing,
        )
        self._memories = NodeStates(world.timing)
        accounts = ClientSelector(world)
        self._makers = RenderPool(self._wake)
        lookout = Observer(world.client, accounts, self.children, discovery, self._makers)
        remover = Pruner(accounts, lookout, self.children, discovery)
        writer = Applier(accounts, lookout, world.series)
        self._publisher = StatusReporter(world, teller, object_teller)
        self._keeper = NodeReconciler(
            world, lookout, remover, writer, self._publisher, memories=self._memories
        )
        self._leaver = NodeFinalizer(world, lookout, remover, self._publisher)
        world.nodes.on_change(self._remember)

    def attach(self) -> None:
        """Have changes of nodes, and of their objects, put nodes into the queue."""
        self._world.nodes.on_change(self._changed)

    def on_workload_up(self, handler: Callable[[LynqNode], None]) -> None:
        """Call `handler` with each node of which a workload has become ready, any shard's."""
        self._listeners.append(handler)

    def close(self) -> None:
        """Begin no more of what passes have asked for."""
        self._makers.close()

    async def prepare(self) -> None:
        """Begin to watch the kinds that are in use, so that the first passes find them listed."""
        await self._keeper.watch_kinds_in_use()

    async def reconcile(self, key: ObjectKey) -> Result:
        """Bring a node as far as it can be brought now."""
        node = self._world.nodes.get(key)
        if node is None:
            return Result()
        with structlog.contextvars.bound_contextvars(
            node=str(key),
            form=node.spec.template_ref,
            hub=node.metadata.labels.get(LABEL_HUB, ""),
            reconcile_id=uuid.uuid4().hex[:16],
        ):
            began = time.monotonic()
            try:
                return await self._pass(node)
            except (Conflict, NodeChanged, NotFound):
                # The node is another one than the cache has shown, or gone: looked at anew.
                return Result(0)
            except Exception:
                self._world.series.record_reconcile("error", time.monotonic() - began)
                raise

    async def _pass(self, node: LynqNode) -> Result:
        memory = self._memories.of(node)
        if is_deleting(node):
            return await self._leaver.leave(node, memory)
        if is_paused(node):
            generation, now = node.metadata.generation, self._world.now()
            status = with_paused(node.status, generation, now, is_paused=True)
            await self._publisher.write_now(node, status)
            return Result()
        return await self._keeper.keep(node, memory)

    def _remember(self, key: ObjectKey, _old: LynqNode | None, new: LynqNode | None) -> None:
        """Remember what may be over before the node's turn comes, also while others lead."""
        if new is None:
            self._memories.forget(key)
            return
        # Whoever takes over finds its kinds listed.
        self.children.seek(new)
        if is_deleting(new) and is_to_retain(new):
            self._memories.of(new).retain_all = True

    def _changed(self, key: ObjectKey, old: LynqNode | None, new: LynqNode | None) -> None:
        if new is None:
            self._world.series.remove_node(key)
            return
        if old is not None and _gist(old) == _gist(new):
            return
        # At a start all nodes come at once; those that nobody has looked at yet go first.
        known = old is None and new.status.observed_generation == new.metadata.generation
        self._add(key, new, QueuePriority.PERIODIC if known else QueuePriority.EVENT)

    def _wake_owners(self, turn: ChildChange) -> None:
        owners = set() if turn.by_us else self._owners(turn)
        for key in owners | self._memories.contenders(turn.ref):
            self._wake(key)
        for key in owners if turn.is_up else ():
            self._tell(key)

    def _owners(self, turn: ChildChange) -> set[ObjectKey]:
        keys: set[ObjectKey] = set()
        for child in turn.states:
            for owner in child.live.owners:
                keys.update(self._world.nodes.keys_by(BY_UID, owner))
            if named := node_named_by(child.live):
                keys.add(named)
        return keys

    def _tell(self, key: ObjectKey) -> None:
        if node := self._world.nodes.get(key):
            for handler in self._listeners:
                handler(node)

    def _wake(self, key: ObjectKey) -> None:
        if node := self._world.nodes.get(key):
            self._add(key, node, QueuePriority.EVENT)

    def _add(self, key: ObjectKey, node: LynqNode, priority: QueuePriority) -> None:
        if self._world.options.shard.owns(key):
            self._queue.add(key, priority=priority, group=str(hub_by_label(node) or ""))


def _gist(node: LynqNode) -> tuple[object, ...]:
    """Return what a pass goes by; of the status only we write, and know what."""
    known = node.metadata
    return (
        known.uid,
        known.generation,
        known.annotations,
        known.labels,
        known.finalizers,
        known.deletion_timestamp,
    )
