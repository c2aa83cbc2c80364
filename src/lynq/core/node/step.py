"""The next step of a reconcile: the writes that are due, and the state of every resource.

The shell sends the writes and calls `next_step` again with the answers, until a step has no writes.
The step depends on its arguments only.
"""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from lynq.api import ResourceState
from lynq.api.events import EventReason
from lynq.api.reasons import StateReason
from lynq.core.graph.gate import GateAction, GateDecision, dependency_gate
from lynq.core.graph.model import Graph
from lynq.core.node.decide import PassContext, decide
from lynq.core.node.state import ResourceFacts, ResourceOutcome, Write, earliest


class ReconcileStep(Struct, frozen=True):
    """The writes that are due now, and the state of every resource."""

    outcomes: tuple[ResourceOutcome, ...]
    """One per resource, in the canonical order."""

    @property
    def writes(self) -> tuple[Write, ...]:
        """The writes that are due, independent of each other; empty if no step is left."""
        return tuple(outcome.write for outcome in self.outcomes if outcome.write is not None)

    @property
    def requeue_at(self) -> datetime | None:
        """The earliest time at which a state may change without an event."""
        return earliest(outcome.requeue_at for outcome in self.outcomes)


def next_step(
    graph: Graph, facts: Mapping[str, ResourceFacts], context: PassContext
) -> ReconcileStep:
    """Return the next step; `facts` has every id of the graph, in the canonical order."""
    outcomes: dict[str, ResourceOutcome] = {}
    states: dict[str, ResourceState] = {}
    duplicates = _duplicates(facts)
    for wave in graph.waves:
        for resource_id in wave:
            resource = facts[resource_id]
            gate = dependency_gate(
                graph.dependencies[resource_id],
                states,
                skip_on_dependency_failure=resource.resource.skip_on_dependency_failure,
            )
            outcome = _outcome(resource, gate, duplicates.get(resource_id), context)
            outcomes[resource_id] = outcome
            # Dependents of a resource in conflict wait as it does.
            states[resource_id] = gate.blocked or outcome.state
    return ReconcileStep(tuple(outcomes[resource_id] for resource_id in graph.dependencies))


def _outcome(
    facts: ResourceFacts, gate: GateDecision, duplicate_of: str | None, context: PassContext
) -> ResourceOutcome:
    # An object of another node is handed over only to a node that is in conflict about it.
    if gate.blocked and not facts.claimant:
        return _blocked_by_dependency(facts, gate, gate.blocked)
    if duplicate_of is not None:
        return _duplicate(facts, duplicate_of)
    outcome = decide(facts, context)
    if gate.action is GateAction.PROCEED:
        return replace(outcome, failed_dependency=gate.dependency)
    return outcome


def _blocked_by_dependency(
    facts: ResourceFacts, gate: GateDecision, state: ResourceState
) -> ResourceOutcome:
    is_skipped = state is ResourceState.SKIPPED
    reason = EventReason.DEPENDENCY_SKIPPED if is_skipped else StateReason.DEPENDENCY_NOT_READY
    return ResourceOutcome(
        id=facts.resource.id,
        ref=facts.ref,
        state=state,
        reason=str(reason),
        message=gate.message,
        is_retained=facts.is_retained,
        is_completed=facts.is_completed,
    )


def _duplicates(facts: Mapping[str, ResourceFacts]) -> dict[str, str]:
    """Return each resource whose object an earlier resource renders too, with the earlier one."""
    first_ids: dict[tuple[str, str, str, str], str] = {}
    duplicates: dict[str, str] = {}
    for resource_id, resource in facts.items():
        if resource.desired is None:
            continue
        first_id = first_ids.setdefault(resource.ref.identity, resource_id)
        if first_id != resource_id:
            duplicates[resource_id] = first_id
    return duplicates


def _duplicate(facts: ResourceFacts, first_id: str) -> ResourceOutcome:
    return ResourceOutcome(
        id=facts.resource.id,
        ref=facts.ref,
        state=ResourceState.FAILED,
        reason=str(StateReason.DUPLICATE_OBJECT),
        message=f'{facts.ref} is also rendered by "{first_id}"; rename one of them',
        is_retained=facts.is_retained,
    )
