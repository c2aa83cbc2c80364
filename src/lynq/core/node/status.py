"""The status of a node, made anew from the outcomes of a pass; an equal one need not be written.

Everything in it has a fixed order, and a time is kept as long as what it speaks about is the same.

Whether a new status has to be written at once, or may wait for more to come.

A workload on its way passes through several stages within a second. Each as a write of its own
would cost more requests than the resources themselves; what matters to others is told at once.

When everything is written again, changed or not: the backstop against unseen drift.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from lynq.api import Condition, NodeStatus, ResourceState, ResourceStatus
from lynq.api.events import EventReason
from lynq.api.reasons import ConditionReason as Reason
from lynq.api.reasons import ConditionType
from lynq.api.reasons import ConditionType as Type
from lynq.core.graph.problems import GraphError
from lynq.core.node.conditions import ConditionState, StateCounts, node_conditions, since
from lynq.core.node.inventory import InventoryItem, key_of
from lynq.core.node.objects import ObjectRef, ref_of
from lynq.core.node.state import ResourceOutcome, fit
from lynq.core.node.variables import VariablesError

_OWN: Final = frozenset({Type.READY, Type.PROGRESSING, Type.CONFLICTED, Type.DEGRADED})


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
    """What a pass has to tell."""

    namespace: str
    """The node's own."""
    generation: int
    outcomes: Sequence[ResourceOutcome]
    """One per resource of the spec, in the canonical order."""
    leaving: Sequence[ResourceOutcome] = ()
    """One per object that is no longer wanted and not gone yet."""
    undecided: Sequence[InventoryItem] = ()
    """Objects of entries that could not be rendered: the node still answers for them."""
    is_writing: bool = False
    """Whether the pass goes on after this status."""
    was_forced: bool = False
    """Whether the pass has written everything, changed or not."""
    update_start: str = ""
    """The annotation `lynq.sh/rollout-update-start` that the pass went by."""
    force_reconcile: str = ""
    """The annotation `lynq.sh/force-reconcile` that the pass went by."""


@dataclass(frozen=True, slots=True)
class InvalidNode:
    """Why nothing of a node could be tried."""

    ready: Reason
    """The reason of the condition Ready."""
    degraded: Reason
    message: str
    event: EventReason

    @classmethod
    def with_variables(cls, error: VariablesError) -> "InvalidNode":
        """Tell that the row's values cannot be read."""
        reason, event = Reason.VARIABLES_BUILD_ERROR, EventReason.TEMPLATE_RENDER_ERROR
        return cls(reason, reason, str(error), event)

    @classmethod
    def with_graph(cls, error: GraphError) -> "InvalidNode":
        """Tell that ids and dependIds make no graph."""
        event = EventReason.DEPENDENCY_ERROR
        return cls(Reason.DEPENDENCY_ERROR, Reason.DEPENDENCY_CYCLE, str(error), event)


def next_status(previous: NodeStatus, report: StatusReport, now: datetime) -> NodeStatus:
    """Return the node's status after a pass."""
    now = now.replace(microsecond=0)
    tally = StateCounts.of(report.outcomes)
    conditions = since(
        previous.conditions,
        node_conditions(tally, is_writing=report.is_writing),
        report.generation,
        now,
    )
    resources = tuple(_since(previous.resources, _entries(report), now))
    return NodeStatus(
        observed_generation=report.generation,
        desired_resources=tally.desired,
        ready_resources=len(tally.ready),
        failed_resources=len(tally.failed),
        skipped_resources=len(tally.skipped),
        skipped_resource_ids=tally.skipped,
        applied_resources=_keys(resources, report.namespace),
        last_full_reconcile_at=_last_full(previous, now, was_forced=report.was_forced),
        observed_update_start=report.update_start,
        last_handled_force_reconcile=report.force_reconcile,
        resources=resources,
        conditions=(*conditions, *_others(previous.conditions)),
    )


def deleting_status(
    previous: NodeStatus,
    remaining: Sequence[ResourceOutcome],
    namespace: str,
    generation: int,
    now: datetime,
) -> NodeStatus:
    """Return the status of a node that is being deleted: what is still there, and why."""
    now = now.replace(microsecond=0)
    report = StatusReport(
        namespace=namespace, generation=generation, outcomes=(), leaving=remaining
    )
    resources = tuple(_since(previous.resources, _entries(report), now))
    message = "the node is being deleted, and still has " + "; ".join(
        f"{this.ref}: {this.message}" for this in remaining
    )
    ready = ConditionState(
        Type.READY, holds=False, reason=Reason.NOT_ALL_RESOURCES_READY, message=message
    )
    told = {this.type: this for this in since(previous.conditions, [ready], generation, now)}
    kept = {this.type: this for this in previous.conditions}
    return replace(
        previous,
        resources=resources,
        applied_resources=_keys(resources, namespace),
        conditions=_in_order({**kept, **told}.values()),
    )


def invalid_status(
    previous: NodeStatus, trouble: InvalidNode, generation: int, now: datetime
) -> NodeStatus:
    """Return the status of a node of which nothing could be tried.

    Its objects are as they were, so all that is known of them stays.
    """
    now = now.replace(microsecond=0)
    said = (
        ConditionState(Type.READY, holds=False, reason=trouble.ready, message=trouble.message),
        ConditionState(Type.DEGRADED, holds=True, reason=trouble.degraded, message=trouble.message),
    )
    told = {this.type: this for this in since(previous.conditions, said, generation, now)}
    kept = {this.type: this for this in previous.conditions}
    return replace(
        previous,
        observed_generation=generation,
        conditions=_in_order({**kept, **told}.values()),
    )


def with_paused(
    previous: NodeStatus, generation: int, now: datetime, *, is_paused: bool
) -> NodeStatus:
    """Return the status with the condition Paused, once the node was ever paused."""
    if not is_paused and all(this.type != Type.PAUSED for this in previous.conditions):
        return previous
    reason = Reason.PAUSED if is_paused else Reason.NOT_PAUSED
    message = "its resources are left as they are" if is_paused else "work goes on as usual"
    answer = ConditionState(Type.PAUSED, is_paused, reason, message)
    (paused,) = since(previous.conditions, [answer], generation, now.replace(microsecond=0))
    kept = (this for this in previous.conditions if this.type != Type.PAUSED)
    return replace(previous, conditions=_in_order((*kept, paused)))


def _entries(report: StatusReport) -> Iterator[ResourceStatus]:
    """Yield an entry per object, no two with the same keys, or the API server refuses all."""
    seen: set[tuple[str, str, str, str]] = set()
    for outcome in (*report.outcomes, *report.leaving):
        for ref in _refs(outcome, report.undecided):
            key = (outcome.id, ref.kind, ref.namespace, ref.name)
            if key not in seen:
                seen.add(key)
                yield _entry(outcome, ref)


def _refs(outcome: ResourceOutcome, undecided: Sequence[InventoryItem]) -> Sequence[ObjectRef]:
    """Return the objects that the outcome is about; of an unrendered entry the last known ones."""
    if outcome.ref.name:
        return (outcome.ref,)
    return [item.ref for item in undecided if item.id == outcome.id] or (outcome.ref,)


def _entry(outcome: ResourceOutcome, ref: ObjectRef) -> ResourceStatus:
    return ResourceStatus(
        id=outcome.id,
        api_version=ref.api_version,
        kind=ref.kind,
        namespace=ref.namespace,
        name=ref.name,
        state=outcome.state,
        reason=outcome.reason,
        message=fit(outcome.message),
        fields_digest=outcome.fields_digest.hex(),
    )


def _since(
    previous: Iterable[ResourceStatus], entries: Iterable[ResourceStatus], now: datetime
) -> Iterator[ResourceStatus]:
    """Yield the entries with the time since which each is in its state, and what is known of it."""
    known = {(this.id, this.kind, this.namespace, this.name): this for this in previous}
    for this in entries:
        before = known.get((this.id, this.kind, this.namespace, this.name))
        if before is None:
            yield replace(this, since=now)
            continue
        since_when = before.since if before.state is this.state else None
        digest = this.fields_digest or before.fields_digest
        yield replace(this, since=since_when or now, fields_digest=digest)


def _keys(resources: Iterable[ResourceStatus], namespace: str) -> tuple[str, ...]:
    keys = {
        key_of(
            InventoryItem(this.id, ref_of(this)),
            namespace,
        )
        for this in resources
        if this.name
    }
    return tuple(sorted(keys))


def _last_full(previous: NodeStatus, now: datetime, *, was_forced: bool) -> datetime:
    """Return the baseline of the next forced pass.

    None so far means now: after a restart nobody is forced before a whole interval has passed.
    So does one that is still to come: a clock that was ahead would put all forced passes off.
    """
    last = previous.last_full_reconcile_at
    return now if was_forced or last is None else min(last, now)


def _others(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    return tuple(this for this in conditions if this.type not in _OWN)


def _in_order(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return the conditions in the fixed order, unknown ones last."""
    order = [Type.READY, Type.PROGRESSING, Type.CONFLICTED, Type.DEGRADED, Type.PAUSED]
    places = {str(type_): place for place, type_ in enumerate(order)}
    return tuple(
        sorted(conditions, key=lambda this: (places.get(this.type, len(order)), this.type))
    )


_PATIENCE: Final = timedelta(seconds=5)
_WORTH_TELLING = frozenset(
    {ResourceState.FAILED, ResourceState.CONFLICTED, ResourceState.SKIPPED, ResourceState.DELETING}
)


def debounce_status(before: NodeStatus, after: NodeStatus, waited: timedelta) -> timedelta | None:
    """Return for how long a new status may still wait; None if it is to be written now.

    `waited` is the time since the last one was written. Less than none says that the clock was
    set back, and nothing about how long it was.
    """
    can_wait = timedelta(0) <= waited < _PATIENCE and not is_urgent(before, after)
    return _PATIENCE - waited if can_wait else None


def is_urgent(before: NodeStatus, after: NodeStatus) -> bool:
    """Return whether anything differs but how far resources have come that are on their way."""
    return _gist(before) != _gist(after)


def _gist(status: NodeStatus) -> tuple[Any, ...]:
    # That the pass is over says nothing that its outcome does not say.
    told = (this for this in status.conditions if this.type != ConditionType.PROGRESSING)
    conditions = tuple(_verdict(this) for this in told)
    trouble = tuple(
        (this.id, this.name, this.state)
        for this in status.resources
        if this.state in _WORTH_TELLING
    )
    rest = replace(status, resources=(), conditions=(), ready_resources=0)
    return rest, conditions, trouble


def _verdict(condition: Condition) -> tuple[str, str, str]:
    return condition.type, condition.status, condition.reason


_SPREAD: Final = 0.1
"""The share of the interval over which nodes are spread."""


def force_due_at(last_full: datetime | None, interval: timedelta, node_uid: str) -> datetime | None:
    """Return when the next forced pass of a node is due; None as long as there is no baseline.

    Nodes that got their baseline together, after a restart, do not come due together: each waits
    up to a tenth of the interval longer. Which part is the node's own and always the same.

    A baseline that is still to come is none: the status of the next pass says now instead.
    """
    if last_full is None:
        return None
    drawn = hashlib.sha256(node_uid.encode()).digest()[:4]
    share = int.from_bytes(drawn, "big") / 2**32
    return last_full + interval * (1 + _SPREAD * share)
