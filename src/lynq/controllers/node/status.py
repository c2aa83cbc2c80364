"""Publishes the result of a reconcile: one status write, events, metrics.

The core computes the status and decides whether its write may wait (`core.node.schedule`). Events
about changed objects are emitted with it if the node only makes progress, and at once otherwise.
Events about states compare the previous status with the new one, so they are emitted when the new
one is written.
"""

import time
from collections.abc import Iterable, Sequence
from datetime import timedelta

import structlog

from lynq.api import LynqNode, NodeStatus
from lynq.api.conditions import is_true
from lynq.api.events import Event
from lynq.api.names import (
    ANNOTATION_FORCE_RECONCILE,
    ANNOTATION_ROLLOUT_UPDATE_START,
    LABEL_CONFLICTED,
    TRUE,
)
from lynq.api.node_metadata import row_changed_at
from lynq.api.reasons import ConditionType, OrphanReason
from lynq.controllers.context import ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.node.apply import ApplyProgress
from lynq.controllers.node.prune import PruneResult
from lynq.controllers.node.state import NodePass, NodeState, ReportState
from lynq.controllers.node.write_gate import WriteGate
from lynq.core.node import events
from lynq.core.node.inventory import InventoryItem, unresolved_items
from lynq.core.node.objects import ObjectRef, contested_objects
from lynq.core.node.schedule import ForcedApply, debounce_status, postpone_progress
from lynq.core.node.state import ResourceOutcome
from lynq.core.node.status import InvalidNode, StatusReport
from lynq.kube import ObjectReference

_log = structlog.get_logger(__name__)


def status_report(
    node: LynqNode,
    progress: ApplyProgress,
    pruning: Sequence[ResourceOutcome],
    inventory: Sequence[InventoryItem],
    forced: ForcedApply = ForcedApply.NOT_DUE,
    *,
    has_key: bool,
) -> StatusReport:
    """Return the input of the status: what the reconcile of a node has done so far."""
    metadata = node.metadata
    requested = metadata.annotations.get(ANNOTATION_FORCE_RECONCILE, "")
    handled = node.status.last_handled_force_reconcile
    unresolved = unresolved_items(
        inventory,
        progress.unresolved,
        frozenset(contested_objects(node.status)),
    )
    return StatusReport(
        namespace=metadata.namespace,
        generation=metadata.generation,
        outcomes=progress.step.outcomes,
        pruning=pruning,
        unresolved=tuple(unresolved),
        is_applying=bool(progress.step.writes),
        was_forced=forced is ForcedApply.COMPLETED,
        update_start=metadata.annotations.get(ANNOTATION_ROLLOUT_UPDATE_START, ""),
        force_reconcile=handled if forced is ForcedApply.DEFERRED else requested,
        has_key=has_key,
    )


class StatusReporter:
    """Writes node status, emits events about nodes and their objects, records metrics."""

    def __init__(
        self,
        context: ControllerContext,
        emitter: EventEmitter,
        object_emitter: EventEmitter,
        gate: WriteGate,
    ) -> None:
        self._context = context
        self._gate = gate
        self._emitter = emitter
        self._object_emitter = object_emitter

    async def report(
        self,
        node_pass: NodePass,
        status: NodeStatus,
        progress: ApplyProgress,
        pruned: PruneResult,
    ) -> timedelta | None:
        """Publish a reconcile; return the delay if the status write is postponed, else None."""
        node, state = node_pass.node, node_pass.state.report
        seconds = time.monotonic() - node_pass.started
        _log_changes(status, progress, pruned, seconds)
        state.unreported_changes += progress.changed
        has_more = _has_more_than_progress(progress, pruned)
        if not has_more and (delay := self._postpone_progress(node, state, status)):
            self._context.operator_metrics.record_reconcile("success", seconds)
            return delay
        changed, state.unreported_changes = state.unreported_changes, 0
        self.emit(node, _change_events(node, status, progress, pruned, changed=changed))
        self._emit_for_objects(progress, pruned)
        delay = await self._write(await self.label(node, status), state, status)
        if delay is None:
            self.emit(node, events.state_events(node.status, progress.step.outcomes))
            if not changed:
                self.emit(node, events.ready_events(node.status, status))
            self._record_metrics(node, state, status)
        failed = status.failed_resources or status.skipped_resources
        self._context.operator_metrics.record_reconcile(
            "partial_failure" if failed else "success", seconds
        )
        return delay

    async def report_invalid(
        self, node: LynqNode, state: NodeState, status: NodeStatus, invalid: InvalidNode
    ) -> timedelta | None:
        """Publish why no resource of a node can be applied; return as `report` does."""
        delay = await self._write(node, state.report, status)
        if delay is None:
            self.emit(node, events.invalid_events(node.status, invalid))
            self._context.operator_metrics.record_node_status(node.metadata.key, status)
        return delay

    async def write_inventory(
        self, node: LynqNode, state: NodeState, status: NodeStatus
    ) -> LynqNode:
        """Write the status that lists new objects; return the node with it."""
        await self._send(node, state.report, status)
        _record_row_change(node, state.report, status)
        return self._context.nodes.get(node.metadata.key) or node

    async def write_now(self, node: LynqNode, status: NodeStatus) -> None:
        """Write a status without delay, if it differs."""
        await self._context.nodes.write_status(node, status)
        self._context.operator_metrics.record_node_status(node.metadata.key, status)

    def emit(self, node: LynqNode, node_events: Iterable[Event]) -> None:
        """Emit events about a node."""
        self._emitter.emit(node, *node_events)

    def emit_for_object(self, ref: ObjectRef, uid: str, event: Event) -> None:
        """Emit an event about one of a node's objects."""
        reference = ObjectReference(ref.api_version, ref.kind, ref.name, ref.namespace, uid)
        self._object_emitter.emit(reference, event)

    def _emit_for_objects(self, progress: ApplyProgress, pruned: PruneResult) -> None:
        for observed in progress.adopted:
            live = observed.facts.live
            self.emit_for_object(observed.ref, live.uid if live else "", events.adopted())
        for deletion in pruned.retained:
            event = events.orphaned(OrphanReason.REMOVED_FROM_TEMPLATE)
            self.emit_for_object(deletion.item.ref, deletion.uid, event)

    def _postpone_progress(
        self, node: LynqNode, state: ReportState, status: NodeStatus
    ) -> timedelta | None:
        """Return for how long the progress of a new node waits, while the API server is busy."""
        if not self._context.client.is_busy:
            return None
        now = self._context.clock()
        since = state.progress_postponed_at or now
        delay = postpone_progress(node.status, status, now - since)
        if delay:
            state.progress_postponed_at = since
        return delay

    async def label(self, node: LynqNode, status: NodeStatus) -> LynqNode:
        """Label a node in conflict, before it reports that: other shards read the label."""
        label = TRUE if any(contested_objects(status)) else None
        if node.metadata.labels.get(LABEL_CONFLICTED) == label:
            return node
        return await self._context.nodes.patch(node, {"labels": {LABEL_CONFLICTED: label}})

    async def _write(
        self, node: LynqNode, state: ReportState, status: NodeStatus
    ) -> timedelta | None:
        if status == node.status:
            return None
        since_last_write = self._context.clock() - state.status_written_at
        if delay := debounce_status(node.status, status, since_last_write):
            return delay
        await self._send(node, state, status)
        return None

    async def _send(self, node: LynqNode, state: ReportState, status: NodeStatus) -> None:
        started = time.monotonic()
        if await self._context.nodes.write_status(node, status):
            self._gate.record_status_write(time.monotonic() - started)
            state.status_written_at = self._context.clock()

    def _record_metrics(self, node: LynqNode, state: ReportState, status: NodeStatus) -> None:
        self._context.operator_metrics.record_node_status(node.metadata.key, status)
        _record_row_change(node, state, status)
        if state.row_changed_at and is_true(status.conditions, ConditionType.READY):
            seconds = (self._context.clock() - state.row_changed_at).total_seconds()
            self._context.operator_metrics.record_row_to_ready(max(seconds, 0.0))
            state.row_changed_at = None


def _record_row_change(node: LynqNode, state: ReportState, status: NodeStatus) -> None:
    """Record the change of the row in a new write of the hub, until the node is Ready with it."""
    if status.observed_update_start != node.status.observed_update_start:
        state.row_changed_at = row_changed_at(node)


def _has_more_than_progress(progress: ApplyProgress, pruned: PruneResult) -> bool:
    """Return whether a reconcile has events of its own to report."""
    written = (progress.adopted, progress.foreign, progress.taken_over)
    return any((*written, pruned.deleted, pruned.retained, pruned.released))


def _change_events(
    node: LynqNode,
    status: NodeStatus,
    progress: ApplyProgress,
    pruned: PruneResult,
    *,
    changed: int,
) -> Iterable[Event]:
    """Yield the events about objects that were changed since the last report."""
    for observed, managers in progress.taken_over:
        yield events.fields_taken_over(observed.ref, managers)
    for observed in progress.foreign:
        desired = observed.facts.desired
        is_owned = desired is not None and not desired.is_adopted
        yield events.foreign_adopted(observed.ref, is_owned=is_owned)
    yield from events.proceeding_events(node.status, progress.step.outcomes, progress.written)
    yield from (events.removed_from_form(item, retained=False) for item in pruned.deleted)
    for deletion in pruned.retained:
        cause = deletion.retained_for
        yield events.removed_from_form(deletion.item, retained=True, retained_for=cause)
    for released in pruned.released:
        yield events.released(released.item, kept_fields=released.kept_fields)
    if changed:
        yield events.change_event(node, status, changed=changed)


def _log_changes(
    status: NodeStatus, progress: ApplyProgress, pruned: PruneResult, seconds: float
) -> None:
    """Log a reconcile that wrote or deleted objects; an idle one leaves no line."""
    if not (progress.written or pruned.deleted or pruned.retained):
        return
    _log.info(
        "node reconciled",
        written=len(progress.written),
        changed=progress.changed,
        deleted=len(pruned.deleted),
        retained=len(pruned.retained),
        ready=status.ready_resources,
        desired=status.desired_resources,
        failed=status.failed_resources,
        seconds=round(seconds, 3),
    )
