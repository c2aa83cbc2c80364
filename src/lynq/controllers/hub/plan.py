"""Plans the nodes of hubs: collects the inputs from the caches, and records the result.

A plan of changes is now and then compared with a plan of all rows. That takes half a second with
ten thousand rows, and a changed row does not wait for it: the plan of changes is carried out, and
the comparison runs in the background, with the state that the plan was made from. A plan of changes
deletes nothing. If the two differ, all rows are planned at once.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from threading import Event
from typing import Final

import structlog

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.naming import NodePair
from lynq.api.node_metadata import is_deleting
from lynq.api.reasons import RejectionReason
from lynq.api.text import and_more
from lynq.controllers.concurrency import BackgroundJobs
from lynq.controllers.context import BY_HUB, ControllerContext
from lynq.controllers.decoding import Unreadable
from lynq.controllers.form_validation import FormValidator
from lynq.controllers.hub.snapshot import (
    NamedNodes,
    Snapshot,
    divided,
    form_names,
    hub_nodes,
    namespace_nodes,
)
from lynq.controllers.hub.state import HubState
from lynq.core.hub.plan import FormCandidate, HubPlan, PlanInputs, plan_without_rows
from lynq.core.hub.plan_cache import Changes, PlanCache, plan_all
from lynq.core.hub.plan_check import PlanCheck
from lynq.core.hub.predicates import requires_new_plan
from lynq.core.hub.prune import Observation
from lynq.core.hub.render_budget import RenderBudget
from lynq.core.hub.rollout import WorkloadsReady
from lynq.core.hub.schedule import confirm_after, deletion_window
from lynq.core.hub.state import PlanState, ReadRows, WriteState
from lynq.core.hub.status import SyncResult
from lynq.core.rollout.facts import facts_of
from lynq.kube.errors import error_location

_log = structlog.get_logger(__name__)

_PAUSE_FACTOR: Final = 4
"""Planning pauses for this many times as long as it took."""

_CLOCK_TOLERANCE: Final = timedelta(milliseconds=10)
"""How far the two clocks may drift apart while a read is awaited: an early one confirms nothing."""


@dataclass(frozen=True, slots=True)
class PlannedSync:
    """A plan, and whether its rows come from another source than those before."""

    plan: HubPlan
    source_changed: bool


class HubPlanner:
    """Plans the nodes of hubs."""

    def __init__(
        self,
        context: ControllerContext,
        *,
        workloads_ready: WorkloadsReady,
        validator: FormValidator,
        jobs: BackgroundJobs,
        requeue: Callable[[ObjectKey], None],
    ) -> None:
        """`requeue` is called with a hub whose rows have to be planned again."""
        self._context = context
        self._jobs = jobs
        self._requeue = requeue
        self._workloads_ready = workloads_ready
        self._validator = validator

    async def plan_without_rows(self, hub: LynqHub, state: HubState) -> HubPlan:
        """Return the plan of a hub whose rows cannot be read; nothing of it is reported."""
        key = hub.metadata.key
        last = state.plan.absences
        nodes, other_nodes = hub_nodes(self._context, hub)
        inputs = PlanInputs(
            hub=hub,
            forms=[FormCandidate(form) for form in self._context.forms.by(BY_HUB, key)],
            rows=None,
            nodes=nodes,
            other_nodes=other_nodes,
            unreadable_forms=self._context.forms.unreadable(key.namespace),
            observation=Observation(
                now=time.monotonic(), last=last, confirm_after=confirm_after(hub).total_seconds()
            ),
        )
        plan = await asyncio.to_thread(plan_without_rows, inputs, self._context.clock())
        forms_missing_since = plan.absent.absences.forms_missing_since
        state.plan.absences = replace(last, forms_missing_since=forms_missing_since)
        return plan

    async def plan(self, hub: LynqHub, rows: ReadRows, state: HubState) -> PlannedSync:
        """Return the plan, and record what later plans and event handlers need."""
        # Reset before the caches are read: a later change requires another plan.
        state.plan.requested = False
        state.plan.recheck_at = state.write.retry_at = None
        forms = self._context.forms.by(BY_HUB, hub.metadata.key)
        candidates = [await self._validator.candidate(form) for form in forms]
        started = time.monotonic()
        canceled = Event()
        inputs = self._inputs(hub, rows, state, candidates, canceled)
        try:
            plan, inputs = await self._plan(inputs, rows, state)
        finally:
            # The thread that plans ends soon after a cancellation.
            canceled.set()
        planned = PlannedSync(plan, inputs.source_changed)
        state.plan.failed_renders = inputs.render_budget.failures
        self._record(hub, rows, state, planned)
        state.plan.requested = state.plan.requested or self._is_outdated(hub, state.plan)
        duration = timedelta(seconds=time.monotonic() - started)
        state.plan.not_before = self._context.clock() + _PAUSE_FACTOR * duration
        state.read.confirm_at = self._calendar_time(plan.absent.next_read)
        rechecks = [plan.recheck_at, self._calendar_time(plan.absent.next_plan)]
        if plan.throttled and self._is_status_ahead(inputs):
            rechecks.append(self._context.clock() + self._context.timing.workload_recheck)
        state.plan.recheck_at = min((recheck for recheck in rechecks if recheck), default=None)
        return planned

    def _inputs(
        self,
        hub: LynqHub,
        rows: ReadRows,
        state: HubState,
        candidates: list[FormCandidate],
        canceled: Event,
    ) -> PlanInputs:
        """Return the inputs without nodes."""
        last_identity = hub.status.source_identity
        return PlanInputs(
            hub=hub,
            forms=candidates,
            rows=rows.rows,
            nodes=(),
            unreadable_forms=self._context.forms.unreadable(hub.metadata.namespace),
            checked_specs=state.plan.checked_specs,
            last_approval=state.plan.approval,
            last_held=state.plan.held,
            deletion_window=deletion_window(hub),
            source_changed=bool(last_identity) and last_identity != rows.identity,
            observation=Observation(
                source=rows.identity,
                read=rows.time,
                now=time.monotonic(),
                inactive=rows.inactive,
                tracked=rows.tracked,
                last=state.plan.absences,
                confirm_after=confirm_after(hub).total_seconds(),
            ),
            # In a later plan of the same rows, a difference has another cause: a deleted node.
            rows_changed_at=None if rows is state.plan.rows else rows.changed_at,
            row_changes=state.plan.row_changes,
            key=self._context.key,
            render_budget=RenderBudget(
                clock=time.thread_time,
                is_canceled=canceled.is_set,
                known_failures=state.plan.failed_renders,
                journal=self._context.journal,
            ),
        )

    async def _plan(
        self, inputs: PlanInputs, rows: ReadRows, state: HubState
    ) -> tuple[HubPlan, PlanInputs]:
        """Plan in a thread, because a plan renders: what has changed, or all rows and nodes.

        Return the inputs that were planned with.
        """
        now = self._context.clock()
        # If planning fails, the cache is lost with the changes that were taken.
        cache, state.plan.cache = state.plan.cache, None
        changes = self._take_changes(inputs, rows, state) if cache else None
        if cache and changes:
            is_checked = state.plan.check is None and cache.must_check(changes, now)
            # Taken together with the changes: the state of both plans is the same.
            snapshot = self._snapshot(_frozen(inputs)) if is_checked else None
            plan_changes = partial(cache.plan_changes, carries_over=not is_checked)
            if changed := await asyncio.to_thread(plan_changes, inputs, changes, now):
                cache.update(changed)
                if snapshot:
                    self._start_check(snapshot, changed.plan, cache, state.plan, now)
                state.plan.cache = cache
                return changed.plan, inputs
        state.plan.take_changed_nodes()
        snapshot = self._snapshot(inputs)
        complete = await asyncio.to_thread(snapshot.inputs)
        plan, state.plan.cache = await asyncio.to_thread(plan_all, complete, now)
        return plan, complete

    def abandon_check(self, plan: PlanState) -> None:
        """Cancel the comparison of a hub's plan, if one is running."""
        if plan.check:
            plan.check.cancel()
            plan.check = None

    def _start_check(
        self,
        snapshot: Snapshot,
        plan: HubPlan,
        cache: PlanCache,
        state: PlanState,
        now: datetime,
    ) -> None:
        """Compare a plan of changes in the background with a plan of all rows."""
        cache.record_check(now)
        hub, copy, canceled = snapshot.planned.hub.metadata.key, cache.copy(), Event()
        budget = RenderBudget(
            clock=time.thread_time, is_canceled=canceled.is_set, journal=self._context.journal
        )

        def differing_nodes() -> list[str] | None:
            inputs = replace(snapshot.inputs(), render_budget=budget)
            return PlanCheck(plan, copy, inputs, now).differing_nodes()

        async def check() -> None:
            try:
                names = await asyncio.to_thread(differing_nodes)
                if names is None:
                    return
                self._report_mismatch(hub, names)
            except Exception as error:  # noqa: BLE001 - a bug here must not end the jobs of all hubs
                _log.error("plan not checked", hub=str(hub), traceback=error_location(error))
            finally:
                canceled.set()
                state.check = None
            # Not only for now: a plan in progress may use the cache.
            cache.is_wrong = state.requested = True
            self._requeue(hub)

        state.check = self._jobs.start(check, name=f"check of {hub}")

    def _take_changes(self, inputs: PlanInputs, rows: ReadRows, state: HubState) -> Changes | None:
        """Return what has changed since the last plan; None if that is unknown."""
        names = state.plan.take_changed_nodes()
        if names is None:
            return None
        uids = frozenset[str]() if rows is state.plan.rows else rows.changed
        nodes, other_nodes = self._nodes(inputs.hub, names)
        return Changes(
            uids, names, {node.metadata.name: node for node in nodes}, other_nodes=other_nodes
        )

    def _nodes(
        self, hub: LynqHub, names: Iterable[str]
    ) -> tuple[list[LynqNode], dict[str, NodePair]]:
        cache, namespace = self._context.nodes.cache, hub.metadata.namespace
        found = ((name, cache.get(ObjectKey(namespace, name))) for name in names)
        named = ((name, node) for name, node in found if node)
        return divided(hub, form_names(self._context, hub), named)

    def _snapshot(self, inputs: PlanInputs) -> Snapshot:
        """Return the inputs with all nodes, and what is observed of their workloads."""
        hub = inputs.hub
        forms = [candidate.form for candidate in inputs.forms]
        nodes = namespace_nodes(self._context, hub.metadata.namespace)
        return Snapshot(
            inputs, nodes, form_names(self._context, hub), self._workload_readiness(forms, nodes)
        )

    def _report_mismatch(self, hub: ObjectKey, names: list[str]) -> None:
        self._context.operator_metrics.record_plan_mismatch()
        _log.error(
            "plan of changed rows differs from the plan of all rows, which are planned again",
            hub=str(hub),
            nodes=and_more(names),
        )

    def _calendar_time(self, monotonic: float | None) -> datetime | None:
        """Return the time by the calendar clock, which schedules, of a monotonic time."""
        if monotonic is None:
            return None
        delay = timedelta(seconds=monotonic - time.monotonic())
        return self._context.clock() + delay + _CLOCK_TOLERANCE

    def _workload_readiness(self, forms: list[LynqForm], nodes: NamedNodes) -> dict[str, bool]:
        """Return whether the workloads are ready, by node, for the forms that limit a rollout.

        Evaluated before the plan, which may run in another thread than the caches.
        """
        limited = {
            form.metadata.name for form in forms if form.spec.rollout and form.spec.rollout.max_skew
        }
        if not limited:
            return {}
        return {
            name: self._workloads_ready(node)
            for name, node in nodes
            if not isinstance(node, Unreadable) and node.spec.template_ref in limited
        }

    def _is_status_ahead(self, inputs: PlanInputs) -> bool:
        """Return whether the status of a node is settled before its workloads are.

        No status change follows that would trigger the hub when the workloads are ready.
        """
        now = self._context.clock()
        return any(
            not inputs.workloads_ready(node)
            and not is_deleting(node)
            and facts_of(node, workloads_ready=True).has_settled(now)
            for node in inputs.nodes
        )

    def _record(self, hub: LynqHub, rows: ReadRows, state: HubState, planned: PlannedSync) -> None:
        _record_plan(state.plan, rows, planned.plan)
        if cache := state.plan.cache:
            # A plan of changes has only a part of them.
            state.plan.checked_specs, state.plan.desired = cache.checked_specs, cache.pairs
        state.announced.sync_result = SyncResult.from_plan(
            planned.plan,
            hub,
            rows.at,
            source_identity=rows.identity,
            source_changed=planned.source_changed,
        )
        self._forget_observed_deletions(state.write, hub.metadata.namespace)
        for name in [name for name in state.write.rejected if name not in state.plan.desired]:
            del state.write.rejected[name]

    def _is_outdated(self, hub: LynqHub, plan: PlanState) -> bool:
        """Return whether a node has changed since the plan has read the caches."""
        if plan.changed_nodes is None:
            return True
        namespace, now = hub.metadata.namespace, self._context.clock()
        nodes = ((name, ObjectKey(namespace, name)) for name in plan.changed_nodes)
        return any(
            requires_new_plan(name, self._context.nodes.get(key), plan, now) for name, key in nodes
        )

    def _forget_observed_deletions(self, write: WriteState, namespace: str) -> None:
        """Forget the accepted deletions that are in the cache by now."""
        for name, uid in list(write.deleted.items()):
            node = self._context.nodes.get(ObjectKey(namespace, name))
            if node is None or node.metadata.uid != uid or is_deleting(node):
                del write.deleted[name]


def _frozen(inputs: PlanInputs) -> PlanInputs:
    """Return the inputs with a copy of the checked specs, which later plans change."""
    return replace(inputs, checked_specs=dict(inputs.checked_specs))


def _record_plan(state: PlanState, rows: ReadRows, plan: HubPlan) -> None:
    state.rows = rows
    state.checked_specs = plan.checked_specs
    state.row_changes = plan.row_changes
    state.approval = plan.approval
    state.absences = plan.absent.absences
    state.held = bool(plan.verdict.held)
    state.throttled_forms = frozenset(throttle.form for throttle in plan.throttled)
    state.desired = plan.screened.nodes
    state.has_taken_names = any(
        rejection.reason is RejectionReason.NODE_NAME_TAKEN
        for rejection in plan.screened.rejections
    )
