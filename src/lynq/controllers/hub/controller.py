"""The hub controller: reconciles the rows of a table into LynqNodes.

A reconcile starts a read when one is due, plans when something has changed, sends writes for one
turn, and patches the status at the end. It never waits for a database. This module has the order
of the steps; the modules beside it implement them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import structlog

from lynq.api import HubSource, HubSpec, LynqHub, LynqNode, SourceType, ValueMappings
from lynq.api.installation_key import NO_KEY, MissingKey
from lynq.api.metadata import ObjectKey
from lynq.api.names import FINALIZER_HUB
from lynq.api.node_metadata import is_deleting
from lynq.controllers.concurrency import BackgroundJobs
from lynq.controllers.context import BY_HUB, ControllerContext
from lynq.controllers.decoding import Unreadable
from lynq.controllers.events import EventEmitter
from lynq.controllers.form_validation import FormValidator
from lynq.controllers.hub.apply import DeletionConfirmer, PlanApplier
from lynq.controllers.hub.finalize import HubFinalizer
from lynq.controllers.hub.guard_status import GuardStatusWriter
from lynq.controllers.hub.handlers import HubEventHandlers
from lynq.controllers.hub.plan import HubPlanner, PlannedSync
from lynq.controllers.hub.push import PushSubscriptions
from lynq.controllers.hub.read import RowReader, close_source
from lynq.controllers.hub.state import AnnouncedState, HubState, HubStates
from lynq.core.guard.announcements import rows_by_reason, unannounced
from lynq.core.guard.approval import approval_removal, requested_approval
from lynq.core.hub.diff import NodeDeletion
from lynq.core.hub.events import (
    key_missing,
    new_events,
    ongoing_events,
    protected_without_row,
    row_rejected,
)
from lynq.core.hub.schedule import (
    must_abandon,
    must_plan,
    must_plan_without_rows,
    must_read,
    next_run_at,
    write_retry_delay,
)
from lynq.core.hub.state import PlanExecution, ReadRows
from lynq.core.hub.status import SyncResult, is_urgent, is_worth_writing, next_status
from lynq.kube import Result, WorkQueue
from lynq.kube.errors import Conflict, NotFound

_log = structlog.get_logger(__name__)

_EMPTY_SPEC: Final = HubSpec(
    source=HubSource(type=SourceType.SQLITE), value_mappings=ValueMappings(uid="", activate="")
)


class HubController:
    """Reconciles hubs."""

    def __init__(
        self,
        context: ControllerContext,
        queue: WorkQueue[ObjectKey],
        emitter: EventEmitter,
        *,
        workloads_ready: Callable[[LynqNode], bool],
        validator: FormValidator,
        backlog: Callable[[ObjectKey], int],
    ) -> None:
        """`backlog` returns how many nodes of a hub wait for their reconcile."""
        self._context = context
        self._emitter = emitter
        self._states = HubStates()
        self._jobs = BackgroundJobs()
        self._handlers = HubEventHandlers(context, queue, self._states)
        self._reader = RowReader(context, queue, emitter, self._jobs)
        self._push = PushSubscriptions(context.clock, queue, self._jobs)
        self._planner = HubPlanner(
            context,
            workloads_ready=workloads_ready,
            validator=validator,
            jobs=self._jobs,
            requeue=lambda key: queue.add(key, group=str(key)),
        )
        self._confirmer = DeletionConfirmer(context)
        self._guard_status = GuardStatusWriter(context)
        self._applier = PlanApplier(context, emitter, backlog)
        self._finalizer = HubFinalizer(context, emitter, self._applier)
        self._status_writer = HubStatusWriter(context)

    def attach(self) -> None:
        """Register the event handlers."""
        self._handlers.attach()

    def workload_became_ready(self, node: LynqNode) -> None:
        """Handle a workload of a node that has become ready."""
        self._handlers.workload_became_ready(node)

    async def run(self) -> None:
        """Run reads and push channels until canceled; then close all sources."""
        try:
            await self._jobs.run()
        finally:
            for key in list(self._states):
                await self._forget(key)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Reconcile one hub."""
        if not self._context.has_synced:
            return Result(self._context.timing.cache_sync_requeue)
        hub = self._context.hubs.get(key) or self._unreadable_deleted_hub(key)
        if hub is None:
            return await self._forget_missing(key)
        state = await self._state_of(hub)
        if is_deleting(hub):
            await self._close(key, state)
            return await self._finalizer.finalize(hub, state)
        hub = await self._ensure_finalizer(hub)
        await self._sync(hub, state)
        return await self._report(key, state)

    def _unreadable_deleted_hub(self, key: ObjectKey) -> LynqHub | None:
        """Return a deleted hub that cannot be decoded: its metadata suffices to finalize it."""
        obj = self._context.hubs.cache.get(key)
        if not isinstance(obj, Unreadable) or not is_deleting(obj):
            return None
        return LynqHub(metadata=obj.metadata, spec=_EMPTY_SPEC)

    async def _forget_missing(self, key: ObjectKey) -> Result:
        """Forget a hub that is gone, or that cannot be decoded: then its nodes are left alone."""
        await self._forget(key)
        if problem := self._context.hubs.problem(key):
            _log.warning("hub cannot be decoded, nodes unchanged", hub=str(key), why=problem)
        else:
            self._context.operator_metrics.remove_hub(key)
        return Result()

    async def _state_of(self, hub: LynqHub) -> HubState:
        key, uid = hub.metadata.key, hub.metadata.uid
        state = self._states.get(key)
        if state is None or state.uid != uid:
            await self._forget(key)
            state = HubState(uid, self._context.timing)
            self._states.put(key, state)
        return state

    async def _ensure_finalizer(self, hub: LynqHub) -> LynqHub:
        finalizers = hub.metadata.finalizers
        if FINALIZER_HUB in finalizers or hub.spec.paused:
            return hub
        return await self._context.hubs.patch(hub, {"finalizers": [*finalizers, FINALIZER_HUB]})

    async def _sync(self, hub: LynqHub, state: HubState) -> None:
        """Start a read if one is due, plan if something has changed, send writes for one turn."""
        now = self._context.clock()
        self._wait_for_key(hub, state)
        if must_abandon(hub, state.read):
            self._reader.abandon(state.read)
        if must_read(hub, state.read, state.plan, now):
            self._reader.start(hub, state)
        self._push.ensure(hub, state)
        try:
            await self._plan_and_apply(hub, state, now)
        except BaseException:
            # The plan, or the rest of its writes, is lost.
            self._retry_later(hub, state)
            raise

    def _wait_for_key(self, hub: LynqHub, state: HubState) -> None:
        """Record whether the installation key is missing, and emit the event once."""
        key = self._context.key
        missing = state.plan.missing_key = key if isinstance(key, MissingKey) else None
        if missing and state.write.execution:
            state.write.execution, state.plan.requested = None, True
        is_reported = missing is not None and missing != NO_KEY
        if missing and is_reported and not state.announced.waits_for_key:
            self._emitter.emit(hub, key_missing(missing))
        state.announced.waits_for_key = is_reported

    async def _plan_and_apply(self, hub: LynqHub, state: HubState, now: datetime) -> None:
        rows = state.read.rows
        if rows and must_plan(hub, state.read, state.plan, state.write, now):
            # Replaces the rest of the last plan; writes that are still required are in both.
            state.write.execution = await self._plan(hub, rows, state)
        elif must_plan_without_rows(hub, state.read, state.plan, state.write):
            plan = await self._planner.plan_without_rows(hub, state)
            state.write.execution = PlanExecution.of(hub, plan, now) if plan.deletes else None
        # Again: an installation without a key may have found a signature while the plan was made.
        self._wait_for_key(hub, state)
        if state.write.execution:
            await self._apply(hub, state, state.write.execution)

    async def _plan(self, hub: LynqHub, rows: ReadRows, state: HubState) -> PlanExecution:
        """Plan, and announce the result before the writes: they may take many turns."""
        planned = await self._planner.plan(hub, rows, state)
        self._announce(hub, state.announced, planned)
        last = state.write.execution
        return PlanExecution.of(hub, planned.plan, rows.at, rows.changed_at, replaced=last)

    async def _apply(self, hub: LynqHub, state: HubState, execution: PlanExecution) -> None:
        """Send the rest of a plan for one turn, but only confirmed deletions."""
        # Cleared first: if this turn raises, the remaining writes are unknown.
        state.write.execution = None
        execution.restrict_deletions(await self._confirmer.confirm(execution))
        if not await self._guard_status.count_deletions(execution):
            execution.drop_row_deletions()
        await self._applier.apply(execution, state)
        if execution.remaining:
            state.write.execution = execution
            return
        self._log_sync(execution)
        self._schedule_retry(hub, state, execution)
        await self._remove_spent_approval(hub, state, execution)

    def _log_sync(self, execution: PlanExecution) -> None:
        """Log a sync that had something to write; an idle one leaves no line."""
        plan = execution.plan
        if not (plan.creates or plan.updates or plan.deletes):
            return
        _log.info(
            "rows synced",
            hub=str(execution.hub.metadata.key),
            creates=len(plan.creates),
            updates=len(plan.updates),
            deletes=len(plan.deletes),
            held=len(plan.held),
            rejected=len(plan.screened.rejections),
            failed=execution.result.failed,
            seconds=round((self._context.clock() - execution.changed_at).total_seconds(), 3),
        )

    def _schedule_retry(self, hub: LynqHub, state: HubState, execution: PlanExecution) -> None:
        """Re-plan an outdated plan at once, and failed writes after a back-off."""
        write, result = state.write, execution.result
        state.plan.requested = state.plan.requested or result.stopped
        if result.failed:
            self._retry_later(hub, state)
        else:
            write.failures = 0

    def _retry_later(self, hub: LynqHub, state: HubState) -> None:
        """Plan again after a back-off."""
        write = state.write
        write.failures += 1
        write.retry_at = self._context.clock() + write_retry_delay(write.failures, hub)

    async def _remove_spent_approval(
        self, hub: LynqHub, state: HubState, execution: PlanExecution
    ) -> None:
        plan = execution.plan
        complete = execution.result.is_complete and not plan.absent.unconfirmed & plan.guarded
        if not plan.approval.is_spent(plan.guarded, plan.held, complete=complete):
            return
        digest = plan.approval.digest
        try:
            hub = await self._guard_status.remember_spent_approval(hub, digest)
            if requested_approval(hub.metadata) == digest:
                await self._context.hubs.patch(hub, approval_removal())
        except Conflict:
            # The hub may have another approval by now: the next plan resolves it.
            state.plan.requested = True

    def _announce(self, hub: LynqHub, announced: AnnouncedState, planned: PlannedSync) -> None:
        """Emit the events of a plan that are new, and record its metrics."""
        plan = planned.plan
        rejections = plan.screened.rejections
        new = unannounced(rejections, announced.rejections)
        announced.rejections = new.announced
        self._emitter.emit(hub, *map(row_rejected, new.rejections))
        events = ongoing_events(hub, plan, source_changed=planned.source_changed)
        self._emitter.emit(hub, *new_events(events, announced.ongoing_events))
        announced.ongoing_events = events
        self._announce_protected(hub, announced, plan.protected)
        key = hub.metadata.key
        self._context.operator_metrics.record_rejected_rows(key, rows_by_reason(rejections))
        self._context.operator_metrics.record_held_nodes(key, len(plan.held))

    def _announce_protected(
        self, hub: LynqHub, announced: AnnouncedState, protected: Sequence[NodeDeletion]
    ) -> None:
        """Emit an event on each node that is kept only since this plan because it is protected."""
        for deletion in protected:
            node = self._context.nodes.get(ObjectKey(hub.metadata.namespace, deletion.name))
            if node and deletion.node_uid not in announced.protected:
                self._emitter.emit(node, protected_without_row(deletion))
        announced.protected = frozenset(deletion.node_uid for deletion in protected)

    async def _report(self, key: ObjectKey, state: HubState) -> Result:
        """Write the status, and return when to reconcile again."""
        hub = self._context.hubs.get(key)
        if hub is None or hub.metadata.uid != state.uid:
            return Result()
        status_delay = await self._status_writer.write(hub, state)
        timing, now = self._context.timing, self._context.clock()
        run_at = next_run_at(hub, state.read, state.plan, state.write, now)
        delays = [] if status_delay is None else [status_delay]
        delays += [] if run_at is None else [(run_at - now).total_seconds()]
        return Result(max(min(delays), timing.min_requeue)) if delays else Result()

    async def _forget(self, key: ObjectKey) -> None:
        if state := self._states.pop(key):
            await self._close(key, state)

    async def _close(self, key: ObjectKey, state: HubState) -> None:
        """Close the push channel, the read in progress, the watches of Secrets and the source."""
        self._push.close(state.source)
        self._planner.abandon_check(state.plan)
        self._reader.abandon(state.read)
        self._reader.forget(key)
        await close_source(state.source)


class HubStatusWriter:
    """Writes the status of hubs: only if it differs, and at most once a second."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    async def write(self, hub: LynqHub, state: HubState) -> float | None:
        """Patch the status if it differs; return the delay in seconds if it has to wait."""
        key = hub.metadata.key
        status = next_status(
            hub,
            self._context.node_counts.of(key),
            forms=len(self._context.forms.by(BY_HUB, key)),
            last_sync=self._sync_result(key, state),
            read_failure=state.read.failure,
            missing_key=state.plan.missing_key,
            push=state.source.push,
            now=self._context.clock(),
        )
        self._context.operator_metrics.record_hub_status(key, status)
        unready = self._context.node_counts.of(key).unready_since(state.plan.row_changes.values())
        self._context.operator_metrics.record_oldest_unready_row(key, unready)
        if not is_worth_writing(hub.status, status):
            return None
        limiter = state.announced.limiter
        if (wait := limiter.wait) > 0 and not is_urgent(hub.status, status):
            return wait
        limiter.mark_written()
        try:
            await self._context.hubs.write_status(hub, status)
        except Conflict:
            # The hub has changed; the write is retried with the current version from the cache.
            return limiter.backoff_conflict()
        except NotFound:
            return None
        limiter.reset()
        return None

    def _sync_result(self, hub: ObjectKey, state: HubState) -> SyncResult | None:
        """Return the last sync result, with the nodes that the API server rejects as failed."""
        result, rejected = state.announced.sync_result, state.write.rejected
        if result is None or not rejected:
            return result
        existing = {
            name for name in rejected if self._context.nodes.exists(ObjectKey(hub.namespace, name))
        }
        return replace(
            result,
            missing=result.missing + len(rejected) - len(existing),
            kept=result.kept | existing,
        )
