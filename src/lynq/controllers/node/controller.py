"""The node controller: event handlers that queue nodes, and the choice of the reconcile."""

import asyncio
import time
import uuid
from collections.abc import Callable
from datetime import timedelta

import structlog

from lynq.api import LynqHub, LynqNode
from lynq.api.installation_key import NO_KEY, KeyState
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_RETAIN, LABEL_BUCKET, LABEL_HUB, TRUE
from lynq.api.naming import bucket_label
from lynq.api.node_metadata import hub_by_label, is_deleting, is_paused, is_protected
from lynq.controllers.children import ChildChange, Children, node_by_label
from lynq.controllers.context import BY_HUB, BY_UID, ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.impersonation import ClientSelector
from lynq.controllers.node.apply import Applier
from lynq.controllers.node.claims import NodeClaims
from lynq.controllers.node.finalize import NodeFinalizer, retains_all
from lynq.controllers.node.object_reader import ObjectReader
from lynq.controllers.node.observe import Observer
from lynq.controllers.node.prune import Pruner
from lynq.controllers.node.reconcile import NodeChanged, NodeReconciler
from lynq.controllers.node.slow_render import RenderPools
from lynq.controllers.node.state import NodeState, NodeStates
from lynq.controllers.node.status import StatusReporter
from lynq.controllers.node.write_gate import WriteGate
from lynq.core.node.jobs import JobEnd
from lynq.core.node.objects import contested_objects
from lynq.core.node.origin import Wait, wait_of
from lynq.core.node.status import waiting_status, with_paused
from lynq.kube import Discovery, QueuePriority, Result, WorkQueue
from lynq.kube.errors import Conflict, NotFound


class NodeController:
    """Reconciles LynqNodes."""

    def __init__(
        self,
        context: ControllerContext,
        queue: WorkQueue[ObjectKey],
        emitter: EventEmitter,
        object_emitter: EventEmitter,
    ) -> None:
        self._context = context
        self._shard = context.options.shard
        self._queue = queue
        self._unreconciled: set[ObjectKey] = set()
        self._workload_ready_handlers: list[Callable[[LynqNode], None]] = []
        discovery = Discovery(context.client)
        self.children = Children(
            context.client,
            discovery,
            context.runtime_metrics,
            on_change=self._child_changed,
            namespaces=context.options.namespaces,
            timing=context.timing,
            readiness=context.readiness,
            shard=self._shard,
        )
        self._states = NodeStates(context.timing)
        clients = ClientSelector(context)
        self._render_pools = RenderPools(self._enqueue, context.journal)
        self._gate = WriteGate(
            self._enqueue,
            slow_limit=context.options.node_workers,
            group_limit=max(1, context.client.max_in_flight // 2),
            timing=context.timing,
        )
        claims = NodeClaims(context, self._states)
        self._reader = reader = ObjectReader(context.client, self.children, discovery)
        observer = Observer(
            reader, clients, self._render_pools, current_key=context.current_key, claims=claims
        )
        pruner = Pruner(
            context, clients, reader, self.children, discovery, claims=claims, gate=self._gate
        )
        applier = Applier(context, clients, reader, claims=claims, gate=self._gate)
        self._reporter = StatusReporter(context, emitter, object_emitter, self._gate)
        self._reconciler = NodeReconciler(
            context,
            observer,
            pruner,
            applier,
            self._reporter,
            states=self._states,
            claims=claims,
            gate=self._gate,
        )
        self._finalizer = NodeFinalizer(context, reader, pruner, self._reporter)
        context.nodes.on_change(self._record_change)

    def attach(self) -> None:
        """Register the event handler that queues changed nodes."""
        keys = (node.metadata.key for node in self._context.nodes.values())
        self._unreconciled = {key for key in keys if self._shard.owns(key)}
        self._context.nodes.on_change(self._node_changed)
        self._context.hubs.on_change(self._hub_changed)
        self._context.current_key.on_change(self._key_changed)
        self._record_start()

    def on_workload_ready(self, handler: Callable[[LynqNode], None]) -> None:
        """Call `handler` with each node whose workload becomes ready, of any shard."""
        self._workload_ready_handlers.append(handler)

    def on_slow_write(self, handler: Callable[[ObjectKey], None]) -> None:
        """Call `handler` with each node whose reconcile waits for a slow write."""
        self._gate.on_slow_write(handler)

    def backlog(self, hub: ObjectKey) -> int:
        """Return how many nodes of a hub wait for their reconcile, periodic ones apart."""
        return self._queue.waiting_events(str(hub))

    def close(self) -> None:
        """Cancel background renders that have not started, and requeue no more nodes."""
        self._render_pools.close()
        self._gate.close()

    async def prepare(self) -> None:
        """Watch the kinds in use, so that the first reconciles find synced caches."""
        await self._reader.watch_kinds_in_use(self._context.nodes.values())

    async def reconcile(self, key: ObjectKey) -> Result:
        """Reconcile one LynqNode as far as its dependencies allow."""
        node = self._context.nodes.get(key)
        if node is None:
            return Result()
        with structlog.contextvars.bound_contextvars(
            node=str(key),
            form=node.spec.template_ref,
            hub=node.metadata.labels.get(LABEL_HUB, ""),
            reconcile_id=uuid.uuid4().hex[:16],
        ):
            started = time.monotonic()
            try:
                return await self._reconcile(node)
            except (Conflict, NodeChanged, NotFound):
                # The cached node is outdated, or the node is deleted.
                return Result(0)
            except Exception:
                self._context.operator_metrics.record_reconcile("error", time.monotonic() - started)
                raise
            finally:
                if not self._render_pools.is_rendering(key) and self._context.key != NO_KEY:
                    self._record_start(key)

    async def _reconcile(self, node: LynqNode) -> Result:
        if self._context.key == NO_KEY:
            # A moment later the key is loaded, or known to be missing, which queues the node.
            return Result()
        if self._is_lost(node):
            await self._restore_bucket(node)
        if not self._shard.owns(node.metadata.key):
            return Result()
        state = self._states.of(node)
        if is_deleting(node):
            return await self._finalizer.finalize(node, state)
        if any(contested_objects(node.status)):
            # Not only when it reports: the node may be paused, or wait for its hub.
            node = await self._reporter.label(node, node.status)
        if is_paused(node):
            generation, now = node.metadata.generation, self._context.clock()
            status = with_paused(node.status, generation, now, is_paused=True)
            await self._reporter.write_now(node, status)
            return Result()
        if wait := self._wait_of(node):
            return await self._wait(node, state, wait)
        state.waiting_since = None
        return await self._reconciler.reconcile(node, state)

    def _wait_of(self, node: LynqNode) -> Wait | None:
        origin, now = self._context.origin_of(node), self._context.clock()
        allows_standalone = self._context.options.allows_standalone_nodes
        return wait_of(node, origin, now, allows_standalone=allows_standalone)

    async def _restore_bucket(self, node: LynqNode) -> None:
        """Label a node for its shard, with what only this process may have observed of it."""
        metadata = {"labels": {LABEL_BUCKET: bucket_label(*node.metadata.key)}}
        if self._states.of(node).finalizer.retain_all:
            metadata["annotations"] = {ANNOTATION_RETAIN: TRUE}
        await self._context.nodes.patch(node, metadata)

    async def _wait(self, node: LynqNode, state: NodeState, wait: Wait) -> Result:
        """Write nothing but the status; the change by the hub, or of the key, queues the node."""
        now, delay = self._context.clock(), self._context.timing.unsigned_report_delay
        state.waiting_since = state.waiting_since or now
        if (remaining := state.waiting_since + delay - now) > timedelta():
            return Result(remaining.total_seconds())
        status = waiting_status(node.status, wait, node.metadata.generation, now)
        await self._reporter.write_now(node, status)
        return Result(self._context.timing.not_ready_requeue.total_seconds())

    def _record_start(self, key: ObjectKey | None = None) -> None:
        """Record that a node needs no first reconcile any more; after the last one, retry suspects.

        A node whose renders wait in the background is not done.
        """
        if key:
            self._unreconciled.discard(key)
        if not (self._unreconciled or self._context.journal.allows_retries):
            self._context.journal.allow_retries()

    def _record_change(self, key: ObjectKey, _old: LynqNode | None, new: LynqNode | None) -> None:
        """Record what may have changed again before the node is reconciled.

        Standbys do so as well: a new leader finds the kinds watched.
        """
        if new is None:
            self._states.forget(key)
            return
        self.children.start_watches(new)
        if is_deleting(new):
            finalizer = self._states.of(new).finalizer
            if finalizer.deletion_observed_at is None:
                finalizer.deletion_observed_at = asyncio.get_running_loop().time()
            finalizer.retain_all = finalizer.retain_all or retains_all(new)

    def _node_changed(self, key: ObjectKey, old: LynqNode | None, new: LynqNode | None) -> None:
        if new is None:
            self._record_start(key)
            self._context.operator_metrics.remove_node(key)
            return
        if old is not None and _reconciled_fields(old) == _reconciled_fields(new):
            return
        # All nodes are queued at a start; those that were never reconciled, or that no shard
        # receives, go first.
        was_reconciled = new.status.observed_generation == new.metadata.generation
        is_periodic = old is None and was_reconciled and not self._is_lost(new)
        self._add(key, new, QueuePriority.PERIODIC if is_periodic else QueuePriority.EVENT)

    def _hub_changed(self, key: ObjectKey, old: LynqHub | None, new: LynqHub | None) -> None:
        """Queue the nodes of a hub whose protection changed: it decides about owner references."""
        if new is not None and is_protected(new) != (old is not None and is_protected(old)):
            for node in self._context.nodes.by(BY_HUB, key):
                self._add(node.metadata.key, node, QueuePriority.PERIODIC)

    def _key_changed(self, old: KeyState, new: KeyState) -> None:
        """Queue all nodes if other ones wait now; another problem of the key concerns none."""
        if old == NO_KEY or type(old) is not type(new):
            for node in self._context.nodes.values():
                self._add(node.metadata.key, node, QueuePriority.PERIODIC)

    def _child_changed(self, change: ChildChange) -> None:
        if change.end:
            self._record_end(change, change.end)
        owners = set() if change.is_own_write else self._owners(change)
        contenders = self._states.contenders(change.ref)
        may_wait = change.is_progress and self._context.client.is_busy
        delay = self._context.timing.busy_report_delay if may_wait else 0.0
        for key in owners - contenders:
            self._enqueue(key, after=delay)
        for key in contenders:
            self._enqueue(key)
        for key in owners if change.became_ready else ():
            self._workload_ready(key)

    def _record_end(self, change: ChildChange, end: JobEnd) -> None:
        """Record how a Job ended, also for a node that is paused or waits."""
        for key in self._owners(change):
            if node := self._context.nodes.get(key):
                self._states.of(node).job_ends[change.ref.identity] = end

    def _owners(self, change: ChildChange) -> set[ObjectKey]:
        keys: set[ObjectKey] = set()
        for child in change.states:
            for owner in child.live.owner_uids:
                keys.update(self._context.nodes.keys_by(BY_UID, owner))
            if key := node_by_label(child.live):
                keys.add(key)
        return keys

    def _workload_ready(self, key: ObjectKey) -> None:
        if node := self._context.nodes.get(key):
            for handler in self._workload_ready_handlers:
                handler(node)

    def _enqueue(self, key: ObjectKey, *, after: float = 0.0) -> None:
        if node := self._context.nodes.get(key):
            self._add(key, node, QueuePriority.EVENT, after=after)

    def _add(
        self, key: ObjectKey, node: LynqNode, priority: QueuePriority, *, after: float = 0.0
    ) -> None:
        if self._shard.owns(key) or self._is_lost(node):
            group = str(hub_by_label(node) or "")
            self._queue.add_after(key, after, priority=priority, group=group)

    def _is_lost(self, node: LynqNode) -> bool:
        """Return whether another shard does not receive its node, because a label is wrong."""
        key, label = node.metadata.key, node.metadata.labels.get(LABEL_BUCKET)
        is_foreign = self._shard.has_hubs and not self._shard.owns(key)
        return is_foreign and label != bucket_label(*key)


def _reconciled_fields(node: LynqNode) -> tuple[object, ...]:
    """Return the fields that a reconcile depends on; the status is written by us alone."""
    metadata = node.metadata
    return (
        metadata.uid,
        metadata.generation,
        metadata.annotations,
        metadata.labels,
        metadata.finalizers,
        metadata.deletion_timestamp,
    )
