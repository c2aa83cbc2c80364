"""Plans the nodes of hubs: collects the inputs from the caches, and records the result."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Event
from typing import Final

import structlog

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.naming import NodePair
from lynq.api.node_metadata import (
    hub_by_label,
    is_controlled_by_hub,
    is_controlled_by_other_hub,
    is_deleting,
    pair_or_spec,
)
from lynq.api.reasons import RejectionReason
from lynq.api.text import and_more
from lynq.controllers.context import BY_HUB, ControllerContext
from lynq.controllers.decoding import Unreadable
from lynq.controllers.form_validation import FormValidator
from lynq.controllers.hub.state import HubState
from lynq.core.hub.plan import FormCandidate, HubPlan, PlanInputs, plan_without_rows
from lynq.core.hub.plan_cache import Changes, differing_nodes, plan_all
from lynq.core.hub.predicates import requires_new_plan
from lynq.core.hub.prune import Observation
from lynq.core.hub.render_budget import RenderBudget
from lynq.core.hub.rollout import WorkloadsReady
from lynq.core.hub.schedule import confirm_after, deletion_window
from lynq.core.hub.state import PlanState, ReadRows, WriteState
from lynq.core.hub.status import SyncResult
from lynq.core.node.origin import is_lost_node_of
from lynq.core.rollout.facts import facts_of

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
    ) -> None:
        self._context = context
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
            rows=(),
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
        must_check = bool(cache and changes and cache.must_check(changes, now))
        complete = self._with_nodes(inputs) if must_check else None
        changed = None
        if cache and changes:
            changed = await asyncio.to_thread(cache.plan_changes, inputs, changes, now)
            if changed and not complete:
                cache.update(changed)
                state.plan.cache = cache
                return changed.plan, inputs
        if complete is None:
            state.plan.take_changed_nodes()
            complete = self._with_nodes(inputs)
        plan, state.plan.cache = await asyncio.to_thread(plan_all, complete, now)
        if changed and (names := differing_nodes(changed.plan, plan)):
            self._report_mismatch(inputs.hub, names)
        return plan, complete

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
        return _divided(self._context, hub, ((name, node) for name, node in found if node))

    def _with_nodes(self, inputs: PlanInputs) -> PlanInputs:
        """Return the inputs with all nodes, and what is observed of their workloads."""
        nodes, other_nodes = hub_nodes(self._context, inputs.hub)
        ready = self._workload_readiness([candidate.form for candidate in inputs.forms], nodes)
        return replace(
            inputs,
            nodes=nodes,
            other_nodes=other_nodes,
            workloads_ready=lambda node: ready.get(node.metadata.name, True),
        )

    def _report_mismatch(self, hub: LynqHub, names: list[str]) -> None:
        self._context.operator_metrics.record_plan_mismatch()
        _log.error(
            "plan of changed rows differs from the plan of all rows, which is carried out",
            hub=str(hub.metadata.key),
            nodes=and_more(names),
        )

    def _calendar_time(self, monotonic: float | None) -> datetime | None:
        """Return the time by the calendar clock, which schedules, of a monotonic time."""
        if monotonic is None:
            return None
        delay = timedelta(seconds=monotonic - time.monotonic())
        return self._context.clock() + delay + _CLOCK_TOLERANCE

    def _workload_readiness(self, forms: list[LynqForm], nodes: list[LynqNode]) -> dict[str, bool]:
        """Return whether the workloads are ready, by node, for the forms that limit a rollout.

        Evaluated before the plan, which may run in another thread than the caches.
        """
        limited = {
            form.metadata.name for form in forms if form.spec.rollout and form.spec.rollout.max_skew
        }
        return {
            node.metadata.name: self._workloads_ready(node)
            for node in nodes
            if node.spec.template_ref in limited
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


def hub_nodes(
    context: ControllerContext, hub: LynqHub
) -> tuple[list[LynqNode], dict[str, NodePair]]:
    """Return the hub's nodes, and the names of the namespace's other nodes.

    Labels are edited by hand. A node that lost its label is the hub's if the hub controls it; a
    node that another hub controls is not, whatever its label. The pair of an unreadable node is
    unknown: the applier does not touch it.
    """
    namespace = hub.metadata.namespace
    items = context.nodes.cache.items()
    return _divided(context, hub, ((key.name, node) for key, node in items if key[0] == namespace))


def _divided(
    context: ControllerContext, hub: LynqHub, named: Iterable[tuple[str, LynqNode | Unreadable]]
) -> tuple[list[LynqNode], dict[str, NodePair]]:
    key = hub.metadata.key
    forms = {form.metadata.name for form in context.forms.by(BY_HUB, key)}
    nodes: list[LynqNode] = []
    other_nodes: dict[str, NodePair] = {}
    for name, node in named:
        if isinstance(node, Unreadable):
            continue
        is_labeled = hub_by_label(node) == key and not is_controlled_by_other_hub(node, hub)
        if is_labeled or is_controlled_by_hub(node, hub) or is_lost_node_of(node, forms):
            nodes.append(node)
        else:
            other_nodes[name] = pair_or_spec(node)
    return nodes, other_nodes


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
