"""What is told about a sync: on the hub, and on the nodes that it writes.

Writes are told each time. What goes on for long (nodes that wait, removals that are held, rows
that cannot be rendered) is told when it begins or changes: `fresh` compares with the last pass.

How many resources of each kind a node has, in words.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final

from lynq.api import LynqHub, ResourceLists
from lynq.api.events import Event, EventReason
from lynq.api.names import ANNOTATION_HUB_ID
from lynq.api.node_metadata import form_generation
from lynq.api.resource import all_resources
from lynq.core.guard.deletion import held_message
from lynq.core.guard.rejections import Rejection
from lynq.core.hub.diff import NodeDeletion, NodeUpdate, Throttle, UpdateCause
from lynq.core.hub.plan import HubPlan
from lynq.core.hub.row_values import RenderFailure

_NO_KIND: Final = "Resource"


def count_kinds(lists: ResourceLists) -> str:
    """Return the numbers as `[2 Deployment(s) 1 ConfigMap(s)]`, in the canonical order.

    By the kinds of the manifests, not by lists: so custom kinds are told by their names.
    """
    kinds = Counter(_kind(each.spec.get("kind")) for each in all_resources(lists))
    return "[" + " ".join(f"{count} {kind}(s)" for kind, count in kinds.items()) + "]"


def _kind(value: object) -> str:
    return value if isinstance(value, str) and value else _NO_KIND


def update_event(update: NodeUpdate) -> Event:
    """Return what is told on a node that was written again."""
    uid, form = update.pair
    hub = update.after.metadata.annotations[ANNOTATION_HUB_ID]
    whose = f'(form "{form}", hub "{hub}", uid "{uid}")'
    match update.cause:
        case UpdateCause.FORM:
            return Event(EventReason.TEMPLATE_APPLIED, f"{_form_applied(update)} {whose}")
        case UpdateCause.DATA:
            return Event(EventReason.DATA_UPDATED, f"the row has new values {whose}")
        case UpdateCause.DRIFT:
            return Event(EventReason.DRIFT_CORRECTED, f"changes made by hand were undone {whose}")


def row_rejected(rejection: Rejection) -> Event:
    """Return what is told on the hub about rows set apart; `lynq.guard.news` says when."""
    return Event(EventReason.ROW_REJECTED, f"{rejection.reason}: {rejection.message}", warns=True)


def query_failed(cause: str) -> Event:
    """Return what is told on the hub when its rows could not be read."""
    message = f"the rows could not be read, so nothing was changed: {cause}"
    return Event(EventReason.DATABASE_QUERY_FAILED, message, warns=True)


def write_failed(name: str, cause: str) -> Event:
    """Return what is told on the hub when the API server does not take a node."""
    message = f'LynqNode "{name}" could not be written, correct the form or the row: {cause}'
    return Event(EventReason.LYNQ_NODE_WRITE_FAILED, message, warns=True)


def deleting(removal: NodeDeletion) -> Event:
    """Return what is told on the hub first about a node's deletion, however that ends."""
    return Event(EventReason.LYNQ_NODE_DELETING, f"deleting {_who(removal)}: {removal.why.value}")


def deleted(removal: NodeDeletion) -> Event:
    """Return what is told on the hub when a node's deletion was accepted."""
    return Event(EventReason.LYNQ_NODE_DELETED, f"deleted {_who(removal)}: {removal.why.value}")


def deletion_failed(removal: NodeDeletion, cause: str) -> Event:
    """Return what is told on the hub when a node could not be deleted."""
    message = f"could not delete {_who(removal)}: {cause}; it will be tried again"
    return Event(EventReason.LYNQ_NODE_DELETION_FAILED, message, warns=True)


def standing_events(
    hub: LynqHub, plan: HubPlan, *, source_changed: bool = False
) -> tuple[Event, ...]:
    """Return what holds after a plan, sync after sync; tell only what is `fresh`."""
    return (
        *_held(hub, plan, source_changed=source_changed),
        *(_throttled(each) for each in plan.throttled),
        *_render_failed(plan.failures),
    )


def fresh(events: Iterable[Event], last: Iterable[Event]) -> tuple[Event, ...]:
    """Return the events that were not due in the last pass already."""
    known = frozenset(last)
    return tuple(event for event in events if event not in known)


def _form_applied(update: NodeUpdate) -> str:
    old, new = form_generation(update.before), form_generation(update.after)
    spec = update.after.spec
    return (
        f"the form's generation {'?' if old is None else old} -> {new}, "
        f"{len(all_resources(spec))} resources {count_kinds(spec)}"
    )


def _who(removal: NodeDeletion) -> str:
    uid, form = removal.pair
    return f'LynqNode "{removal.name}" (form "{form}", uid "{uid}")'


def _held(hub: LynqHub, plan: HubPlan, *, source_changed: bool) -> Iterator[Event]:
    if plan.held:
        message = held_message(plan.verdict, hub.spec.deletion_guard, source_changed=source_changed)
        yield Event(EventReason.DELETION_HELD, message, warns=True)


def _throttled(throttle: Throttle) -> Event:
    count = len(throttle.waiting)
    nodes = "1 node waits" if count == 1 else f"{count} nodes wait"
    return Event(
        EventReason.ROLLOUT_THROTTLED,
        f'{nodes} for form "{throttle.form}": maxSkew is {throttle.max_skew}, '
        f"{throttle.updating} are on their way",
    )


def _render_failed(failures: Sequence[RenderFailure]) -> Iterator[Event]:
    """Yield one event for each template that fails, not for each of its rows."""
    by_message: dict[str, list[str]] = {}
    for failure in sorted(failures, key=attrgetter("pair")):
        by_message.setdefault(failure.message, []).append(failure.pair.uid)
    for message, uids in by_message.items():
        more = f" and {len(uids) - 1} more" if len(uids) > 1 else ""
        yield Event(
            EventReason.TEMPLATE_RENDER_FAILED, f'uid "{uids[0]}"{more}: {message}', warns=True
        )
