"""Runs the operator's controllers against dry runs, and collects what they would change.

The hub's plan comes from `plan_hub`, the objects from the node controller. Three assumptions make
one run show what the operator does over time: written objects become ready, missing rows and forms
are confirmed, and a rollout has no limit. The order of a limited rollout is computed beside it. A
viewer who may not read the installation key plans as if all signatures fit.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.installation_key import KeyState
from lynq.api.metadata import ObjectKey
from lynq.api.nesting import depth_checked
from lynq.api.node_metadata import is_deleting, pair_or_spec
from lynq.api.reasons import ReadinessReason
from lynq.controllers.concurrency import for_each_parallel
from lynq.controllers.context import BY_HUB, ControllerContext
from lynq.controllers.decoding import RawObject
from lynq.controllers.events import EventEmitter
from lynq.controllers.form_validation import FormValidator
from lynq.controllers.hub.snapshot import hub_nodes
from lynq.controllers.node.controller import NodeController
from lynq.controllers.options import Options
from lynq.core.graph.gate import FAILED_STATES
from lynq.core.guard.absence import Absences
from lynq.core.hub.diff import CheckedSpecs
from lynq.core.hub.plan import FormCandidate, HubPlan, PlanInputs, plan_hub
from lynq.core.hub.prune import Observation
from lynq.core.hub.row_values import RowLike, RowValues
from lynq.core.hub.schedule import deletion_window
from lynq.core.node.origin import assumed_origin_of
from lynq.core.plan.changes import FailedResource, Plan
from lynq.core.plan.rollouts import planned_rollouts
from lynq.core.preview.rows import GivenRow
from lynq.core.readiness.rules import evaluate_readiness
from lynq.core.readiness.verdict import READY, Readiness
from lynq.kube import Client, Recorder, RuntimeMetrics, WorkQueue
from lynq.kube.errors import KubeError, NotFound
from lynq.plan.dry_run import DryRun
from lynq.plan.report import ChangeReport
from lynq.telemetry import OperatorMetrics
from lynq.telemetry.logs import muted

Progress = Callable[[int, int], None]
"""Called with the number of nodes that are done, and of all nodes."""

_NEVER: Final = 86_400.0
"""Seconds that no write takes."""
_HEALTH_INTERVAL: Final = 0.2
"""Seconds between two checks for denied caches."""
_ROUNDS: Final = 4
"""How often a node is reconciled that asks for it."""
_ROUND_TIME: Final = timedelta(minutes=1)
"""How far the clock advances between two rounds: delays of the operator do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows of a plan."""

    rows: Sequence[RowLike]
    identity: str = ""
    """The identity of their source; empty if it is that of the last sync."""
    inactive: frozenset[str] = frozenset()
    """The uids of nodes that have an inactive row."""


class Simulation:
    """The operator's controllers on a cluster in which every write is a dry run."""

    def __init__(self, client: Client, key: KeyState, options: Options) -> None:
        self._dry_run = DryRun(client)
        self.client = client.intercepted(self._dry_run)
        self._offset = timedelta()
        self._known_nodes: list[LynqNode] = []
        """The nodes before the plan: deleted ones are not in the cache any more."""
        metrics = RuntimeMetrics.unexposed()
        # No write counts as slow: a deferred one would be missing in the plan.
        timing = replace(options.timing, slow_write=_NEVER, slow_kind=_NEVER)
        context = ControllerContext.of(
            self.client,
            replace(options, timing=timing),
            metrics,
            OperatorMetrics(CollectorRegistry()),
        )
        self.context = replace(
            context, clock=self._now, origin_rule=assumed_origin_of, readiness=_assume_ready
        )
        self.context.current_key.state = key
        self._validator = FormValidator(self.context)
        # Events are recorded and never sent.
        emitter = EventEmitter(Recorder(self.client, "plan"))
        queue: WorkQueue[ObjectKey] = WorkQueue(metrics=metrics.queue("plan"))
        self._nodes = NodeController(self.context, queue, emitter, emitter)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Fill the caches for the duration of the block."""
        # The controllers log that objects were deleted, and none was.
        with muted():
            # Not in a TaskGroup: an error of the block is raised as itself.
            tasks = [
                asyncio.ensure_future(work)
                for work in (self.context.run_caches(), self._nodes.children.run())
            ]
            try:
                await self._synced()
                await self._nodes.prepare()
                yield
            finally:
                self._nodes.close()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _synced(self) -> None:
        """Wait for the caches; raises KubeError if hubs, forms or nodes may not be watched."""
        synced = asyncio.ensure_future(self.context.synced())
        try:
            while not synced.done():
                await asyncio.wait({synced}, timeout=_HEALTH_INTERVAL)
                denied = [cache for cache in self.context.caches if cache.is_forbidden]
                # The informers of the operator try again, until the right is granted.
                if denied and not synced.done():
                    raise KubeError(denied[0].health.problem)
        finally:
            synced.cancel()

    async def write_form(self, manifest: Mapping[str, Any]) -> LynqForm:
        """Store a form, as `kubectl apply` would; raises KubeError if it is rejected."""
        forms = self.context.forms
        metadata = manifest["metadata"]
        key = ObjectKey(metadata["namespace"], metadata["name"])
        live = forms.get(key)
        if live is None:
            raw = await self.client.create(forms.resource, dict(manifest), into=RawObject)
        else:
            body = {
                **manifest,
                "metadata": {**metadata, "resourceVersion": live.metadata.resource_version},
            }
            raw = await self.client.replace(forms.resource, body, into=RawObject)
        forms.cache.store_response(raw)
        form = forms.get(key)
        if form is None:
            raise KubeError(f"LynqForm {key} cannot be decoded: {forms.problem(key)}")
        return form

    async def plan(
        self,
        hub: LynqHub,
        rows: Rows,
        progress: Progress = lambda *_: None,
        *,
        sample: int | None = None,
    ) -> Plan:
        """Return what the operator would do with these rows, and the forms as they are now.

        With `sample`, only this number of the nodes that are updated is planned.
        """
        self._known_nodes = self.context.nodes.values()
        first = await self._plan_hub(hub, rows)
        forms = self.context.forms.by(BY_HUB, hub.metadata.key)
        nodes, _others = hub_nodes(self.context, hub)
        rollouts = tuple(planned_rollouts(first, forms, nodes, self._now()))
        if sample is not None and len(first.updates) > sample:
            plan = await self._plan_sample(hub, first, sample, progress)
        else:
            plan = await self._plan_all(hub, rows, first, progress)
        return replace(plan, rollouts=rollouts)

    async def _plan_all(self, hub: LynqHub, rows: Rows, first: HubPlan, progress: Progress) -> Plan:
        """Write all nodes, and reconcile them until nothing changes."""
        hub_plan = first
        failed: list[FailedResource] = []
        for _ in range(_ROUNDS):
            failed += await self._write_nodes(hub, hub_plan)
            nodes, _others = hub_nodes(self.context, hub)
            await self._reconcile([node.metadata.key for node in nodes], progress)
            # A node that was being deleted is created again once it is gone.
            hub_plan = await self._plan_hub(hub, rows, first.checked_specs)
            if not (hub_plan.creates or hub_plan.updates or hub_plan.deletes):
                break
        return await self._finish(hub, first, failed)

    async def _plan_sample(
        self, hub: LynqHub, plan: HubPlan, sample: int, progress: Progress
    ) -> Plan:
        """Plan all creations and deletions, and some of the updates."""
        updates = plan.updates[:: -(-len(plan.updates) // sample)]
        sampled = replace(plan, updates=updates)
        failed = await self._write_nodes(hub, sampled)
        names = [create.name for create in plan.creates]
        names += [update.name for update in updates]
        names += [deletion.name for deletion in plan.deletes]
        keys = [ObjectKey(hub.metadata.namespace, name) for name in names]
        await self._reconcile(keys, progress)
        result = await self._finish(hub, sampled, failed)
        note = f"{len(updates):,} of {len(plan.updates):,} updated nodes are planned (--sample)"
        return replace(result, notes=(*result.notes, note))

    async def _finish(self, hub: LynqHub, plan: HubPlan, failed: list[FailedResource]) -> Plan:
        """Return what was recorded, with the deletions that the guard holds."""
        failed = failed + self._failed_resources(hub)
        await self._delete_held(hub, plan)
        report = ChangeReport([*self.context.nodes.values(), *self._known_nodes])
        return report.plan(hub, plan, self._dry_run.recorded(), failed)

    def rows_of_nodes(self, hub: LynqHub) -> Rows:
        """Return the rows that the hub's nodes were written from."""
        rows: dict[str, RowLike] = {}
        for node in hub_nodes(self.context, hub)[0]:
            row = _row_of(node)
            rows.setdefault(row.uid, row)
        return Rows(rows=list(rows.values()))

    def uids(self, hub: LynqHub) -> frozenset[str]:
        """Return the uids of the hub's nodes."""
        return frozenset(pair_or_spec(node).uid for node in hub_nodes(self.context, hub)[0])

    def _now(self) -> datetime:
        return datetime.now(UTC) + self._offset

    async def _plan_hub(
        self, hub: LynqHub, rows: Rows, checked_specs: CheckedSpecs = MappingProxyType({})
    ) -> HubPlan:
        forms = self.context.forms.by(BY_HUB, hub.metadata.key)
        candidates = [_without_limit(await self._validator.candidate(form)) for form in forms]
        nodes, other_nodes = hub_nodes(self.context, hub)
        last_identity = hub.status.source_identity
        inputs = PlanInputs(
            hub=hub,
            forms=candidates,
            rows=rows.rows,
            nodes=nodes,
            other_nodes=other_nodes,
            unreadable_forms=self.context.forms.unreadable(hub.metadata.namespace),
            checked_specs=checked_specs,
            deletion_window=deletion_window(hub),
            source_changed=bool(last_identity and rows.identity) and last_identity != rows.identity,
            # An inactive row counts as deactivated, as if the operator had read it active before.
            observation=Observation(
                source=rows.identity,
                inactive=rows.inactive,
                last=Absences(source=rows.identity, tracked=rows.inactive),
            ),
            key=self.context.key,
        )
        return await asyncio.to_thread(plan_hub, inputs, self._now())

    async def _write_nodes(self, hub: LynqHub, plan: HubPlan) -> list[FailedResource]:
        """Write and delete the nodes; return those that the API server rejects."""
        failed: list[FailedResource] = []
        nodes = self.context.nodes

        async def write(name: str, request: Callable[[], Awaitable[object]]) -> None:
            try:
                await request()
            except KubeError as error:
                failed.append(FailedResource(name, "", str(error)))

        await for_each_parallel(
            plan.creates, lambda create: write(create.name, lambda: nodes.create(create.node))
        )
        await for_each_parallel(
            plan.updates, lambda update: write(update.name, lambda: nodes.replace(update.after))
        )
        await for_each_parallel(
            plan.deletes,
            lambda deletion: write(deletion.name, lambda: self._delete(hub, deletion.name)),
        )
        return failed

    async def _delete(self, hub: LynqHub, name: str) -> None:
        """Delete a node; the cache gets the node that is being deleted, as from the watch."""
        nodes, key = self.context.nodes, ObjectKey(hub.metadata.namespace, name)
        node = nodes.get(key)
        if node is None:
            return
        await nodes.delete(key, node.metadata.uid)
        with suppress(NotFound):
            raw = await self.client.get(nodes.resource, name, key.namespace, into=RawObject)
            nodes.cache.store_response(raw)

    async def _delete_held(self, hub: LynqHub, plan: HubPlan) -> None:
        """Show what the approval of the held deletions would delete."""
        if not plan.held:
            return
        self._dry_run.is_held = True
        await for_each_parallel(plan.held, lambda name: self._delete(hub, name))
        keys = [ObjectKey(hub.metadata.namespace, name) for name in plan.held]
        await self._reconcile(keys, lambda *_: None)
        self._dry_run.is_held = False

    async def _reconcile(self, keys: Sequence[ObjectKey], progress: Progress) -> None:
        """Reconcile nodes until they do not ask for it again."""
        due = await self._reconcile_once(keys, progress)
        for _ in range(_ROUNDS - 1):
            if not due:
                return
            self._offset += _ROUND_TIME
            due = await self._reconcile_once(due)

    async def _reconcile_once(
        self, keys: Sequence[ObjectKey], progress: Progress = lambda *_: None
    ) -> list[ObjectKey]:
        """Reconcile nodes; return those that ask for it again."""
        again: list[ObjectKey] = []
        done = 0

        async def reconcile(key: ObjectKey) -> None:
            nonlocal done
            result = await self._nodes.reconcile(key)
            if result.requeue_after is not None:
                again.append(key)
            self._forget_removed(key)
            done += 1
            progress(done, len(keys))

        await for_each_parallel(keys, reconcile)
        return again

    def _forget_removed(self, key: ObjectKey) -> None:
        """Drop a node whose finalizers are removed from the cache, as the watch would."""
        node = self.context.nodes.get(key)
        if node and is_deleting(node) and not node.metadata.finalizers:
            self.context.nodes.cache.store_deletion(key, node.metadata.uid)

    def _failed_resources(self, hub: LynqHub) -> list[FailedResource]:
        nodes, _ = hub_nodes(self.context, hub)
        return [
            FailedResource(node.metadata.name, entry.id, entry.message)
            for node in sorted(nodes, key=lambda node: node.metadata.name)
            for entry in node.status.resources
            if entry.state in FAILED_STATES
        ]


def _row_of(node: LynqNode) -> GivenRow:
    """Return the row in the annotations of a node."""
    values = RowValues.reflected_by(node, pair_or_spec(node).uid)
    extras = json.loads(depth_checked(values.extra or "{}"))
    return GivenRow(values.uid, values.activate, values.host_or_url, extras)


def _assume_ready(obj: Mapping[str, Any]) -> Readiness:
    """Return that an object is ready unless it is being deleted."""
    readiness = evaluate_readiness(obj)
    return readiness if readiness.reason == ReadinessReason.DELETING else READY


def _without_limit(candidate: FormCandidate) -> FormCandidate:
    """Return a form whose rollout has no limit."""
    form = candidate.form
    spec = msgspec.structs.replace(form.spec, rollout=None)
    return replace(candidate, form=msgspec.structs.replace(form, spec=spec))
