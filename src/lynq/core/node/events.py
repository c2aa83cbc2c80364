"""What is told about a node: each turn once, and no more in the passes after it.

What was told is read from the status that was last written, so neither a pass nor a restart repeats
it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from lynq.api import LynqNode, NodeStatus, ResourceState, ResourceStatus
from lynq.api.conditions import is_true
from lynq.api.events import Event, EventReason
from lynq.api.names import ANNOTATION_HUB_ID, ANNOTATION_TEMPLATE_GENERATION
from lynq.api.reasons import ConditionType
from lynq.api.resource import all_resources
from lynq.core.graph.gate import FAILED_STATES
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.state import ResourceOutcome, fit
from lynq.core.node.status import InvalidNode

_REASONS: Final = {
    str(reason): reason
    for reason in (
        EventReason.APPLY_FAILED,
        EventReason.READINESS_TIMEOUT,
        EventReason.TEMPLATE_RENDER_ERROR,
    )
}
# Their sentence goes on changing while they last: the first one is enough.
_TOLD_ONCE: Final = frozenset({EventReason.READINESS_TIMEOUT, EventReason.DEPENDENCY_SKIPPED})
_NAMED: Final = 3


def applying(node: LynqNode) -> Event:
    """Tell that a pass has begun to change resources."""
    return Event(EventReason.TEMPLATE_RESOURCES_APPLYING, f"writing resources of {_whose(node)}")


def applied(node: LynqNode, *, changed: int, failed: int) -> Event:
    """Tell how the pass went."""
    if failed:
        message = f"{changed} resources were changed, {failed} failed, of {_whose(node)}"
        return Event(EventReason.TEMPLATE_APPLIED_PARTIAL, message, warns=True)
    message = f"{changed} resources were changed, none failed, of {_whose(node)}"
    return Event(EventReason.TEMPLATE_APPLIED_SUCCESS, message)


def state_events(previous: NodeStatus, outcomes: Iterable[ResourceOutcome]) -> Iterator[Event]:
    """Yield what is wrong with resources, as far as the last status did not say so."""
    known = {(this.id, this.kind, this.namespace, this.name): this for this in previous.resources}
    for outcome in outcomes:
        ref = outcome.ref
        before = known.get((outcome.id, ref.kind, ref.namespace, ref.name))
        if (reason := _reason(outcome)) and not _was_told(before, outcome, reason):
            yield Event(reason, _sentence(outcome), warns=True)


def proceeded(
    previous: NodeStatus, outcomes: Iterable[ResourceOutcome], written: Collection[str]
) -> Iterator[Event]:
    """Yield which resources go on in spite of a failed dependency, if they or it just did so."""
    failed = {this.id for this in previous.resources if this.state in FAILED_STATES}
    for outcome in outcomes:
        if outcome.failed_dependency and (
            outcome.id in written or outcome.failed_dependency not in failed
        ):
            message = f'"{outcome.id}" goes on although "{outcome.failed_dependency}" has failed'
            yield Event(EventReason.DEPENDENCY_FAILED_BUT_PROCEEDING, message, warns=True)


def became_ready(previous: NodeStatus, after: NodeStatus) -> tuple[Event, ...]:
    """Tell that the node has become ready, if it just has."""
    was, now = (is_true(each.conditions, ConditionType.READY) for each in (previous, after))
    message = f"all {after.desired_resources} resources are ready"
    return (Event(EventReason.LYNQ_NODE_READY, message),) if now and not was else ()


def in_trouble(previous: NodeStatus, trouble: InvalidNode) -> tuple[Event, ...]:
    """Tell why nothing of the node can be tried, if that is new."""
    told = any(
        each.type == ConditionType.DEGRADED and each.message == trouble.message
        for each in previous.conditions
    )
    return () if told else (Event(trouble.event, trouble.message, warns=True),)


def left_the_form(item: InventoryItem, *, retained: bool) -> Event:
    """Tell of an object that is no longer in the form."""
    if retained:
        message = f'"{item.id}", {item.ref}, left the form and was retained'
        return Event(EventReason.ORPHANED_RESOURCE_RETAINED, message)
    message = f'"{item.id}", {item.ref}, left the form and was deleted'
    return Event(EventReason.ORPHANED_RESOURCE_DELETED, message)


def retained(item: InventoryItem) -> Event:
    """Tell of an object that stays when its node goes."""
    return Event(EventReason.RESOURCE_RETAINED, f'"{item.id}", {item.ref}, was retained')


def cleanup_failed(outcomes: Sequence[ResourceOutcome]) -> Event:
    """Tell which objects of a deleted node are still there."""
    told = "; ".join(f"{this.ref}: {this.message}" for this in outcomes[:_NAMED])
    more = f"; and {len(outcomes) - _NAMED} more" if len(outcomes) > _NAMED else ""
    return Event(EventReason.CLEANUP_PARTIAL_FAILURE, told + more, warns=True)


def _sentence(outcome: ResourceOutcome) -> str:
    ref, message = outcome.ref, outcome.message
    what = str(ref) if ref.name else ref.kind
    if outcome.message_has_id:
        return f"{what} {message}" if what else message
    return f'"{outcome.id}", {what}: {message}' if what else f'"{outcome.id}": {message}'


def _reason(outcome: ResourceOutcome) -> EventReason | None:
    match outcome.state:
        case ResourceState.CONFLICTED:
            return EventReason.RESOURCE_CONFLICT
        case ResourceState.SKIPPED:
            return EventReason.DEPENDENCY_SKIPPED
        case ResourceState.FAILED:
            return _REASONS.get(outcome.reason, EventReason.RESOURCE_FAILED)
        case _:
            return None


def _was_told(before: ResourceStatus | None, outcome: ResourceOutcome, reason: EventReason) -> bool:
    if before is None or (before.state, before.reason) != (outcome.state, outcome.reason):
        return False
    return reason in _TOLD_ONCE or before.message == fit(outcome.message)


def _whose(node: LynqNode) -> str:
    resources = all_resources(node.spec)
    counts = Counter(str(this.spec.get("kind", "?")) for this in resources)
    kinds = ", ".join(f"{count} {kind}(s)" for kind, count in counts.items())
    annotations = node.metadata.annotations
    return (
        f'form "{node.spec.template_ref}" generation '
        f"{annotations.get(ANNOTATION_TEMPLATE_GENERATION, '?')}: {len(resources)} resources, "
        f'{kinds or "none"} (hub "{annotations.get(ANNOTATION_HUB_ID, "?")}", '
        f'uid "{node.spec.uid}", namespace {node.metadata.namespace})'
    )
