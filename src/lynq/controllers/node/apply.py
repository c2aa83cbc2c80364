"""Applies a node's resources: step by step, the writes of one step in parallel.

A rejected write is the failure of its resource only. An error that concerns every resource, such as
a lost connection or a lost lease, ends the reconcile.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from lynq.api import LynqNode, ResourceState, TResource
from lynq.api.node_metadata import is_deleting, is_paused
from lynq.controllers.children import Child
from lynq.controllers.concurrency import gather_or_cancel
from lynq.controllers.context import ControllerContext
from lynq.controllers.impersonation import ClientSelector
from lynq.controllers.node.claims import NodeClaims
from lynq.controllers.node.object_reader import ObjectReader, key_of
from lynq.controllers.node.observed_resource import Blocked, ObservedResource, Resolved
from lynq.controllers.node.state import NodePass
from lynq.controllers.node.write import ResourceWrite, WriteResult
from lynq.controllers.node.write_gate import WriteGate
from lynq.core.graph.model import Graph
from lynq.core.node.decide import PassContext
from lynq.core.node.masking import mask_readiness
from lynq.core.node.objects import ObjectIdentity, ObjectRef, owner_of
from lynq.core.node.schedule import ForcedApply, is_force_due, is_force_requested
from lynq.core.node.state import ResourceOutcome, Write, WriteCause
from lynq.core.node.status import readiness_losses
from lynq.core.node.step import ReconcileStep, next_step

_APPLIED: Final = frozenset({ResourceState.READY, ResourceState.PROGRESSING})
"""States of a resource whose object has the desired content, ready or not."""


@dataclass(slots=True)
class ApplyProgress:
    """The progress of one reconcile."""

    graph: Graph
    observed: dict[str, ObservedResource]
    """The resources by id, updated with the answer to each write."""
    step: ReconcileStep
    is_force_due: bool
    """Whether all resources have to be applied, changed or not."""
    force: bool
    """Whether they are applied now; False if that is deferred."""
    written: set[str] = field(default_factory=set)
    """The ids of the resources whose write was accepted."""
    changed: int = 0
    """Number of objects that were created or changed."""
    adopted: list[Resolved] = field(default_factory=list)
    """Former orphans that the node owns again."""
    foreign: list[Resolved] = field(default_factory=list)
    """Objects that existed before and were applied."""
    taken_over: list[tuple[Resolved, str]] = field(default_factory=list)
    """Objects whose fields were taken over by force, with the previous managers."""

    @property
    def has_deferred_writes(self) -> bool:
        """Whether a write of the reconcile was deferred."""
        return any(resource.facts.is_deferred for resource in self.observed.values())

    @property
    def forced_apply(self) -> ForcedApply:
        """Whether the reconcile has applied all resources so far."""
        if not self.is_force_due:
            return ForcedApply.NOT_DUE
        is_complete = self.force and not self.has_deferred_writes
        return ForcedApply.COMPLETED if is_complete else ForcedApply.DEFERRED

    @property
    def unresolved(self) -> list[TResource]:
        """The resources whose desired objects are not identified."""
        resources = self.observed.values()
        return [resource.facts.resource for resource in resources if isinstance(resource, Blocked)]

    def due_writes(self) -> list[tuple[Resolved, Write]]:
        """Return the writes of the step, each with its resource; a blocked one has none."""
        writes = ((self.observed[write.id], write) for write in self.step.writes)
        return [(observed, write) for observed, write in writes if isinstance(observed, Resolved)]

    def contested_refs(self) -> Iterator[ObjectRef]:
        """Yield the observed objects that belong to another node."""
        for outcome in self.step.outcomes:
            match self.observed[outcome.id]:
                case Resolved(child=Child()) if outcome.state is ResourceState.CONFLICTED:
                    yield outcome.ref

    def is_outdated(self, identities: Collection[ObjectIdentity]) -> bool:
        """Return whether the cache has another state of one of these objects than was observed."""
        for resource in self.observed.values():
            if isinstance(resource, Resolved) and resource.ref.identity in identities:
                observed, cached = resource.child, resource.kind.child(key_of(resource.ref))
                if (observed and observed.live) != (cached and cached.live):
                    return True
        return False


class Applier:
    """Applies the resources of a node as far as their dependencies allow."""

    def __init__(
        self,
        context: ControllerContext,
        clients: ClientSelector,
        reader: ObjectReader,
        *,
        claims: NodeClaims,
        gate: WriteGate,
    ) -> None:
        self._context = context
        self._metrics = context.operator_metrics
        self._clients = clients
        self._reader = reader
        self._claims = claims
        self._gate = gate

    def plan(
        self, node: LynqNode, graph: Graph, observed: dict[str, ObservedResource]
    ) -> ApplyProgress:
        """Return the first step, without a write."""
        now, interval = self._context.clock(), self._context.options.force_reapply_interval
        is_due = is_force_due(node, interval, now)
        refs = [resource.ref for resource in observed.values() if isinstance(resource, Resolved)]
        # All resources are applied together, or the quick ones would be applied again each time.
        force = is_due and not self._gate.defer_any(node, refs)
        step = _next_step(node, graph, observed, now, force=force)
        return ApplyProgress(graph, observed, step, is_force_due=is_due, force=force)

    async def apply(self, node_pass: NodePass, progress: ApplyProgress) -> None:
        """Send the writes of each step until no step is left, or the node has changed."""
        node, clock = node_pass.node, self._context.clock
        client = self._clients.client_for(node)
        while (writes := progress.due_writes()) and self._is_current(node):
            results = await gather_or_cancel(
                self._send(
                    ResourceWrite(
                        client, self._reader, self._claims, node_pass, observed, write, clock
                    )
                )
                for observed, write in writes
            )
            for result in results:
                self._record(node, result, progress)
            progress.step = _next_step(
                node, progress.graph, progress.observed, clock(), force=progress.force
            )
        for outcome in progress.step.outcomes:
            self._count_unsent(node, outcome, progress.observed[outcome.id])

    async def _send(self, write: ResourceWrite) -> WriteResult:
        ref, unsent = write.write.ref, write.node_pass.state.writes.unsent
        # Until the gate says otherwise, the write may have been sent.
        unsent.discard(ref)
        result = await self._gate.send(write.node_pass.node, ref, write.send)
        if result is None and write.observed.child is None:
            unsent.add(ref)
        return result or write.deferred()

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

    def _record(self, node: LynqNode, result: WriteResult, progress: ApplyProgress) -> None:
        """Record the result of a write in the progress and in the metrics."""
        write = result.write
        progress.observed[write.id] = result.after
        if result.is_accepted or result.rejection:
            self._count(node, result)
        if not result.is_accepted:
            return
        progress.written.add(write.id)
        progress.changed += result.has_changed
        if write.cause is WriteCause.ORPHANED:
            progress.adopted.append(result.after)
        if write.cause is WriteCause.FOREIGN:
            progress.foreign.append(result.after)
        if result.previous_managers:
            progress.taken_over.append((result.after, result.previous_managers))

    def _count(self, node: LynqNode, result: WriteResult) -> None:
        kind, rejection = result.write.ref.kind, result.rejection
        policy = str(result.before.facts.resource.conflict_policy)
        self._metrics.record_apply(kind, "error" if rejection else "success", policy)
        if rejection and rejection.is_conflict:
            self._metrics.record_conflict(node.metadata.key, kind, policy)

    def _count_unsent(
        self, node: LynqNode, outcome: ResourceOutcome, observed: ObservedResource
    ) -> None:
        """Count a resource that needed no write, or could not be written, as an apply attempt."""
        kind, policy = outcome.ref.kind, str(observed.facts.resource.conflict_policy)
        if isinstance(observed, Blocked):
            if outcome.state is ResourceState.FAILED:
                self._metrics.record_apply(kind, "error", policy)
        elif observed.facts.was_written or observed.facts.is_deferred or outcome.write:
            return
        elif outcome.state is ResourceState.CONFLICTED:
            self._metrics.record_apply(kind, "error", policy)
            self._metrics.record_conflict(node.metadata.key, kind, policy)
        elif outcome.state in _APPLIED:
            self._metrics.record_apply(kind, "success", policy)


def _next_step(
    node: LynqNode,
    graph: Graph,
    observed: dict[str, ObservedResource],
    now: datetime,
    *,
    force: bool,
) -> ReconcileStep:
    losses = readiness_losses(node.status, now)
    facts = {
        resource_id: replace(
            mask_readiness(node, resource.facts),
            readiness_lost_at=losses.get((resource_id, resource.ref)),
        )
        for resource_id, resource in observed.items()
    }
    is_requested = force and is_force_requested(node)
    return next_step(graph, facts, PassContext(owner_of(node), now, force, is_requested))
