"""The hub's controller: from the rows of a table to nodes, in steps.

A pass begins a read when one is due and plans when there is something to plan; it waits for no
database. What a pass needs and does is in the modules around this one; here is their order.

Writes a hub's status: only if it says something new, and at most once a second.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import structlog

from lynq.api import HubSource, HubSpec, LynqHub, LynqNode, SourceType, ValueMappings
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
from lynq.controllers.hub.handlers import HubEventHandlers
from lynq.controllers.hub.plan import HubPlanner
from lynq.controllers.hub.push import PushSubscriptions
from lynq.controllers.hub.read import RowReader, close_source
from lynq.controllers.hub.schedule import must_abandon, must_plan, must_read, next_run_at
from lynq.controllers.hub.state import (
    ExecutionResult,
    HubState,
    HubStates,
    PlanExecution,
    PlannedSync,
    ReadRows,
)
from lynq.core.guard.announcements import rows_by_reason, unannounced
from lynq.core.guard.approval import approval_removal
from lynq.core.hub.events import new_events, ongoing_events, row_rejected
from lynq.core.hub.schedule import retry_delay, sync_interval
from lynq.core.hub.status import SyncResult, is_worth_writing, next_status
from lynq.kube import Result, WorkQueue
from lynq.kube.errors import Conflict, NotFound


class HubStatusWriter:
    """Keeps the statuses of hubs."""

    def __init__(self, world: ControllerContext) -> None:
        self._world = world

    async def report(self, hub: LynqHub, memory: HubState) -> float | None:
        """Make the status so; return in how many seconds to try again, if it has to wait."""
        key = hub.metadata.key
        status = next_status(
            hub,
            self._world.census.of(key),
            forms=len(self._world.forms.by(BY_HUB, key)),
            last_sync=self._with_refused(key, memory),
            read_failure=memory.unread,
            push=memory.push,
            now=self._world.now(),
        )
        self._world.series.record_hub_status(key, status)
        if not is_worth_writing(hub.status, status):
            return None
        if (wait := memory.pace.wait) > 0:
            return wait
        memory.pace.rest()
        try:
            await self._world.hubs.write_status(hub, status)
        except Conflict:
            # Somebody changed the hub; once the cache knows how, it is tried again.
            return memory.pace.fall_behind()
        except NotFound:
            return None
        memory.pace.catch_up()
        return None

    def _with_refused(self, hub: ObjectKey, memory: HubState) -> SyncResult | None:
        """Return the last read, with the nodes that the API server does not take as failed."""
        synced = memory.synced
        if synced is None or not memory.refused:
            return synced
        here = {
            name
            for name in memory.refused
            if self._world.nodes.exists(ObjectKey(hub.namespace, name))
        }
        return replace(
            synced,
            missing=synced.missing + len(memory.refused) - len(here),
            kept=synced.kept | here,
        )


_log = structlog.get_logger(__name__)

_NO_SPEC: Final = HubSpec(
    source=HubSource(type=SourceType.SQLITE), value_mappings=ValueMappings(uid="", activate="")
)
_QUICK = 16
"""A failed write is tried again so many times sooner than a failed read."""


class HubController:
    """Reconciles hubs."""

    def __init__(
        self,
        world: ControllerContext,
        queue: WorkQueue[ObjectKey],
        teller: EventEmitter,
        *,
        workloads_ready: Callable[[LynqNode], bool],
        validity: FormValidator,
    ) -> None:
        self._world = world
        self._teller = teller
        self._memories = HubStates()
        self._jobs = BackgroundJobs()
        self._triggers = HubEventHandlers(world, queue, self._memories)
        self._reader = RowReader(world, queue, teller, self._jobs)
        self._feed = PushSubscriptions(queue, self._jobs)
        self._planner = HubPlanner(world, workloads_ready=workloads_ready, validity=validity)
        self._confirmer = DeletionConfirmer(world)
        self._carrier = PlanApplier(world, teller)
        self._reporter = HubStatusWriter(world)
        self._remover = HubFinalizer(world, teller, self._carrier)

    def attach(self) -> None:
        """Have changes of hubs, forms and nodes wake the hubs concerned."""
        self._triggers.attach()

    def workload_is_up(self, node: LynqNode) -> None:
        """Wake the hub of a node of which a workload has become ready, if it waits for that."""
        self._triggers.workload_is_up(node)

    async def run(self) -> None:
        """Run reads and push channels until cancelled; then close all sources."""
        try:
            await self._jobs.run()
        finally:
            for key in list(self._memories):
                await self._forget(key)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Bring a hub's nodes and status one step further."""
        if not self._world.has_synced:
            return Result(self._world.timing.cache_sync_requeue)
        hub = self._world.hubs.get(key) or self._stand_in(key)
        if hub is None:
            return await self._without(key)
        memory = await self._remembered(hub)
        if is_deleting(hub):
            await self._close(memory)
            return await self._remover.remove(hub, memory)
        hub = await self._with_finalizer(hub)
        await self._sync(hub, memory)
        return await self._reported(key, memory)

    def _stand_in(self, key: ObjectKey) -> LynqHub | None:
        """Return a deleted hub that cannot be read: to let it go, its metadata is enough."""
        found = self._world.hubs.cache.get(key)
        if not isinstance(found, Unreadable) or not is_deleting(found):
            return None
        return LynqHub(metadata=found.metadata, spec=_NO_SPEC)

    async def _without(self, key: ObjectKey) -> Result:
        """Forget a hub that is gone; leave the nodes of one that cannot be read as they are."""
        await self._forget(key)
        if problem := self._world.hubs.problem(key):
            _log.warning("hub cannot be read, its nodes stay", hub=str(key), why=problem)
        else:
            self._world.series.remove_hub(key)
        return Result()

    async def _remembered(self, hub: LynqHub) -> HubState:
        key, uid = hub.metadata.key, hub.metadata.uid
        memory = self._memories.get(key)
        if memory is None or memory.uid != uid:
            await self._forget(key)
            memory = HubState(uid, self._world.timing)
            self._memories.put(key, memory)
        return memory

    async def _with_finalizer(self, hub: LynqHub) -> LynqHub:
        finalizers = hub.metadata.finalizers
        if FINALIZER_HUB in finalizers or hub.spec.paused:
            return hub
        return await self._world.hubs.patch(hub, {"finalizers": [*finalizers, FINALIZER_HUB]})

    async def _sync(self, hub: LynqHub, memory: HubState) -> None:
        """Read if rows are due, plan if something has changed."""
        now = self._world.now()
        if must_abandon(hub, memory):
            self._reader.abandon(memory)
        if must_read(hub, memory, now):
            self._reader.begin(hub, memory)
        self._feed.keep(hub, memory)
        if memory.rows and must_plan(hub, memory, now):
            # What was left of the last plan is in this one, if it is still to be done.
            memory.course = await self._planned(hub, memory.rows, memory)
        if memory.course:
            await self._carry_on(hub, memory, memory.course)

    async def _planned(self, hub: LynqHub, rows: ReadRows, memory: HubState) -> PlanExecution:
        """Plan, and tell of it now: who knows how many turns it takes, and whether it is ended."""
        decided = await self._planner.decide(hub, rows, memory)
        self._tell(hub, memory, decided)
        return PlanExecution.of(hub, decided.plan, rows.at)

    async def _carry_on(self, hub: LynqHub, memory: HubState, course: PlanExecution) -> None:
        """Do what is left of a plan for a turn, deletions only as far as they are confirmed."""
        # A turn that fails altogether leaves nobody who knows what is left.
        memory.course = None
        course.keep(await self._confirmer.confirmed(course))
        await self._carrier.carry_out(course, memory)
        if course.left:
            memory.course = course
            return
        self._look_back(hub, memory, course.carried)
        await self._without_spent_approval(hub, memory, course)

    def _look_back(self, hub: LynqHub, memory: HubState, carried: ExecutionResult) -> None:
        """See to it that what could not be written is tried again, and soon."""
        memory.replan = memory.replan or carried.stopped
        if not carried.failed:
            memory.write_failures = 0
            return
        memory.write_failures += 1
        longest = sync_interval(hub.spec.source.sync_interval)
        delay = retry_delay(memory.write_failures, longest * _QUICK) / _QUICK
        memory.rewrite_at = self._world.now() + delay

    def _tell(self, hub: LynqHub, memory: HubState, decided: PlannedSync) -> None:
        rejections = decided.plan.screened.rejections
        found = unannounced(rejections, memory.told)
        memory.told = found.announced
        self._teller.tell(hub, *map(row_rejected, found.rejections))
        standing = ongoing_events(hub, decided.plan, source_changed=decided.source_changed)
        self._teller.tell(hub, *new_events(standing, memory.standing))
        memory.standing = standing
        key = hub.metadata.key
        self._world.series.record_rejected_rows(key, rows_by_reason(rejections))
        self._world.series.record_held_nodes(key, len(decided.plan.held))

    async def _without_spent_approval(
        self, hub: LynqHub, memory: HubState, course: PlanExecution
    ) -> None:
        """Take an approval off that has done its work: it must not release anything later."""
        plan, complete = course.plan, course.carried.is_complete
        if not plan.approval.is_spent(plan.verdict.guarded, complete=complete):
            return
        try:
            await self._world.hubs.patch(hub, approval_removal())
        except Conflict:
            # It may be another approval by now: the next plan knows.
            memory.replan = True

    async def _reported(self, key: ObjectKey, memory: HubState) -> Result:
        """Write the status, and say when to come back."""
        hub = self._world.hubs.get(key)
        if hub is None or hub.metadata.uid != memory.uid:
            return Result()
        wait = await self._reporter.report(hub, memory)
        now = self._world.now()
        look = next_run_at(hub, memory, now)
        waits = [] if wait is None else [wait]
        waits += [] if look is None else [(look - now).total_seconds()]
        return Result(max(min(waits), self._world.timing.min_requeue)) if waits else Result()

    async def _forget(self, key: ObjectKey) -> None:
        if memory := self._memories.pop(key):
            await self._close(memory)

    async def _close(self, memory: HubState) -> None:
        """Let go of the source: what runs is ended, and nothing new is begun."""
        self._feed.stop(memory)
        self._reader.abandon(memory)
        await close_source(memory)
