"""Events about a node and its objects: each state change is reported once.

What was reported is read from the status that was last written, so neither the next reconcile nor a
restart repeats an event.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from lynq.api import LynqNode, NodeStatus, ResourceState, ResourceStatus
from lynq.api.conditions import is_true
from lynq.api.events import Event, EventReason
from lynq.api.names import ANNOTATION_HUB_ID, ANNOTATION_TEMPLATE_GENERATION
from lynq.api.reasons import ConditionType, OrphanReason
from lynq.api.resource import all_resources
from lynq.api.text import and_more
from lynq.core.graph.gate import FAILED_STATES
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import ObjectRef
from lynq.core.node.state import ResourceOutcome, fit
from lynq.core.node.status import InvalidNode

_FAILED_REASONS: Final = {
    str(reason): reason
    for reason in (
        EventReason.APPLY_FAILED,
        EventReason.READINESS_TIMEOUT,
        EventReason.TEMPLATE_RENDER_ERROR,
    )
}
# Their message changes while they last: only the first one is reported.
_REPORTED_ONCE: Final = frozenset({EventReason.READINESS_TIMEOUT, EventReason.DEPENDENCY_SKIPPED})


def change_event(node: LynqNode, after: NodeStatus, *, changed: int) -> Event:
    """Return the event of a reconcile that changed objects.

    There is one: a node whose resources are ready with their writes has no other.
    """
    form, failed = _form(node), after.failed_resources
    if failed:
        message = f"{changed} resources changed, {failed} failed: applied {form}"
        return Event(EventReason.TEMPLATE_APPLIED_PARTIAL, message, warns=True)
    if any(entry.state is ResourceState.WAITING for entry in after.resources):
        return Event(EventReason.TEMPLATE_RESOURCES_APPLYING, f"applying {form}")
    ready = f"{after.ready_resources} of {after.desired_resources} resources are ready"
    message = f"{changed} resources changed, {ready}: applied {form}"
    return Event(EventReason.TEMPLATE_APPLIED_SUCCESS, message)


def fields_taken_over(ref: ObjectRef, managers: str) -> Event:
    """Report that conflictPolicy Force took over fields."""
    message = f"{ref}: took over fields of other field managers: {managers}"
    return Event(EventReason.FORCE_APPLY, message, warns=True)


def state_events(previous: NodeStatus, outcomes: Iterable[ResourceOutcome]) -> Iterator[Event]:
    """Yield failures, conflicts and skips that the previous status does not have."""
    entries = {
        (entry.id, entry.kind, entry.namespace, entry.name): entry for entry in previous.resources
    }
    by_id = {entry.id: entry for entry in previous.resources}
    for outcome in outcomes:
        ref = outcome.ref
        # The entries of a resource that is not rendered name its objects, and the outcome does not.
        key = (outcome.id, ref.kind, ref.namespace, ref.name)
        before = entries.get(key) if ref.name else by_id.get(outcome.id)
        if (reason := _reason(outcome)) and not _was_reported(before, outcome, reason):
            yield Event(reason, _message(outcome), warns=True)


def proceeding_events(
    previous: NodeStatus, outcomes: Iterable[ResourceOutcome], written: Collection[str]
) -> Iterator[Event]:
    """Yield resources that are applied despite a failed dependency.

    The event is due with the write of the resource, or with the failure of the dependency.
    """
    failed = {entry.id for entry in previous.resources if entry.state in FAILED_STATES}
    for outcome in outcomes:
        dependency = outcome.failed_dependency
        if dependency and (outcome.id in written or dependency not in failed):
            message = f'"{outcome.id}" is applied although its dependency "{dependency}" failed'
            yield Event(EventReason.DEPENDENCY_FAILED_BUT_PROCEEDING, message, warns=True)


def ready_events(before: NodeStatus, after: NodeStatus) -> tuple[Event, ...]:
    """Return the event of a node that has become Ready without a write, if it has."""
    was, is_ready = (is_true(status.conditions, ConditionType.READY) for status in (before, after))
    message = f"all {after.desired_resources} resources are ready"
    return (Event(EventReason.LYNQ_NODE_READY, message),) if is_ready and not was else ()


def invalid_events(previous: NodeStatus, invalid: InvalidNode) -> tuple[Event, ...]:
    """Return why no resource of the node can be applied, unless the previous status has it."""
    was_reported = any(
        condition.type == ConditionType.DEGRADED and condition.message == invalid.message
        for condition in previous.conditions
    )
    return () if was_reported else (Event(invalid.event, invalid.message, warns=True),)


def removed_from_form(item: InventoryItem, *, retained: bool, retained_for: str = "") -> Event:
    """Report an object that was deleted or retained because the form no longer has it."""
    if retained:
        cause = _because(retained_for)
        message = f"{_object(item.id, item.ref)} was removed from the form and retained{cause}"
        return Event(EventReason.ORPHANED_RESOURCE_RETAINED, message)
    message = f"{_object(item.id, item.ref)} was removed from the form and deleted"
    return Event(EventReason.ORPHANED_RESOURCE_DELETED, message)


def foreign_adopted(ref: ObjectRef, *, is_owned: bool) -> Event:
    """Report an object that existed before and is applied."""
    if is_owned:
        message = f"{ref} existed before and is owned now (adoptionPolicy Own)"
    else:
        message = f"{ref} existed before and is adopted; it stays when it is no longer desired"
    return Event(EventReason.RESOURCE_ADOPTED, message)


def released(item: InventoryItem, *, kept_fields: bool) -> Event:
    """Report an object that existed before and is no longer managed."""
    removed = "only the marks of the operator were removed: it is invalid without the fields"
    if not kept_fields:
        removed = "the fields and marks of the operator were removed"
    message = f"{_object(item.id, item.ref)} existed before and stays; {removed}"
    return Event(EventReason.ADOPTED_RESOURCE_RELEASED, message, warns=kept_fields)


def retained(item: InventoryItem, retained_for: str = "") -> Event:
    """Report an object that is retained when its node is deleted."""
    message = f"{_object(item.id, item.ref)} was retained{_because(retained_for)}"
    return Event(EventReason.RESOURCE_RETAINED, message)


def _because(retained_for: str) -> str:
    return f", because {retained_for}" if retained_for else ""


def retained_without_hub(item: InventoryItem) -> Event:
    """Report an object that is retained when its node is deleted together with the hub."""
    message = f"{item.ref} is retained although its LynqHub and its LynqNode are being deleted"
    return Event(EventReason.RETAIN_RESOURCE_PRESERVED, message)


def orphaned(reason: OrphanReason) -> Event:
    """Report, about an object, that it was retained as an orphan."""
    cause = (
        "it was removed from the LynqForm"
        if reason is OrphanReason.REMOVED_FROM_TEMPLATE
        else "its LynqNode was deleted"
    )
    return Event(EventReason.ORPHAN_MARKERS_ADDED, f"retained as an orphan: {cause}")


def adopted() -> Event:
    """Report, about an object, that it is no orphan any more."""
    return Event(EventReason.ORPHAN_MARKERS_REMOVED, "adopted: a LynqNode manages the object again")


def cleanup_failed(outcomes: Sequence[ResourceOutcome]) -> Event:
    """Report objects of a deleted node that could not be deleted or retained."""
    objects = [f"{outcome.ref}: {outcome.message}" for outcome in outcomes]
    message = and_more(objects, separator="; ")
    return Event(EventReason.CLEANUP_PARTIAL_FAILURE, message, warns=True)


def node_deleted() -> Event:
    """Report that the finalizer of a node has completed."""
    message = "all objects of the node were deleted or retained"
    return Event(EventReason.LYNQ_NODE_DELETED, message)


def rejected_node_deleted() -> Event:
    """Report that the finalizer of a node that was not carried out is removed."""
    message = (
        "no object of the node was deleted: it was not created by a LynqHub, and the operator does "
        "not carry out such nodes (--allow-standalone-nodes=false); the garbage collector deletes "
        "objects whose only owner it was"
    )
    return Event(EventReason.LYNQ_NODE_DELETED, message, warns=True)


def _message(outcome: ResourceOutcome) -> str:
    ref, message = outcome.ref, outcome.message
    named = str(ref) if ref.name else ref.kind
    if outcome.message_has_id:
        return f"{named} {message}" if named else message
    return f'"{outcome.id}" ({named}): {message}' if named else f'"{outcome.id}": {message}'


def _object(resource_id: str, ref: ObjectRef) -> str:
    return f'"{resource_id}" ({ref})' if resource_id else str(ref)


def _reason(outcome: ResourceOutcome) -> EventReason | None:
    match outcome.state:
        case ResourceState.CONFLICTED:
            return EventReason.RESOURCE_CONFLICT
        case ResourceState.SKIPPED:
            return EventReason.DEPENDENCY_SKIPPED
        case ResourceState.FAILED:
            return _FAILED_REASONS.get(outcome.reason, EventReason.RESOURCE_FAILED)
        case _:
            return None


def _was_reported(
    before: ResourceStatus | None, outcome: ResourceOutcome, reason: EventReason
) -> bool:
    # The entry of a contested object stays Conflicted while its resource fails for another reason.
    states = (outcome.state, ResourceState.CONFLICTED)
    if before is None or before.state not in states or before.reason != outcome.reason:
        return False
    return reason in _REPORTED_ONCE or before.message == fit(outcome.message)


def _form(node: LynqNode) -> str:
    """Return form, generation, resources by kind, hub and row of a node."""
    resources = all_resources(node.spec)
    counts = Counter(str(resource.spec.get("kind", "?")) for resource in resources)
    kinds = ", ".join(f"{count} {kind}(s)" for kind, count in counts.items())
    annotations = node.metadata.annotations
    return (
        f'form "{node.spec.template_ref}" generation '
        f"{annotations.get(ANNOTATION_TEMPLATE_GENERATION, '?')}: {len(resources)} resources, "
        f'{kinds or "none"} (hub "{annotations.get(ANNOTATION_HUB_ID, "?")}", '
        f'uid "{node.spec.uid}", namespace {node.metadata.namespace})'
    )
