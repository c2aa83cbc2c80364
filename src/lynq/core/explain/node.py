"""Explains a node: root causes first, and who waits for each of them.

A resource that waits or is skipped is no cause: it stands with the dependency that it waits for,
through any number of resources in between. A failed resource is more important than one that is
only not ready yet; among equals, the one that most others wait for comes first.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from lynq.api import (
    Condition,
    ConditionStatus,
    LynqForm,
    LynqHub,
    LynqNode,
    ResourceState,
    ResourceStatus,
)
from lynq.api.conditions import find_condition, is_true
from lynq.api.names import ANNOTATION_PAUSED, ANNOTATION_PROTECT, LABEL_HUB
from lynq.api.node_metadata import form_generation, is_deleting, is_paused, is_protected
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.api.resource import all_resources
from lynq.core.explain.model import Cause, CauseKind, Evidence, Explanation
from lynq.core.explain.resources import ResourceExplainer
from lynq.core.graph.model import Entry, edges_between, reverse

_BLOCKED: Final = frozenset({ResourceState.WAITING, ResourceState.SKIPPED})
_PRIORITY: Final = {
    ResourceState.FAILED: 0,
    ResourceState.CONFLICTED: 1,
    ResourceState.PROGRESSING: 2,
    ResourceState.WAITING: 3,
    ResourceState.SKIPPED: 3,
    ResourceState.DELETING: 4,
}
_INVALID: Final = frozenset(
    {ConditionReason.VARIABLES_BUILD_ERROR, ConditionReason.DEPENDENCY_ERROR}
)


def explain_node(
    node: LynqNode,
    hub: LynqHub | None,
    form: LynqForm | None,
    evidence: Evidence = Evidence(),  # noqa: B008 - frozen
) -> Explanation:
    """Return why a node is not ready; hub and form may not exist."""
    ready = find_condition(node.status.conditions, ConditionType.READY)
    is_current = node.status.observed_generation == node.metadata.generation
    is_ready = bool(
        ready and ready.status is ConditionStatus.TRUE and is_current and not is_deleting(node)
    )
    causes = () if is_ready else tuple(_causes(node, hub, form, evidence, ready))
    notes = tuple(_notes(node, hub, form, evidence))
    if not is_ready and not causes:
        causes, notes = notes or (_not_reconciled(node),), ()
    return Explanation(
        node=node.metadata.name,
        uid=node.spec.uid,
        form=node.spec.template_ref,
        hub=node.metadata.labels.get(LABEL_HUB, ""),
        is_ready=is_ready,
        ready=node.status.ready_resources,
        desired=node.status.desired_resources or len(all_resources(node.spec)),
        since=ready.last_transition_time if ready else node.metadata.creation_timestamp,
        causes=causes,
        notes=notes,
    )


def root_entries(node: LynqNode) -> dict[str, tuple[ResourceStatus, ...]]:
    """Return the entries that are no consequence of others, by id: their objects are evidence."""
    roots: dict[str, tuple[ResourceStatus, ...]] = {}
    for entry in node.status.resources:
        if entry.state is not ResourceState.READY and entry.state not in _BLOCKED:
            roots[entry.id] = (*roots.get(entry.id, ()), entry)
    return roots


def _causes(
    node: LynqNode,
    hub: LynqHub | None,
    form: LynqForm | None,
    evidence: Evidence,
    ready: Condition | None,
) -> Iterator[Cause]:
    progressing = find_condition(node.status.conditions, ConditionType.PROGRESSING)
    if is_deleting(node) and is_protected(node):
        yield _of_node(
            node,
            CauseKind.PROTECTED,
            f"is being deleted, and the annotation {ANNOTATION_PROTECT} keeps it and its objects",
            f"kubectl annotate lynqnode {node.metadata.name} {ANNOTATION_PROTECT}-",
        )
    if is_paused(node):
        yield _paused(node)
    if progressing and progressing.reason == ConditionReason.WAITING_FOR_HUB:
        yield _of_node(node, CauseKind.WAITING_FOR_HUB, progressing.message, *_sync(node))
    if progressing and progressing.reason == ConditionReason.WAITING_FOR_KEY:
        yield _of_node(node, CauseKind.WAITING_FOR_KEY, progressing.message, "lynq doctor")
    if ready and ready.reason in _INVALID:
        is_edited = ready.reason == ConditionReason.VARIABLES_BUILD_ERROR
        steps = _sync(node) if is_edited else (f"correct LynqForm {node.spec.template_ref}",)
        yield _of_node(node, CauseKind.NODE_INVALID, ready.message, *steps)
    explainer = ResourceExplainer.of(node, hub, form, evidence)
    waiting = _waiting(node)
    entries = [entry for group in root_entries(node).values() for entry in group]
    for entry in sorted(entries, key=lambda entry: _rank(entry, waiting)):
        yield explainer.cause(entry, waiting.get(entry.id, ()))
    if is_deleting(node) and not entries:
        names = ", ".join(node.metadata.finalizers) or "none"
        yield _of_node(node, CauseKind.DELETION_PENDING, f"is being deleted; finalizers: {names}")


def _rank(entry: ResourceStatus, waiting: Mapping[str, tuple[str, ...]]) -> tuple[int, int]:
    return _PRIORITY[entry.state], -len(waiting.get(entry.id, ()))


def _waiting(node: LynqNode) -> dict[str, tuple[str, ...]]:
    """Return the resources that wait for each resource, directly or through others."""
    entries = {entry.id: entry for entry in node.status.resources}
    edges = edges_between(
        Entry(resource.id, resource.depend_ids) for resource in all_resources(node.spec)
    )
    dependents = reverse(edges)

    def blocked(resource_id: str, visited: set[str]) -> Iterator[str]:
        for dependent in dependents.get(resource_id, ()):
            entry = entries.get(dependent)
            if dependent in visited or entry is None or entry.state not in _BLOCKED:
                continue
            visited.add(dependent)
            yield _short_name(entry)
            yield from blocked(dependent, visited)

    return {resource_id: tuple(blocked(resource_id, {resource_id})) for resource_id in edges}


def _short_name(entry: ResourceStatus) -> str:
    return f"{entry.kind}/{entry.name} ({entry.id})" if entry.name else f"{entry.kind} ({entry.id})"


def _notes(
    node: LynqNode, hub: LynqHub | None, form: LynqForm | None, evidence: Evidence
) -> Iterator[Cause]:
    """Yield what keeps a change of the row or the form from reaching the node."""
    if is_paused(node) and is_true(node.status.conditions, ConditionType.READY):
        yield _paused(node)
    if not evidence.is_form_unread:
        yield from _form_notes(node, form)
    yield from hub_notes(hub)


def _form_notes(node: LynqNode, form: LynqForm | None) -> Iterator[Cause]:
    if form is None:
        yield Cause(
            kind=CauseKind.FORM_MISSING,
            subject=f"LynqForm {node.spec.template_ref}",
            message="does not exist: the node is deleted unless it comes back",
        )
        return
    yield from form_problems(form)
    written, current = form_generation(node), form.metadata.generation
    if written is None or written >= current or form.spec.paused:
        return
    yield Cause(
        kind=CauseKind.ROLLOUT_WAITING,
        subject=f"LynqForm {form.metadata.name}",
        message=(
            f"has generation {current}, the node was written with generation {written}: "
            f"{_rollout_state(form)}"
        ),
        since=form.status.rollout.start_time if form.status.rollout else None,
    )


def _rollout_state(form: LynqForm) -> str:
    limits, rollout = form.spec.rollout, form.status.rollout
    if limits is None or not limits.max_skew or rollout is None:
        return "the hub has not written it yet"
    return (
        f"it waits for a slot of the rollout (maxSkew {limits.max_skew}, {rollout.updating_nodes} "
        f"in progress, phase {rollout.phase}): {rollout.message}"
    )


def form_problems(form: LynqForm) -> Iterator[Cause]:
    """Yield why the nodes of a form are not written at all."""
    valid = find_condition(form.status.conditions, ConditionType.VALID)
    subject = f"LynqForm {form.metadata.name}"
    if valid and valid.status is ConditionStatus.FALSE:
        yield Cause(
            kind=CauseKind.FORM_INVALID,
            subject=subject,
            message=f"is invalid, so that its nodes are not changed: {valid.message}",
            since=valid.last_transition_time,
            next_steps=("correct the form: lynq validate -f FILE",),
        )
    if form.spec.paused:
        yield Cause(
            kind=CauseKind.PAUSED,
            subject=subject,
            message="is paused: its nodes are neither created, updated nor deleted",
            next_steps=(_resume("form", form.metadata.name, form.metadata.namespace),),
        )


def hub_notes(hub: LynqHub | None) -> Iterator[Cause]:
    """Yield what keeps the changes of rows from arriving."""
    if hub is None:
        return
    subject = f"LynqHub {hub.metadata.name}"
    conditions = hub.status.conditions
    ready = find_condition(conditions, ConditionType.READY)
    if hub.spec.paused:
        yield Cause(
            kind=CauseKind.PAUSED,
            subject=subject,
            message="is paused: rows are not read",
            next_steps=(_resume("hub", hub.metadata.name, hub.metadata.namespace),),
        )
    elif ready and ready.status is ConditionStatus.FALSE:
        waits_for_key = ready.reason == ConditionReason.WAITING_FOR_KEY
        check = f"lynq source check {hub.metadata.name} -n {hub.metadata.namespace}"
        yield Cause(
            kind=CauseKind.WAITING_FOR_KEY if waits_for_key else CauseKind.SOURCE_UNAVAILABLE,
            subject=subject,
            message=ready.message,
            since=ready.last_transition_time,
            next_steps=("lynq doctor" if waits_for_key else check,),
        )
    held = find_condition(conditions, ConditionType.DELETION_HELD)
    if held and held.status is ConditionStatus.TRUE:
        yield Cause(
            kind=CauseKind.DELETION_HELD,
            subject=subject,
            message=held.message,
            since=held.last_transition_time,
            next_steps=(
                (
                    "restore the rows, or if they are meant to be gone: "
                    f"lynq approve {hub.metadata.name} -n {hub.metadata.namespace}"
                ),
            ),
        )


def _paused(node: LynqNode) -> Cause:
    return _of_node(
        node,
        CauseKind.PAUSED,
        f"is paused by the annotation {ANNOTATION_PAUSED}: its objects are not changed",
        _resume("node", node.metadata.name, node.metadata.namespace),
    )


def _resume(kind: str, name: str, namespace: str) -> str:
    return f"lynq resume {kind}/{name} -n {namespace}"


def _sync(node: LynqNode) -> tuple[str, ...]:
    """Return how to have the hub write the node again."""
    hub = node.metadata.labels.get(LABEL_HUB)
    return (f"lynq sync {hub} -n {node.metadata.namespace}",) if hub else ()


def _not_reconciled(node: LynqNode) -> Cause:
    return _of_node(
        node,
        CauseKind.NOT_RECONCILED,
        f"generation {node.metadata.generation} is not reconciled yet, the status is of generation "
        f"{node.status.observed_generation}",
        "wait a moment; if it stays so, the operator does not run: lynq doctor",
    )


def _of_node(node: LynqNode, kind: CauseKind, message: str, *next_steps: str) -> Cause:
    return Cause(
        kind=kind,
        subject=f"LynqNode {node.metadata.name}",
        message=message,
        next_steps=next_steps,
    )
