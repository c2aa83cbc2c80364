"""Reconciles a node that is not being deleted: an ordered list of steps, one status at the end.

1. The finalizer is added if it is missing. The row and the graph are decoded; of an invalid node
   only the problem is reported.
2. The resources are observed. A node that has reported its generation waits for heavy renders.
3. The first wave of writes is planned, and the objects that left the form are found.
4. Objects that the status does not list are listed before they are created. Those of a new node are
   listed by its hub, and in the status as well if their writes take long.
5. The resources are applied in waves, as far as the dependencies allow now.
6. Objects that left the form are pruned: after all writes, as their successors may be rejected.
7. One status is written, with events and metrics. The node is requeued at its nearest deadline.

No step waits for readiness: a watch event or a deadline starts the next reconcile. A reconcile ends
before step 6 if the node has changed meanwhile. What the steps tell each other is in `NodePass` and
`ApplyProgress`; what the next reconcile needs is in `NodeState`.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import structlog

from lynq.api import LynqNode, NodeStatus
from lynq.api.initial_inventory import lists_objects
from lynq.api.names import FINALIZER_NODE
from lynq.api.reasons import OrphanReason
from lynq.controllers.concurrency import run_beside
from lynq.controllers.context import ControllerContext
from lynq.controllers.node.apply import Applier, ApplyProgress
from lynq.controllers.node.claims import NodeClaims
from lynq.controllers.node.observe import Observer
from lynq.controllers.node.observed_resource import ObservedResource, lacks_heavy_render
from lynq.controllers.node.prune import Pruner, PruneResult
from lynq.controllers.node.state import NodePass, NodeState, NodeStates
from lynq.controllers.node.status import StatusReporter, status_report
from lynq.controllers.node.write_gate import WriteGate
from lynq.core.graph.build import build_graph, entries_of
from lynq.core.graph.model import Graph
from lynq.core.graph.problems import GraphError
from lynq.core.node.inventory import (
    InventoryItem,
    inventory_of,
    objects_to_read,
    read_records,
)
from lynq.core.node.objects import owner_of
from lynq.core.node.prune import find_stale, pending_outcomes, select_prunable
from lynq.core.node.schedule import ForcedApply, force_due_at, requeue_at
from lynq.core.node.siblings import NO_SIBLINGS, Siblings
from lynq.core.node.status import (
    InvalidNode,
    StatusReport,
    invalid_status,
    inventory_status,
    next_status,
)
from lynq.core.node.successor import Successors
from lynq.core.node.variables import VariablesError, variables_of
from lynq.kube import PartialObject, Result

_log = structlog.get_logger(__name__)


class NodeChanged(Exception):  # noqa: N818 - says what happened
    """The node differs from the cached one, so no object of it may be deleted."""


@dataclass(frozen=True, slots=True)
class _DesiredState:
    """What a valid node desires: its decoded row, its resources, and the objects that it lists."""

    variables: Mapping[str, str]
    graph: Graph
    inventory: tuple[InventoryItem, ...]


class NodeReconciler:
    """Reconciles nodes with their rows and forms."""

    def __init__(
        self,
        context: ControllerContext,
        observer: Observer,
        pruner: Pruner,
        applier: Applier,
        reporter: StatusReporter,
        *,
        states: NodeStates,
        claims: NodeClaims,
        gate: WriteGate,
    ) -> None:
        self._gate = gate
        self._claims = claims
        self._context = context
        self._observer = observer
        self._pruner = pruner
        self._applier = applier
        self._reporter = reporter
        self._states = states

    async def reconcile(self, node: LynqNode, state: NodeState) -> Result:
        """Reconcile a node as far as its dependencies allow."""
        started = time.monotonic()
        node = await self._with_finalizer(node)
        desired = _desired_state(node)
        if isinstance(desired, InvalidNode):
            return await self._report_invalid(node, state, desired)
        node_pass = NodePass.for_reconcile(node, state, started)
        observed = await self._observe(node_pass, desired)
        if lacks_heavy_render(observed.values()) and _was_reported(node):
            # The status stays as it is. The end of the render requeues the node, also if it was
            # reached since: a garbage collection can make any render heavy for a moment.
            return Result()
        progress = self._applier.plan(node, desired.graph, observed)
        stale = self._find_stale(node, desired, progress)
        planned = status_report(
            node,
            progress,
            pending_outcomes(stale),
            desired.inventory,
            has_key=self._context.has_key,
        )
        await self._list_new_objects(node_pass, desired, planned)
        await self._apply(node_pass, progress, planned)
        if progress.step.writes:
            # The node has changed since, and is in the queue again.
            return Result()
        if progress.written:
            _log.debug("variables rendered", variables=sorted(desired.variables))
        state.writes.keep_only({resource.ref for resource in observed.values()})
        pruned = await self._prune(node_pass, progress, stale)
        return await self._report(node_pass, desired, progress, pruned)

    async def _with_finalizer(self, node: LynqNode) -> LynqNode:
        """Add the finalizer if it is missing; the hub creates nodes with it."""
        finalizers = node.metadata.finalizers
        if FINALIZER_NODE in finalizers:
            return node
        return await self._context.nodes.patch(node, {"finalizers": [*finalizers, FINALIZER_NODE]})

    async def _report_invalid(
        self, node: LynqNode, state: NodeState, invalid: InvalidNode
    ) -> Result:
        now = self._context.clock()
        status = invalid_status(node.status, invalid, node.metadata.generation, now)
        delay = await self._reporter.report_invalid(node, state, status, invalid)
        return Result(delay.total_seconds()) if delay else Result()

    async def _observe(
        self, node_pass: NodePass, desired: _DesiredState
    ) -> dict[str, ObservedResource]:
        now, timing = self._context.clock(), self._context.timing
        has_shards = self._context.options.shard.count > 1
        status = node_pass.node.status
        return await self._observer.observe(
            node_pass.node,
            desired.variables,
            node_pass.state,
            listed=objects_to_read(
                status,
                desired.inventory,
                waiting_since=now - timing.not_ready_requeue if has_shards else None,
            ),
            records=read_records(status, desired.inventory),
            now=now,
        )

    def _find_stale(
        self, node: LynqNode, desired: _DesiredState, progress: ApplyProgress
    ) -> tuple[InventoryItem, ...]:
        """Return the objects that left the form."""
        resources = progress.observed.values()
        return find_stale(
            desired.inventory,
            self._pruner.applied_objects(node),
            desired=[resource.ref for resource in resources if resource.facts.desired is not None],
            unresolved=progress.unresolved,
        )

    async def _list_new_objects(
        self, node_pass: NodePass, desired: _DesiredState, planned: StatusReport
    ) -> None:
        """List objects in the status before they are created."""
        before, now = node_pass.node.status, self._context.clock()
        if status := inventory_status(before, planned, desired.inventory, now):
            node_pass.node = await self._write_inventory(node_pass, status)

    async def _apply(
        self, node_pass: NodePass, progress: ApplyProgress, planned: StatusReport
    ) -> None:
        """Apply the resources; if a write takes long, list the objects of a new node meanwhile."""
        node, apply = node_pass.node, self._applier.apply(node_pass, progress)
        if lists_objects(node):
            await apply
            return
        written = node

        async def list_objects() -> None:
            nonlocal written
            if status := inventory_status(node.status, planned, (), self._context.clock()):
                written = await self._write_inventory(node_pass, status)

        timing, is_busy = self._context.timing, self._context.client.is_busy
        longest = timing.busy_report_delay if is_busy else timing.inventory_report_delay
        loop = asyncio.get_running_loop()
        node_pass.write_sent_at = loop.time()

        def delay() -> float:
            if self._gate.is_queued(node.metadata.key):
                return timing.deferred_write_check
            return node_pass.write_sent_at + longest - loop.time()

        await run_beside(apply, delay, list_objects)
        # Not before: every step is decided with the same status.
        node_pass.node = written

    async def _prune(
        self,
        node_pass: NodePass,
        progress: ApplyProgress,
        stale: tuple[InventoryItem, ...],
    ) -> PruneResult:
        """Delete or retain the objects that left the form and whose successors are accepted."""
        node, observed = node_pass.node, progress.observed
        successors = Successors(
            owner_of(node),
            node.status,
            progress.graph,
            facts={resource_id: resource.facts for resource_id, resource in observed.items()},
            outcomes={outcome.id: outcome for outcome in progress.step.outcomes},
        )
        siblings = await self._siblings(node) if stale else NO_SIBLINGS
        selection = select_prunable(node, stale, progress.unresolved, successors, siblings)
        result = await self._pruner.prune(
            node_pass,
            selection.items,
            OrphanReason.REMOVED_FROM_TEMPLATE,
            held=selection.held,
            confirm=lambda: self._confirm_unchanged(node),
        )
        result.requeue_at = selection.requeue_at
        return result

    async def _siblings(self, node: LynqNode) -> Siblings:
        members = await self._claims.siblings(node)
        return Siblings.of(node, members, self._context.timing.move_grace, self._context.clock())

    async def _confirm_unchanged(self, node: LynqNode) -> None:
        """Check with the API server that the node is the cached one; raises NodeChanged, NotFound.

        The caches of a new leader can be behind, each on its own: an object that the cached node
        does not desire may be desired by now.
        """
        metadata = node.metadata
        client, resource = self._context.client, self._context.nodes.resource
        live = await client.get(resource, metadata.name, metadata.namespace, into=PartialObject)
        if live.metadata.resource_version != metadata.resource_version:
            raise NodeChanged

    async def _write_inventory(self, node_pass: NodePass, status: NodeStatus) -> LynqNode:
        """List new objects in the status; raises NodeChanged."""
        node = node_pass.node
        written = await self._reporter.write_inventory(node, node_pass.state, status)
        before, after = node.metadata, written.metadata
        if (before.generation, before.annotations) != (after.generation, after.annotations):
            raise NodeChanged
        return written

    async def _report(
        self,
        node_pass: NodePass,
        desired: _DesiredState,
        progress: ApplyProgress,
        pruned: PruneResult,
    ) -> Result:
        """Write the status, and requeue the node at the nearest deadline."""
        node, forced = node_pass.node, progress.forced_apply
        report = status_report(
            node,
            progress,
            pruned.remaining,
            desired.inventory,
            forced,
            has_key=self._context.has_key,
        )
        status = next_status(node.status, report, self._context.clock())
        is_outdated = self._record_contested(node_pass, progress)
        delay = await self._reporter.report(node_pass, status, progress, pruned)
        now = self._context.clock()
        deadlines = (
            progress.step.requeue_at,
            pruned.requeue_at,
            now + delay if delay is not None else None,
            now if is_outdated else None,
        )
        return self._requeue(node, status, progress, deadlines)

    def _record_contested(self, node_pass: NodePass, progress: ApplyProgress) -> bool:
        """Record the contested objects; return whether a new one has changed since it was observed.

        The change of an object wakes the nodes that contest it. One that happened before the object
        was recorded as contested has woken none.
        """
        before = node_pass.state.contested
        self._states.set_contested(node_pass.node, progress.contested_refs())
        return progress.is_outdated(node_pass.state.contested - before)

    def _requeue(
        self,
        node: LynqNode,
        status: NodeStatus,
        progress: ApplyProgress,
        deadlines: tuple[datetime | None, ...],
    ) -> Result:
        now, timing = self._context.clock(), self._context.timing
        interval, uid = self._context.options.force_reapply_interval, node.metadata.uid
        is_deferred = progress.forced_apply is ForcedApply.DEFERRED
        force_at = force_due_at(status.last_full_reconcile_at, interval, uid)
        forced_at = now + timing.not_ready_requeue if is_deferred else force_at
        at = requeue_at(
            status,
            (*deadlines, forced_at),
            now,
            timing.not_ready_requeue,
            has_deferred_writes=progress.has_deferred_writes,
        )
        if at is None:
            return Result()
        return Result(max((at - now).total_seconds(), timing.min_node_requeue))


def _was_reported(node: LynqNode) -> bool:
    """Return whether the status reports the current generation."""
    return node.status.observed_generation == node.metadata.generation


def _desired_state(node: LynqNode) -> _DesiredState | InvalidNode:
    try:
        variables = variables_of(node)
        graph = build_graph(entries_of(node.spec))
    except VariablesError as error:
        return InvalidNode.with_variables(error)
    except GraphError as error:
        return InvalidNode.with_graph(error)
    return _DesiredState(variables, graph, inventory_of(node, variables))
