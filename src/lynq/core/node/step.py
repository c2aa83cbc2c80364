"""The next step of a reconcile: what to write now, what waits for what, and until when.

Asked again with the answers to its writes, it goes on until there is no next step. It remembers
nothing: all that it knows is in its arguments.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from lynq.api import ResourceState
from lynq.api.events import EventReason
from lynq.core.graph.gate import GateAction, GateDecision, dependency_gate
from lynq.core.graph.model import Graph
from lynq.core.node.decide import PassContext, decide
from lynq.core.node.state import ResourceFacts, ResourceOutcome, StateReason, Write, earliest


@dataclass(frozen=True, slots=True)
class ReconcileStep:
    """What to do now, and how far each resource has come."""

    outcomes: tuple[ResourceOutcome, ...]
    """One per resource, in the canonical order."""

    @property
    def writes(self) -> tuple[Write, ...]:
        """What can be written now, all in parallel; nothing, if there is no next step."""
        return tuple(this.write for this in self.outcomes if this.write is not None)

    @property
    def requeue_at(self) -> datetime | None:
        """When a state may change by the passing of time: the nearest deadline."""
        return earliest(this.requeue_at for this in self.outcomes)


def next_step(
    graph: Graph, facts: Mapping[str, ResourceFacts], context: PassContext
) -> ReconcileStep:
    """Return the next step; `facts` has every id of the graph, in the canonical order."""
    outcomes: dict[str, ResourceOutcome] = {}
    states: dict[str, ResourceState] = {}
    repeated = _repeated(facts)
    for wave in graph.waves:
        for this in wave:
            skip = facts[this].resource.skip_on_dependency_failure
            decision = dependency_gate(
                graph.dependencies[this], states, skip_on_dependency_failure=skip
            )
            outcome = _outcome(facts[this], decision, repeated.get(this), context)
            outcomes[this] = outcome
            states[this] = outcome.state
    return ReconcileStep(tuple(outcomes[this] for this in graph.dependencies))


def _outcome(
    facts: ResourceFacts, decision: GateDecision, first: str | None, context: PassContext
) -> ResourceOutcome:
    if decision.action in {GateAction.WAIT, GateAction.SKIP}:
        return _not_its_turn(facts, decision)
    if first is not None:
        return _duplicate(facts, first)
    outcome = decide(facts, context)
    if decision.action is GateAction.PROCEED:
        return replace(outcome, failed_dependency=decision.dependency)
    return outcome


def _not_its_turn(facts: ResourceFacts, decision: GateDecision) -> ResourceOutcome:
    if decision.action is GateAction.SKIP:
        state, reason = ResourceState.SKIPPED, str(EventReason.DEPENDENCY_SKIPPED)
    else:
        state, reason = ResourceState.WAITING, str(StateReason.DEPENDENCY_NOT_READY)
    return ResourceOutcome(
        id=facts.resource.id,
        ref=facts.ref,
        state=state,
        reason=reason,
        message=decision.message,
    )


def _repeated(facts: Mapping[str, ResourceFacts]) -> dict[str, str]:
    """Return the entries that want an object which an earlier one wants too, with that one."""
    firsts: dict[tuple[str, str, str, str], str] = {}
    rendered = ((this, known.ref) for this, known in facts.items() if known.desired is not None)
    claims = ((this, firsts.setdefault(ref.place, this)) for this, ref in rendered)
    return {this: first for this, first in claims if this != first}


def _duplicate(facts: ResourceFacts, first: str) -> ResourceOutcome:
    return ResourceOutcome(
        id=facts.resource.id,
        ref=facts.ref,
        state=ResourceState.FAILED,
        reason=str(StateReason.DUPLICATE_OBJECT),
        message=f'"{first}" makes {facts.ref} too; give one of them another name',
    )
