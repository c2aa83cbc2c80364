"""Reconciles a node that is not being deleted: an ordered list of steps, one status at the end.

Finalizer, variables and graph, observe, inventory, apply in waves, prune, status. No step waits for
readiness: the reconcile applies what the dependencies allow now, writes the status and is requeued
by the next watch event or deadline. Objects that left the form are pruned after everything is
applied, because their successors may be rejected.
"""

import asyncio
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import structlog

from lynq.api import LynqNode, NodeStatus
from lynq.api.initial_inventory import lists_objects
from lynq.api.names import FINALIZER_NODE
from lynq.api.node_metadata import is_deleting, is_paused
from lynq.api.reasons import OrphanReason
from lynq.controllers.concurrency import run_beside
from lynq.controllers.context import ControllerContext
from lynq.controllers.node.apply import Applier, ApplyProgress
from lynq.controllers.node.claims import NodeClaims
from lynq.controllers.node.observe import Observer
from lynq.controllers.node.observed_resource import (
    ObservedResource,
    Resolved,
    lacks_heavy_render,
)
from lynq.controllers.node.prune import Pruner, PruneResult
from lynq.controllers.node.state import NodeState, NodeStates
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
from lynq.core.node.objects import ObjectRef, owner_of
from lynq.core.node.prune import find_stale, pending_outcomes, select_prunable
from lynq.core.node.schedule import ForcedApply, force_due_at, is_force_due, requeue_at
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
    """The decoded row and the dependency graph of a valid node."""

    variables: Mapping[str, str]
    graph: Graph


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
        state.absent.clear()
        state.released.clear()
        inventory = inventory_of(node, desired.variables)
        observed = await self._observe(node, desired, inventory, state)
        if lacks_heavy_render(observed.values()) and _was_reported(node):
            # The status stays as it is. The end of the render requeues the node, also if it was
            # reached since: a garbage collection can make any render heavy for a moment.
            return Result()
        now, interval = self._context.clock(), self._context.options.force_reapply_interval
        is_due = is_force_due(node, interval, now)
        # All resources are applied together, or the quick ones would be applied again each time.
        force = is_due and not self._gate.defer_any(node, _written_refs(observed))
        plan = self._applier.plan(node, desired.graph, observed, now=now, force=force)
        stale = self._find_stale(node, plan, inventory)
        report = status_report(node, plan, pending_outcomes(stale), inventory)
        if status := inventory_status(node.status, report, inventory, now):
            node = await self._write_inventory(node, state, status)
        apply = self._applier.apply(
            node,
            desired.graph,
            plan,
            state,
            force=force,
            clock=self._context.clock,
            is_current=partial(self._is_current, node),
        )
        node, progress = await self._apply_and_report(node, state, report, apply)
        if progress.step.writes:
            # The node has changed since, and is in the queue again.
            return Result()
        if progress.written:
            _log.debug("variables rendered", variables=sorted(desired.variables))
        state.keep_only({resource.ref for resource in observed.values()})
        pruned = await self._prune(node, stale, desired.graph, progress, state)
        forced = _forced_apply(progress, is_due=is_due, force=force)
        report = status_report(node, progress, pruned.remaining, inventory, forced)
        status = next_status(node.status, report, self._context.clock())
        is_outdated = self._record_contested(node, state, progress)
        seconds = time.monotonic() - started
        delay = await self._reporter.report(node, state, status, progress, pruned, seconds=seconds)
        now = self._context.clock()
        deadlines = (
            progress.step.requeue_at,
            pruned.requeue_at,
            now + delay if delay is not None else None,
            now if is_outdated else None,
        )
        return self._requeue(node, status, progress, deadlines, forced)

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
        self,
        node: LynqNode,
        desired: _DesiredState,
        inventory: tuple[InventoryItem, ...],
        state: NodeState,
    ) -> dict[str, ObservedResource]:
        now, timing = self._context.clock(), self._context.timing
        has_shards = self._context.options.shard.count > 1
        return await self._observer.observe(
            node,
            desired.variables,
            state,
            listed=objects_to_read(
                node.status,
                inventory,
                waiting_since=now - timing.not_ready_requeue if has_shards else None,
            ),
            records=read_records(node.status, inventory),
            now=now,
        )

    def _find_stale(
        self,
        node: LynqNode,
        plan: ApplyProgress,
        inventory: tuple[InventoryItem, ...],
    ) -> tuple[InventoryItem, ...]:
        """Return the objects that left the form."""
        resources = plan.observed.values()
        return find_stale(
            inventory,
            self._pruner.applied_objects(node),
            desired=[resource.ref for resource in resources if resource.facts.desired is not None],
            unresolved=plan.unresolved,
        )

    async def _prune(
        self,
        node: LynqNode,
        stale: tuple[InventoryItem, ...],
        graph: Graph,
        progress: ApplyProgress,
        state: NodeState,
    ) -> PruneResult:
        """Delete or retain the objects that left the form and whose successors are accepted."""
        observed = progress.observed
        successors = Successors(
            owner_of(node),
            node.status,
            graph,
            facts={resource_id: resource.facts for resource_id, resource in observed.items()},
            outcomes={outcome.id: outcome for outcome in progress.step.outcomes},
        )
        siblings = await self._siblings(node) if stale else NO_SIBLINGS
        selection = select_prunable(node, stale, progress.unresolved, successors, siblings)
        result = await self._pruner.prune(
            node,
            selection.items,
            state,
            OrphanReason.REMOVED_FROM_TEMPLATE,
            clock=self._context.clock,
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

    async def _write_inventory(
        self, node: LynqNode, state: NodeState, status: NodeStatus
    ) -> LynqNode:
        """List new objects in the status; raises NodeChanged."""
        written = await self._reporter.write_inventory(node, state, status)
        before, after = node.metadata, written.metadata
        if (before.generation, before.annotations) != (after.generation, after.annotations):
            raise NodeChanged
        return written

    async def _apply_and_report(
        self,
        node: LynqNode,
        state: NodeState,
        report: StatusReport,
        apply: Coroutine[Any, Any, ApplyProgress],
    ) -> tuple[LynqNode, ApplyProgress]:
        """Apply the resources; if a write takes long, list the objects of a new node meanwhile."""
        if lists_objects(node):
            return node, await apply
        written = [node]

        async def list_objects() -> None:
            if status := inventory_status(node.status, report, (), self._context.clock()):
                written.append(await self._write_inventory(node, state, status))

        timing, is_busy = self._context.timing, self._context.client.is_busy
        longest = timing.busy_report_delay if is_busy else timing.inventory_report_delay
        loop = asyncio.get_running_loop()
        state.write_sent_at = loop.time()

        def delay() -> float:
            if self._gate.is_queued(node.metadata.key):
                return timing.deferred_write_check
            return state.write_sent_at + longest - loop.time()

        progress = await run_beside(apply, delay, list_objects)
        return written[-1], progress

    def _is_current(self, node: LynqNode) -> bool:
        """Return whether the cache has no newer spec, deletion or pause of the node."""
        cached = self._context.nodes.get(node.metadata.key)
        return (
            cached is not None
            and cached.metadata.uid == node.metadata.uid
            and cached.metadata.generation == node.metadata.generation
            and not is_deleting(cached)
            and not is_paused(cached)
        )

    def _record_contested(self, node: LynqNode, state: NodeState, progress: ApplyProgress) -> bool:
        """Record the contested objects; return whether a new one has changed since it was observed.

        The change of an object wakes the nodes that contest it. One that happened before the object
        was recorded as contested has woken none.
        """
        before = state.contested
        self._states.set_contested(node, progress.contested_refs())
        return progress.is_outdated(state.contested - before)

    def _requeue(
        self,
        node: LynqNode,
        status: NodeStatus,
        progress: ApplyProgress,
        deadlines: tuple[datetime | None, ...],
        forced: ForcedApply,
    ) -> Result:
        now, timing = self._context.clock(), self._context.timing
        interval, uid = self._context.options.force_reapply_interval, node.metadata.uid
        is_deferred = forced is ForcedApply.DEFERRED
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


def _written_refs(observed: Mapping[str, ObservedResource]) -> list[ObjectRef]:
    """Return the objects that a forced reconcile writes."""
    return [resource.ref for resource in observed.values() if isinstance(resource, Resolved)]


def _forced_apply(progress: ApplyProgress, *, is_due: bool, force: bool) -> ForcedApply:
    if not is_due:
        return ForcedApply.NOT_DUE
    is_complete = force and not progress.has_deferred_writes
    return ForcedApply.COMPLETED if is_complete else ForcedApply.DEFERRED


def _was_reported(node: LynqNode) -> bool:
    """Return whether the status reports the current generation."""
    return node.status.observed_generation == node.metadata.generation


def _desired_state(node: LynqNode) -> _DesiredState | InvalidNode:
    try:
        return _DesiredState(variables_of(node), build_graph(entries_of(node.spec)))
    except VariablesError as error:
        return InvalidNode.with_variables(error)
    except GraphError as error:
        return InvalidNode.with_graph(error)
