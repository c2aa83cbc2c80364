"""Events of a sync, on the hub and on the nodes that it writes.

Each write emits an event. Ongoing states (nodes that wait for a slot, held deletions, rows that
cannot be rendered) emit an event when they begin or change: `new_events` compares with the last
reconcile.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final

from lynq.api import LynqHub, ResourceLists
from lynq.api.events import Event, EventReason
from lynq.api.installation_key import MissingKey
from lynq.api.names import ANNOTATION_HUB_ID, ANNOTATION_PROTECT
from lynq.api.node_metadata import form_generation
from lynq.api.resource import all_resources
from lynq.api.text import and_more
from lynq.core.guard.rejections import Rejection
from lynq.core.hub.diff import NodeDeletion, NodeUpdate, Throttle, UpdateCause
from lynq.core.hub.plan import HubPlan
from lynq.core.hub.row_values import RenderFailure
from lynq.core.hub.status import waiting_for_key

_UNKNOWN_KIND: Final = "Resource"


def update_event(update: NodeUpdate) -> Event | None:
    """Return the event on a node that was updated; None if its content stays the same."""
    uid, form = update.pair
    hub = update.after.metadata.annotations[ANNOTATION_HUB_ID]
    origin = f'(form "{form}", hub "{hub}", uid "{uid}")'
    match update.cause:
        case UpdateCause.FORM:
            return Event(EventReason.TEMPLATE_APPLIED, f"{_form_applied(update)} {origin}")
        case UpdateCause.DATA:
            return Event(EventReason.DATA_UPDATED, f"applied new values of the row {origin}")
        case UpdateCause.DRIFT:
            return Event(
                EventReason.DRIFT_CORRECTED, f"reverted manual changes of the LynqNode {origin}"
            )
        case UpdateCause.SIGNATURE:
            return None


def row_rejected(rejection: Rejection) -> Event:
    """Return the event on the hub about rejected rows."""
    return Event(EventReason.ROW_REJECTED, f"{rejection.reason}: {rejection.message}", warns=True)


def query_failed(cause: str) -> Event:
    """Return the event on the hub when its rows could not be read."""
    message = f"reading rows failed, nodes are not changed: {cause}"
    return Event(EventReason.DATABASE_QUERY_FAILED, message, warns=True)


def key_missing(key: MissingKey) -> Event:
    """Return the event on the hub that waits for the installation key."""
    return Event(EventReason.WAITING_FOR_KEY, waiting_for_key(key), warns=True)


def write_failed(name: str, cause: str) -> Event:
    """Return the event on the hub when the API server rejects a node."""
    message = f'LynqNode "{name}" was rejected, correct the form or the row: {cause}'
    return Event(EventReason.LYNQ_NODE_WRITE_FAILED, message, warns=True)


def deleting(deletion: NodeDeletion) -> Event:
    """Return the event on the hub before a node is deleted."""
    return Event(
        EventReason.LYNQ_NODE_DELETING, f"deleting {_described(deletion)}: {deletion.cause.value}"
    )


def deleted(deletion: NodeDeletion) -> Event:
    """Return the event on the hub when the API server accepted the deletion of a node."""
    return Event(
        EventReason.LYNQ_NODE_DELETED, f"deleted {_described(deletion)}: {deletion.cause.value}"
    )


def deletion_failed(deletion: NodeDeletion, cause: str) -> Event:
    """Return the event on the hub when a node could not be deleted."""
    message = f"could not delete {_described(deletion)}: {cause}; retrying"
    return Event(EventReason.LYNQ_NODE_DELETION_FAILED, message, warns=True)


def protected_without_row(deletion: NodeDeletion) -> Event:
    """Return the event on a node that is kept without its row or form, because it is protected."""
    message = (
        f"{_described(deletion)} and its objects are kept, although {deletion.cause.value}: it has "
        f"the annotation {ANNOTATION_PROTECT}; remove the annotation to delete it"
    )
    return Event(EventReason.DELETION_BLOCKED, message, warns=True)


def kept_by_protection(deletions: Sequence[NodeDeletion]) -> Iterator[Event]:
    """Yield the event on the hub about nodes that are kept because they are protected."""
    if len(deletions) == 1:
        yield protected_without_row(deletions[0])
    elif deletions:
        names = and_more([deletion.name for deletion in deletions])
        message = (
            f"{len(deletions)} LynqNodes and their objects are kept, although their rows or forms "
            f"do not exist or are inactive: they have the annotation {ANNOTATION_PROTECT}: "
            f"{names}; remove the annotation to delete them"
        )
        yield Event(EventReason.DELETION_BLOCKED, message, warns=True)


def cleanup_failed(failures: Mapping[str, str]) -> Event:
    """Return the event on a deleted hub whose nodes could not be deleted; errors by node name."""
    names = sorted(failures)
    message = (
        f"nodes could not be deleted, retrying: {and_more(names)}; "
        f"first error: {failures[names[0]]}"
    )
    return Event(EventReason.CLEANUP_FAILED, message, warns=True)


def retain_failed(messages: Mapping[str, str]) -> Event:
    """Return the event on a deleted hub with objects that its nodes cannot retain, by object."""
    objects = [f"{obj}: {message}" for obj, message in messages.items()]
    message = f"objects could not be retained: {and_more(objects, separator='; ')}"
    return Event(EventReason.RETAIN_RESOURCE_PROCESS_FAILED, message, warns=True)


def ongoing_events(
    hub: LynqHub, plan: HubPlan, *, source_changed: bool = False
) -> tuple[Event, ...]:
    """Return the events about states that last from sync to sync; emit only `new_events`."""
    return (
        *_held(hub, plan, source_changed=source_changed),
        *kept_by_protection(plan.protected),
        *(_throttled(throttle) for throttle in plan.throttled),
        *_render_failed(plan.failures),
    )


def new_events(events: Iterable[Event], last: Iterable[Event]) -> tuple[Event, ...]:
    """Return the events that the last reconcile did not have."""
    emitted = frozenset(last)
    return tuple(event for event in events if event not in emitted)


def _form_applied(update: NodeUpdate) -> str:
    old, new = form_generation(update.before), form_generation(update.after)
    spec = update.after.spec
    return (
        f"applied form generation {'?' if old is None else old} -> {new}, "
        f"{len(all_resources(spec))} resources {_count_kinds(spec)}"
    )


def _count_kinds(lists: ResourceLists) -> str:
    """Return the counts as `[2 Deployment(s) 1 ConfigMap(s)]`, in the canonical order.

    Counted by the kinds of the manifests, so that custom kinds are named.
    """
    kinds = Counter(_kind(resource.spec.get("kind")) for resource in all_resources(lists))
    return "[" + " ".join(f"{count} {kind}(s)" for kind, count in kinds.items()) + "]"


def _kind(value: object) -> str:
    return value if isinstance(value, str) and value else _UNKNOWN_KIND


def _described(deletion: NodeDeletion) -> str:
    uid, form = deletion.pair
    return f'LynqNode "{deletion.name}" (form "{form}", uid "{uid}")'


def _held(hub: LynqHub, plan: HubPlan, *, source_changed: bool) -> Iterator[Event]:
    if message := plan.held_message(hub, source_changed=source_changed):
        yield Event(EventReason.DELETION_HELD, message, warns=True)


def _throttled(throttle: Throttle) -> Event:
    count = len(throttle.waiting)
    nodes, wait = ("1 node", "waits") if count == 1 else (f"{count} nodes", "wait")
    return Event(
        EventReason.ROLLOUT_THROTTLED,
        f'{nodes} of form "{throttle.form}" {wait} to be updated: '
        f"maxSkew is {throttle.max_skew}, {throttle.updating} not ready",
    )


def _render_failed(failures: Sequence[RenderFailure]) -> Iterator[Event]:
    """Yield one event per failing template, not one per row."""
    by_message: dict[str, list[str]] = {}
    for failure in sorted(failures, key=attrgetter("pair")):
        by_message.setdefault(failure.message, []).append(failure.pair.uid)
    for message, uids in by_message.items():
        listed = and_more([f'"{uid}"' for uid in uids], shown=1)
        yield Event(EventReason.TEMPLATE_RENDER_FAILED, f"uid {listed}: {message}", warns=True)
