"""Builds the status of a node from the outcomes of a reconcile.

The result is deterministic: entries and conditions have a fixed order, and a time stays as long as
the state that it belongs to. An unchanged status is equal to the previous one and is not written.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lynq.api import (
    Condition,
    DeletionPolicy,
    NodeStatus,
    ResourceState,
    ResourceStatus,
)
from lynq.api.conditions import is_true, merge_conditions, paused_condition
from lynq.api.events import EventReason
from lynq.api.names import ANNOTATION_PAUSED
from lynq.api.reasons import ConditionReason as Reason
from lynq.api.reasons import ConditionType as Type
from lynq.api.reasons import StateReason
from lynq.core.graph.gate import FAILED_STATES
from lynq.core.graph.problems import GraphError
from lynq.core.node.conditions import (
    ConditionState,
    StateCounts,
    node_conditions,
    with_transition_times,
)
from lynq.core.node.inventory import InventoryItem, inventory_key
from lynq.core.node.jobs import is_job
from lynq.core.node.objects import ObjectRef, contested_objects, ref_of
from lynq.core.node.origin import Wait
from lynq.core.node.state import ResourceOutcome, fit
from lynq.core.node.variables import VariablesError
from lynq.core.randomness import source_to_record

_REPLACED: Final = frozenset({Type.READY, Type.PROGRESSING, Type.CONFLICTED, Type.DEGRADED})
"""Conditions that every reconcile computes; the others stay."""
_ORDER: Final = {
    str(type_): position
    for position, type_ in enumerate(
        (Type.READY, Type.PROGRESSING, Type.CONFLICTED, Type.DEGRADED, Type.PAUSED)
    )
}
_NOT_READY: Final = frozenset({ResourceState.PROGRESSING, ResourceState.FAILED})

EntryKey = tuple[str, str, str, str]


class StatusReport(Struct, frozen=True, kw_only=True):
    """The result of a reconcile, from which the status is built."""

    namespace: str
    """The namespace of the node."""
    generation: int
    outcomes: Sequence[ResourceOutcome]
    """One per resource of the spec, in the canonical order."""
    pruning: Sequence[ResourceOutcome] = ()
    """One per object that is no longer desired and still exists."""
    unresolved: Sequence[InventoryItem] = ()
    """Objects of resources that could not be rendered: they stay in the inventory."""
    is_applying: bool = False
    """Whether writes follow after this status."""
    was_forced: bool = False
    """Whether all resources were applied, changed or not."""
    update_start: str = ""
    """The annotation `lynq.sh/rollout-update-start` of the reconciled node."""
    force_reconcile: str = ""
    """The annotation `lynq.sh/force-reconcile` of the reconciled node that was handled."""
    has_key: bool = True
    """Whether there is an installation key to draw random values from."""


@dataclass(frozen=True, slots=True)
class InvalidNode:
    """Why no resource of a node can be applied."""

    ready: Reason
    """The reason of the condition Ready."""
    degraded: Reason
    message: str
    event: EventReason

    @classmethod
    def with_variables(cls, error: VariablesError) -> "InvalidNode":
        """Return the state of a node whose row values cannot be decoded."""
        reason, event = Reason.VARIABLES_BUILD_ERROR, EventReason.TEMPLATE_RENDER_ERROR
        return cls(reason, reason, str(error), event)

    @classmethod
    def with_graph(cls, error: GraphError) -> "InvalidNode":
        """Return the state of a node whose dependIds are invalid."""
        event = EventReason.DEPENDENCY_ERROR
        return cls(Reason.DEPENDENCY_ERROR, Reason.DEPENDENCY_CYCLE, str(error), event)


def next_status(previous: NodeStatus, report: StatusReport, now: datetime) -> NodeStatus:
    """Return the status of a node after a reconcile."""
    now = now.replace(microsecond=0)
    previous = with_paused(previous, report.generation, now, is_paused=False)
    counts = StateCounts.of(report.outcomes)
    conditions = with_transition_times(
        previous.conditions,
        node_conditions(counts, is_applying=report.is_applying),
        report.generation,
        now,
    )
    others = (condition for condition in previous.conditions if condition.type not in _REPLACED)
    resources = _resources(previous, report, now)
    return NodeStatus(
        observed_generation=report.generation,
        desired_resources=counts.desired,
        ready_resources=len(counts.ready),
        failed_resources=len(counts.failed),
        skipped_resources=len(counts.skipped),
        skipped_resource_ids=counts.skipped,
        applied_resources=_inventory_keys(resources, report.namespace),
        last_full_reconcile_at=_last_full(previous, now, was_forced=report.was_forced),
        observed_update_start=report.update_start,
        settled_update_start=(
            report.update_start
            if is_true(conditions, Type.READY)
            else previous.settled_update_start
        ),
        last_handled_force_reconcile=report.force_reconcile,
        random_source=source_to_record(previous, has_key=report.has_key),
        resources=resources,
        conditions=(*conditions, *others),
    )


def inventory_status(
    previous: NodeStatus, report: StatusReport, inventory: Iterable[InventoryItem], now: datetime
) -> NodeStatus | None:
    """Return the status to write before the first apply; None if it lists all objects already.

    An object that no status lists is lost if the process ends before the next status write, so
    the inventory is written first. The rest of an existing status stays until the resources have
    been applied.
    """
    listed = {item.ref.identity for item in inventory}
    refs = [outcome.ref for outcome in report.outcomes]
    if not report.is_applying or all(not ref.name or ref.identity in listed for ref in refs):
        return None
    status = next_status(previous, report, now)
    entries = {_entry_key(entry): entry for entry in previous.resources}
    contested = frozenset(contested_objects(previous))
    # Failures are reported after the apply, with their events. Contested objects stay contested.
    resources = tuple(
        entries.get(_entry_key(entry))
        or (entry if ref_of(entry).identity in contested else _without_failure(entry))
        for entry in status.resources
    )
    if previous.conditions:
        return replace(
            previous,
            resources=resources,
            applied_resources=status.applied_resources,
            random_source=status.random_source,
        )
    return replace(
        status,
        resources=resources,
        # A forced reconcile is handled when all resources have been applied.
        last_handled_force_reconcile=previous.last_handled_force_reconcile,
    )


def deleting_status(
    previous: NodeStatus,
    remaining: Sequence[ResourceOutcome],
    namespace: str,
    generation: int,
    now: datetime,
) -> NodeStatus:
    """Return the status of a node that is being deleted: the remaining objects, and why."""
    now = now.replace(microsecond=0)
    report = StatusReport(
        namespace=namespace, generation=generation, outcomes=(), pruning=remaining
    )
    resources = _resources(previous, report, now)
    message = "the node is being deleted; remaining objects: " + "; ".join(
        f"{outcome.ref}: {outcome.message}" for outcome in remaining
    )
    ready = ConditionState(
        Type.READY, holds=False, reason=Reason.NOT_ALL_RESOURCES_READY, message=message
    )
    return replace(
        previous,
        resources=resources,
        applied_resources=_inventory_keys(resources, namespace),
        conditions=_updated(
            previous.conditions,
            with_transition_times(previous.conditions, [ready], generation, now),
        ),
    )


def readiness_losses(status: NodeStatus, now: datetime) -> dict[tuple[str, ObjectRef], datetime]:
    """Return when each object that is not ready any more has lost its readiness.

    For an object that was ready in the last status that is now.
    """
    losses = (
        (entry, now if entry.state is ResourceState.READY else entry.readiness_lost_at)
        for entry in status.resources
    )
    return {(entry.id, ref_of(entry)): lost_at for entry, lost_at in losses if lost_at is not None}


def invalid_status(
    previous: NodeStatus, invalid: InvalidNode, generation: int, now: datetime
) -> NodeStatus:
    """Return the status of a node of which no resource can be applied.

    Its objects are unchanged, so their entries stay.
    """
    now = now.replace(microsecond=0)
    previous = with_paused(previous, generation, now, is_paused=False)
    message = invalid.message
    states = (
        ConditionState(Type.READY, holds=False, reason=invalid.ready, message=message),
        ConditionState(Type.DEGRADED, holds=True, reason=invalid.degraded, message=message),
    )
    return replace(
        previous,
        observed_generation=generation,
        conditions=_updated(
            previous.conditions,
            with_transition_times(previous.conditions, states, generation, now),
        ),
    )


def waiting_status(previous: NodeStatus, wait: Wait, generation: int, now: datetime) -> NodeStatus:
    """Return the status of a node that waits for its hub or the key; its objects are unchanged."""
    waiting = ConditionState(
        Type.PROGRESSING, holds=False, reason=wait.reason, message=wait.message
    )
    changed = with_transition_times(
        previous.conditions, [waiting], generation, now.replace(microsecond=0)
    )
    return replace(previous, conditions=_updated(previous.conditions, changed))


def with_paused(
    previous: NodeStatus, generation: int, now: datetime, *, is_paused: bool
) -> NodeStatus:
    """Return the status with the condition Paused; a node that was never paused has none."""
    was_paused = any(condition.type == Type.PAUSED for condition in previous.conditions)
    if not is_paused and not was_paused:
        return previous
    condition = paused_condition(
        f"resources are not reconciled while the annotation {ANNOTATION_PAUSED} is true",
        paused=is_paused,
        generation=generation,
        now=now,
    )
    merged = merge_conditions(previous.conditions, [condition])
    return replace(previous, conditions=_updated(previous.conditions, merged))


def _updated(previous: Iterable[Condition], changed: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return all conditions in the fixed order, unknown types last, with the changed ones."""
    conditions = {condition.type: condition for condition in (*previous, *changed)}
    return tuple(
        sorted(
            conditions.values(),
            key=lambda condition: (_ORDER.get(condition.type, len(_ORDER)), condition.type),
        )
    )


def _resources(
    previous: NodeStatus, report: StatusReport, now: datetime
) -> tuple[ResourceStatus, ...]:
    """Return the entries, each with the time since which it has its state."""
    entries = {_entry_key(entry): entry for entry in previous.resources}
    return tuple(
        _with_since(entry, entries.get(_entry_key(entry)), now)
        for entry in _entries(report, previous)
    )


def _entries(report: StatusReport, previous: NodeStatus) -> Iterator[ResourceStatus]:
    """Yield an entry per object; the API server rejects a list with two equal keys."""
    # Kept while it is unknown whether the object is adopted, also if its id was renamed.
    adopted = {ref_of(entry).identity: entry.adopted_uid for entry in previous.resources}
    completed = {ref_of(entry).identity for entry in previous.resources if entry.completed}
    digests = {ref_of(entry).identity: entry.fields_digest for entry in previous.resources}
    # A resource whose object is unknown now may still desire the object of another node.
    unresolved = {item.ref.identity for item in report.unresolved}
    contested = unresolved.intersection(contested_objects(previous))
    refs: dict[EntryKey, ObjectRef] = {}
    for outcome in (*report.outcomes, *report.pruning):
        for ref in _refs(outcome, report.unresolved):
            entry = _entry(outcome, ref)
            if outcome.adopted_uid is None:
                entry = replace(entry, adopted_uid=adopted.get(ref.identity, ""))
            if ref.identity in completed:
                entry = replace(entry, completed=True)
            if is_job(ref.group, ref.kind) and not entry.fields_digest:
                # It proves that the Job was applied, which must not be forgotten.
                entry = replace(entry, fields_digest=digests.get(ref.identity, ""))
            if ref.identity in contested:
                entry = replace(entry, state=ResourceState.CONFLICTED)
            listed = refs.get(_entry_key(entry))
            if listed is not None and listed.group != ref.group:
                # The group is no part of the key. Without its id the old object is still listed.
                entry = replace(entry, id="")
                listed = refs.get(_entry_key(entry))
            if listed is None:
                refs[_entry_key(entry)] = ref
                yield entry


def _refs(outcome: ResourceOutcome, unresolved: Sequence[InventoryItem]) -> Sequence[ObjectRef]:
    """Return the objects of an outcome; those of an unrendered resource are in the inventory."""
    if outcome.ref.name:
        return (outcome.ref,)
    return [item.ref for item in unresolved if item.id == outcome.id] or (outcome.ref,)


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
        deletion_policy=DeletionPolicy.RETAIN if outcome.is_retained else None,
        fields_digest=outcome.fields_digest.hex(),
        adopted_uid=outcome.adopted_uid or "",
        completed=outcome.is_completed,
    )


def _entry_key(entry: ResourceStatus) -> EntryKey:
    return entry.id, entry.kind, entry.namespace, entry.name


def _with_since(
    entry: ResourceStatus, before: ResourceStatus | None, now: datetime
) -> ResourceStatus:
    if before is None:
        return replace(entry, since=now)
    since = before.since if before.state is entry.state else None
    return replace(
        entry,
        since=since or now,
        readiness_lost_at=_readiness_lost_at(entry, before, now),
        fields_digest=entry.fields_digest or before.fields_digest,
    )


def _readiness_lost_at(
    entry: ResourceStatus, before: ResourceStatus, now: datetime
) -> datetime | None:
    if entry.state not in _NOT_READY:
        return None
    was_ready = before.state is ResourceState.READY
    return now if was_ready else before.readiness_lost_at


def _without_failure(entry: ResourceStatus) -> ResourceStatus:
    if entry.state not in FAILED_STATES:
        return entry
    return replace(
        entry,
        state=ResourceState.WAITING,
        reason=str(StateReason.APPLYING),
        message="pending: not evaluated yet",
    )


def _inventory_keys(resources: Iterable[ResourceStatus], namespace: str) -> tuple[str, ...]:
    items = (InventoryItem(entry.id, ref_of(entry)) for entry in resources if entry.name)
    return tuple(sorted({inventory_key(item, namespace) for item in items}))


def _last_full(previous: NodeStatus, now: datetime, *, was_forced: bool) -> datetime:
    """Return the baseline of the next forced reconcile.

    Without one it is now: after a restart no node is forced before a whole interval has passed.
    A baseline in the future, from a clock that was ahead, would postpone all forced reconciles and
    is replaced by now.
    """
    last = previous.last_full_reconcile_at
    return now if was_forced or last is None else min(last, now)
