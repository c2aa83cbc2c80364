"""The goals that `lynq wait` waits for, judged by hubs, forms and nodes as they are now.

A status counts only if it reflects the last write of its object: a node that was Ready before its
form changed is not ready with the new form. All facts are read from the objects, so that waiting
can begin before or after the change that it waits for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lynq.api import ConditionStatus, LynqForm, LynqHub, LynqNode
from lynq.api.conditions import find_condition, is_true
from lynq.api.node_metadata import form_generation, is_deleting
from lynq.api.reasons import ConditionType
from lynq.api.text import and_more
from lynq.core.rollout.facts import facts_of


class Goal(StrEnum):
    """A state of a hub, form or node that can be waited for."""

    READY = "ready"
    """Every desired node is ready with what was last written to it."""
    SETTLED = "settled"
    """The operator has finished: every node is ready or has failed, and none is in progress."""
    ROLLED_OUT = "rolled-out"
    """Every node has the current generation of its form and is ready."""


@dataclass(frozen=True, slots=True)
class GoalState:
    """Whether a goal is reached, and what is still missing."""

    reached: bool
    text: str


@dataclass(frozen=True, slots=True)
class _JudgedNodes:
    """The hub, the forms and the nodes that the goal is about."""

    nodes: Sequence[LynqNode]
    forms: Sequence[LynqForm] = ()
    hub: LynqHub | None = None
    expected: int = 0
    """How many nodes there have to be at least."""


def nodes_state(
    nodes: Sequence[LynqNode], forms: Sequence[LynqForm], goal: Goal, now: datetime
) -> GoalState:
    """Return the state of the nodes of one row, or of a single node."""
    if not nodes:
        return GoalState(reached=False, text="does not exist yet")
    pending = [node for node in nodes if not _reaches(node, forms, goal, now)]
    if not pending:
        return GoalState(reached=True, text=_reached(goal))
    return GoalState(
        reached=False, text="; ".join(_pending_text(node, now) for node in pending[:3])
    )


def form_state(
    form: LynqForm | None, hub: LynqHub | None, nodes: Sequence[LynqNode], goal: Goal, now: datetime
) -> GoalState:
    """Return the state of a form; `nodes` are those of the form."""
    if form is None:
        return GoalState(reached=False, text="does not exist yet")
    if form.status.observed_generation != form.metadata.generation:
        return _unobserved(form.metadata.generation)
    valid = find_condition(form.status.conditions, ConditionType.VALID)
    if valid is not None and valid.status is ConditionStatus.FALSE and goal is not Goal.SETTLED:
        return GoalState(reached=False, text=f"invalid: {valid.message}")
    if not nodes:
        return GoalState(reached=False, text="has no nodes yet")
    expected = _expected_per_form(hub, goal) if hub else 0
    return _fleet_state(_JudgedNodes(nodes, (form,), hub, expected), goal, now)


def hub_state(
    hub: LynqHub | None,
    forms: Sequence[LynqForm],
    nodes: Sequence[LynqNode],
    goal: Goal,
    now: datetime,
) -> GoalState:
    """Return the state of a hub; `forms` and `nodes` are those of the hub."""
    if hub is None:
        return GoalState(reached=False, text="does not exist yet")
    if hub.status.observed_generation != hub.metadata.generation:
        return _unobserved(hub.metadata.generation)
    ready = find_condition(hub.status.conditions, ConditionType.READY)
    if not hub.spec.paused and (ready is None or ready.status is not ConditionStatus.TRUE):
        return GoalState(reached=False, text=ready.message if ready else "rows are not read yet")
    if hub.status.referencing_templates != len(forms):
        return GoalState(reached=False, text="a form is not observed by the operator yet")
    expected = hub.status.desired - (0 if goal is Goal.READY else _rejected(hub) * len(forms))
    return _fleet_state(_JudgedNodes(nodes, forms, hub, expected), goal, now)


def _fleet_state(fleet: _JudgedNodes, goal: Goal, now: datetime) -> GoalState:
    nodes = [node for node in fleet.nodes if goal is Goal.SETTLED or not is_deleting(node)]
    pending = [node.metadata.name for node in nodes if not _reaches(node, fleet.forms, goal, now)]
    total = max(len(nodes), fleet.expected)
    reached = not pending and len(nodes) >= fleet.expected
    parts = [f"{len(nodes) - len(pending)} of {total} nodes {_reached(goal)}"]
    if pending:
        parts.append(f"not yet: {and_more(sorted(pending))}")
    if not reached and fleet.hub is not None and (rejected := _rejected(fleet.hub)):
        parts.append(f"{rejected} rows are rejected")
    return GoalState(reached, "; ".join(parts))


def _reaches(node: LynqNode, forms: Sequence[LynqForm], goal: Goal, now: datetime) -> bool:
    facts = facts_of(node, workloads_ready=True)
    match goal:
        case Goal.READY:
            return facts.has_settled(now)
        case Goal.ROLLED_OUT:
            form = _form_of(node, forms)
            return form is not None and facts.has_settled(now) and _has_generation(node, form)
        case Goal.SETTLED:
            if is_deleting(node) or not facts.has_observed_write(now):
                return False
            if is_true(node.status.conditions, ConditionType.PROGRESSING) and not facts.paused:
                return False
            form = _form_of(node, forms)
            return form is None or _is_stopped(form) or _has_generation(node, form)


def _form_of(node: LynqNode, forms: Sequence[LynqForm]) -> LynqForm | None:
    named = (form for form in forms if form.metadata.name == node.spec.template_ref)
    return next(named, None)


def _has_generation(node: LynqNode, form: LynqForm) -> bool:
    return form_generation(node) == form.metadata.generation


def _is_stopped(form: LynqForm) -> bool:
    """Return whether the nodes of a form are not written: it is paused or invalid."""
    valid = find_condition(form.status.conditions, ConditionType.VALID)
    return form.spec.paused or (valid is not None and valid.status is ConditionStatus.FALSE)


def _pending_text(node: LynqNode, now: datetime) -> str:
    facts, name = facts_of(node, workloads_ready=True), node.metadata.name
    if is_deleting(node):
        return f"{name} is being deleted"
    if not facts.has_observed_write(now):
        return f"{name}: the operator has not observed the last change yet"
    ready = find_condition(node.status.conditions, ConditionType.READY)
    if ready is None:
        return f"{name} has no status yet"
    if ready.status is ConditionStatus.TRUE:
        return f"{name} is not updated to the current generation of its form yet"
    counts = f"{node.status.ready_resources} of {node.status.desired_resources} resources ready"
    return f"{name}: {counts}, {ready.reason}: {ready.message}"


def _reached(goal: Goal) -> str:
    return {Goal.READY: "ready", Goal.SETTLED: "settled", Goal.ROLLED_OUT: "rolled out"}[goal]


def _unobserved(generation: int) -> GoalState:
    text = f"the operator has not observed generation {generation} yet"
    return GoalState(reached=False, text=text)


def _expected_per_form(hub: LynqHub, goal: Goal) -> int:
    """Return how many nodes a form has when all rows have theirs; rejected rows cannot be ready."""
    if not hub.status.referencing_templates:
        return 0
    rows = hub.status.desired // hub.status.referencing_templates
    return rows if goal is Goal.READY else rows - _rejected(hub)


def _rejected(hub: LynqHub) -> int:
    return hub.status.rejected_rows.count if hub.status.rejected_rows else 0
