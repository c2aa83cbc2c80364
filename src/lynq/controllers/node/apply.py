"""Carries out the writes of a pass, all that can go now in parallel, and remembers the answers.

An object that the API server does not take is that resource's failure and nobody else's. Only
what concerns all of them, no connection or no lease, ends the pass.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lynq.api import LynqNode, ResourceState
from lynq.controllers.concurrency import gather_or_cancel
from lynq.controllers.impersonation import ClientSelector
from lynq.controllers.node.observe import ObservedResource, Observer
from lynq.controllers.node.state import NodeState
from lynq.controllers.node.write import ResourceWrite, WriteResult
from lynq.core.graph.model import Graph
from lynq.core.node.decide import PassContext
from lynq.core.node.objects import owner_of
from lynq.core.node.state import ResourceOutcome, WriteCause
from lynq.core.node.step import ReconcileStep, next_step
from lynq.telemetry import OperatorMetrics

_IN_STEP: Final = frozenset({ResourceState.READY, ResourceState.PROGRESSING})
"""States of objects that are as they should be, ready or not."""


@dataclass(slots=True)
class ApplyProgress:
    """How far a pass has come."""

    observed: dict[str, ObservedResource]
    step: ReconcileStep
    written: set[str] = field(default_factory=set)
    """The ids of the resources that were sent and taken."""
    changed: int = 0
    """How many objects are others than before."""
    adopted: list[ObservedResource] = field(default_factory=list)
    """Objects that were orphans, and are the node's again."""
    taken_over: list[tuple[ObservedResource, str]] = field(default_factory=list)
    """Objects of which fields were taken over from others, and from whom."""


class Applier:
    """Brings a node's resources as far as they can be brought now."""

    def __init__(
        self, accounts: ClientSelector, lookout: Observer, series: OperatorMetrics
    ) -> None:
        self._accounts = accounts
        self._lookout = lookout
        self._series = series

    def plan(
        self,
        node: LynqNode,
        graph: Graph,
        sights: dict[str, ObservedResource],
        *,
        now: datetime,
        force: bool,
    ) -> ApplyProgress:
        """Return what would be written first."""
        return ApplyProgress(sights, _next(node, graph, sights, now, force=force))

    async def apply(
        self,
        node: LynqNode,
        graph: Graph,
        progress: ApplyProgress,
        state: NodeState,
        *,
        force: bool,
        now: Callable[[], datetime],
        goes_on: Callable[[], bool],
    ) -> ApplyProgress:
        """Carry a plan out until there is no next step, or the node is not what it was."""
        client = self._accounts.client_for(node)
        while progress.step.writes and goes_on():
            results = await gather_or_cancel(
                ResourceWrite(
                    client, self._lookout, node, state, progress.observed[write.id], write, now()
                ).send()
                for write in progress.step.writes
            )
            for result in results:
                self._record(node, result, progress)
            progress.step = _next(node, graph, progress.observed, now(), force=force)
        for outcome in progress.step.outcomes:
            self._count_unsent(node, outcome, progress.observed[outcome.id])
        return progress

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
        if result.previous_managers:
            progress.taken_over.append((result.after, result.previous_managers))

    def _count_unsent(
        self, node: LynqNode, outcome: ResourceOutcome, sight: ObservedResource
    ) -> None:
        """Count what needed no write, and what could not even be tried, as attempts of the pass."""
        kind, policy = outcome.ref.kind, str(sight.facts.resource.conflict_policy)
        if sight.kind is None:
            if outcome.state is ResourceState.FAILED:
                self._series.record_apply(kind, "error", policy)
        elif sight.facts.was_written or outcome.write:
            return
        elif outcome.state is ResourceState.CONFLICTED:
            self._series.record_apply(kind, "error", policy)
            self._series.record_conflict(node.metadata.key, kind, policy)
        elif outcome.state in _IN_STEP:
            self._series.record_apply(kind, "success", policy)

    def _count(self, node: LynqNode, result: WriteResult) -> None:
        kind, rejection = result.write.ref.kind, result.rejection
        policy = str(result.before.facts.resource.conflict_policy)
        self._series.record_apply(kind, "error" if rejection else "success", policy)
        if rejection and rejection.is_conflict:
            self._series.record_conflict(node.metadata.key, kind, policy)


def _next(
    node: LynqNode, graph: Graph, sights: dict[str, ObservedResource], now: datetime, *, force: bool
) -> ReconcileStep:
    facts = {this: sight.facts for this, sight in sights.items()}
    return next_step(graph, facts, PassContext(owner_of(node), now, force))
