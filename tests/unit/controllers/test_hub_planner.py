"""The hub planner with filled caches: plans of changes, and their comparison with all rows."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from background_tasks import run_in_background
from lynq.api import LynqForm, LynqHub, LynqNode, NodeStatus
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_ROLLOUT_UPDATE_START
from lynq.controllers.concurrency import BackgroundJobs
from lynq.controllers.context import ControllerContext
from lynq.controllers.decoding import RawObject
from lynq.controllers.hub.handlers import HubEventHandlers
from lynq.controllers.hub.plan import HubPlanner
from lynq.controllers.hub.state import HubState, HubStates
from lynq.controllers.options import Options
from lynq.core.hub.plan import FormCandidate, HubPlan, PlanInputs
from lynq.core.hub.plan_cache import PlanCache, plan_all
from lynq.core.hub.plan_check import PlanCheck
from lynq.core.hub.state import ReadRows, UserRequests
from lynq.kube import RuntimeMetrics, WorkQueue
from lynq.telemetry import OperatorMetrics
from unit.core.hub.fixtures import (
    NOON,
    WEB,
    ARow,
    a_form,
    a_hub,
    created,
    deleted,
    is_empty,
    readiness,
    rows,
    updated,
)
from waiting import eventually

UIDS = ("acme", "beta", "corp")
MISMATCHES = "lynq_plan_mismatch_total"


class IndexedRows(list[ARow]):
    """Rows as a targeted read returns them."""

    def with_uid(self, uid: str) -> list[ARow]:
        return [row for row in self if row.uid == uid]


class Validator:
    """Accepts every form."""

    async def candidate(self, form: LynqForm) -> FormCandidate:
        return FormCandidate(form)


@dataclass
class Operator:
    """A planner, with the API server's answers in its caches."""

    hub: LynqHub = field(default_factory=a_hub)
    form: LynqForm = WEB
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    version: int = 0

    def __post_init__(self) -> None:
        no_client: Any = None
        self.context = ControllerContext.of(
            no_client, Options(), RuntimeMetrics.unexposed(), OperatorMetrics(self.registry)
        )
        validator: Any = Validator()
        self.jobs = BackgroundJobs()
        self.requeued: list[ObjectKey] = []
        self.planner = HubPlanner(
            self.context,
            workloads_ready=lambda _: True,
            validator=validator,
            jobs=self.jobs,
            requeue=self.requeued.append,
        )
        self.states = HubStates()
        HubEventHandlers(self.context, WorkQueue[ObjectKey](), self.states).attach()
        self.context.forms.cache.store_response(self._stored(self.form, "web-uid"))
        self.restart()

    def restart(self) -> None:
        """Forget all plans, as a new process does."""
        self.state = HubState(self.hub.metadata.uid)
        self.states.put(self.hub.metadata.key, self.state)

    async def plan(self, read: list[ARow], changed: frozenset[str] | None = None) -> HubPlan:
        """Plan with these rows."""
        received = ReadRows(
            IndexedRows(read), "db", NOON, UserRequests.of(self.hub), changed=changed
        )
        return (await self.planner.plan(self.hub, received, self.state)).plan

    async def sync(self, read: list[ARow], changed: frozenset[str] | None = None) -> HubPlan:
        """Plan with these rows, and send the writes."""
        plan = await self.plan(read, changed)
        for creation in plan.creates:
            self.store(creation.node, uid=f"uid-{creation.name}")
        for update in plan.updates:
            self.store(update.after)
        for deletion in plan.deletes:
            self.delete(deletion.name)
        return plan

    async def finish_check(self) -> None:
        """Run the comparison that the last plan has started, to its end."""
        async with run_in_background(self.jobs.run()):
            await eventually(lambda: self.state.plan.check is None, within=10, every=0.01)

    def node(self, name: str) -> LynqNode:
        node = self.context.nodes.get(ObjectKey("prod", name))
        assert node
        return node

    def store(self, node: LynqNode, uid: str = "") -> None:
        self.context.nodes.cache.store_response(self._stored(node, uid or node.metadata.uid))

    def delete(self, name: str) -> None:
        uid = self.node(name).metadata.uid
        self.context.nodes.cache.store_deletion(ObjectKey("prod", name), uid)

    def _stored(self, obj: LynqForm | LynqNode, uid: str) -> RawObject:
        self.version += 1
        metadata = replace(obj.metadata, uid=uid, resource_version=str(self.version))
        metadata = replace(metadata, generation=metadata.generation or 1)
        encoded = msgspec.json.encode(replace(obj, metadata=metadata))
        return msgspec.json.decode(encoded, type=RawObject)

    @property
    def cache(self) -> PlanCache:
        assert self.state.plan.cache
        return self.state.plan.cache

    @property
    def plans_of_changes(self) -> int:
        return self.cache.plans

    @property
    def mismatches(self) -> float | None:
        return self.registry.get_sample_value(MISMATCHES)


async def test_unchanged_rows_are_not_planned_again() -> None:
    operator = Operator()
    assert len((await operator.sync(rows(*UIDS))).creates) == 3
    assert is_empty(await operator.sync(rows(*UIDS)))
    plan = await operator.sync(rows(*UIDS))
    assert is_empty(plan)
    assert operator.plans_of_changes == 2
    assert plan.screened.desired == 3
    assert operator.state.plan.desired.keys() == {f"{uid}-web" for uid in UIDS}
    assert operator.state.plan.checked_specs.keys() == operator.state.plan.desired.keys()
    result = operator.state.announced.sync_result
    assert result
    assert (result.desired, result.missing, result.kept) == (3, 0, frozenset())


async def test_changed_and_new_rows_are_written() -> None:
    operator = Operator()
    await operator.sync(rows(*UIDS))
    plan = await operator.sync([*rows("acme", "beta"), *rows("corp", plan="pro"), *rows("dawn")])
    assert (list(updated(plan)), created(plan)) == (["corp-web"], ["dawn-web"])
    assert operator.plans_of_changes == 1
    assert "dawn-web" in operator.state.plan.desired


async def test_pushed_uids_are_the_only_rows_that_are_planned() -> None:
    operator = Operator()
    await operator.sync(rows(*UIDS))
    await operator.sync(rows(*UIDS))
    read = [*rows("acme", "beta"), *rows("corp", plan="pro")]
    plan = await operator.sync(read, changed=frozenset({"corp"}))
    assert list(updated(plan)) == ["corp-web"]
    assert plan.screened.nodes.keys() == {"corp-web"}


async def test_edited_and_deleted_nodes_are_restored() -> None:
    operator = Operator()
    await operator.sync(rows(*UIDS))
    await operator.sync(rows(*UIDS))
    edited = operator.node("acme-web")
    operator.store(replace(edited, metadata=replace(edited.metadata, labels={})))
    operator.delete("beta-web")
    plan = await operator.sync(rows(*UIDS))
    assert (list(updated(plan)), created(plan)) == (["acme-web"], ["beta-web"])
    assert operator.plans_of_changes == 2


async def test_missing_row_is_decided_by_a_plan_of_all_rows() -> None:
    operator = Operator()
    await operator.sync(rows(*UIDS))
    await operator.sync(rows(*UIDS))
    hub = operator.hub
    guard = replace(hub.spec.deletion_guard, confirm_after="0s")
    operator.hub = replace(hub, spec=replace(hub.spec, deletion_guard=guard))
    plan = await operator.sync(rows("acme", "beta"))
    assert list(deleted(plan)) == ["corp-web"]
    assert operator.state.plan.cache is None


async def test_every_twentieth_plan_is_compared_with_all_rows() -> None:
    operator = Operator()
    await operator.sync(rows(*UIDS))
    for number in range(1, 20):
        await operator.sync(rows(*UIDS))
        assert operator.plans_of_changes == number
        assert operator.state.plan.check is None
    await operator.sync(rows(*UIDS))
    assert operator.state.plan.check
    assert operator.plans_of_changes == 0
    await operator.finish_check()
    assert operator.mismatches == 0
    assert operator.state.plan.cache
    assert operator.requeued == []


async def test_changed_row_does_not_wait_for_the_comparison() -> None:
    operator = Operator()
    await operator.sync(rows(*UIDS))
    await operator.sync(rows(*UIDS))
    operator.cache.plans = 19
    await operator.sync(rows(*UIDS))
    assert operator.state.plan.check
    # Meanwhile rows and nodes change, and the plan that is compared was made before.
    read = [*rows("acme", "beta"), *rows("corp", plan="pro"), *rows("dawn")]
    plan = await operator.sync(read, changed=frozenset({"corp", "dawn"}))
    assert (list(updated(plan)), created(plan)) == (["corp-web"], ["dawn-web"])
    operator.delete("acme-web")
    await operator.finish_check()
    assert operator.mismatches == 0
    assert created(await operator.sync(read)) == ["acme-web"]


async def test_second_comparison_does_not_start_during_the_first() -> None:
    operator = Operator()
    await operator.sync(rows(*UIDS))
    await operator.sync(rows(*UIDS))
    operator.cache.plans = 19
    await operator.sync(rows(*UIDS))
    first = operator.state.plan.check
    operator.cache.plans = 19
    await operator.sync(rows(*UIDS))
    assert operator.state.plan.check is first


async def with_overlooked_row() -> tuple[Operator, list[ARow]]:
    """Return an operator that has planned as if the change of a row had been overlooked."""
    operator = Operator()
    await operator.sync(rows(*UIDS))
    await operator.sync(rows(*UIDS))
    read = [*rows("acme", "beta"), *rows("corp", plan="pro")]
    operator.cache.rows["corp"] = read[-1]
    operator.cache.plans = 19
    assert is_empty(await operator.sync(read))
    return operator, read


async def test_all_rows_are_planned_again_after_a_differing_plan_of_changes() -> None:
    operator, read = await with_overlooked_row()
    with capture_logs() as logs:
        await operator.finish_check()
    assert operator.mismatches == 1
    (line,) = [line for line in logs if line["log_level"] == "error"]
    assert (line["hub"], line["nodes"]) == ("prod/shop", "corp-web")
    assert "pro'" not in str(line)
    assert operator.requeued == [operator.hub.metadata.key]
    assert operator.state.plan.requested
    assert list(updated(await operator.sync(read))) == ["corp-web"]


async def test_difference_that_is_found_during_a_plan_counts_for_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operator, read = await with_overlooked_row()
    plan_changes = PlanCache.plan_changes

    def plan_slowly(*args: Any, **options: Any) -> Any:
        planned = plan_changes(*args, **options)
        deadline = time.monotonic() + 10
        while operator.state.plan.check and time.monotonic() < deadline:
            time.sleep(0.01)
        return planned

    monkeypatch.setattr(PlanCache, "plan_changes", plan_slowly)
    async with run_in_background(operator.jobs.run()):
        assert is_empty(await operator.sync(read))
    assert operator.mismatches == 1
    assert list(updated(await operator.sync(read))) == ["corp-web"]


async def test_all_rows_are_planned_again_after_a_failed_comparison(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operator, read = await with_overlooked_row()
    monkeypatch.setattr(PlanCheck, "differing_nodes", lambda _: 1 / 0)
    with capture_logs() as logs:
        await operator.finish_check()
    assert "plan not checked" in [line["event"] for line in logs]
    assert operator.mismatches == 0
    assert operator.requeued == [operator.hub.metadata.key]
    assert list(updated(await operator.sync(read))) == ["corp-web"]


async def test_comparison_of_a_closed_hub_is_canceled() -> None:
    operator, _ = await with_overlooked_row()
    operator.planner.abandon_check(operator.state.plan)
    await operator.finish_check()
    assert operator.mismatches == 0
    assert operator.requeued == []


async def test_unsent_write_is_planned_once() -> None:
    """The writes of ten thousand rows take many syncs: none renders the remaining nodes again."""
    operator = Operator()
    plan = await operator.plan(rows(*UIDS))
    assert len(plan.creates) == 3
    operator.store(plan.creates[0].node, uid="uid-acme")
    again = await operator.plan(rows(*UIDS))
    assert again.creates == plan.creates[1:]
    assert again.screened.nodes.keys() == {"acme-web"}


def during_plans(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
    """Let something change while a plan of all rows is made, after it has read the caches."""
    loop = asyncio.get_running_loop()

    async def call() -> None:
        change()

    def plan(inputs: PlanInputs, now: datetime) -> tuple[HubPlan, PlanCache | None]:
        planned = plan_all(inputs, now)
        asyncio.run_coroutine_threadsafe(call(), loop).result()
        return planned

    monkeypatch.setattr("lynq.controllers.hub.plan.plan_all", plan)


async def test_slot_that_is_freed_while_a_plan_is_made_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operator = Operator(form=a_form(max_skew=1))
    assert created(await operator.sync(rows("acme", "beta"))) == ["acme-web"]
    operator.restart()
    acme = operator.node("acme-web")
    status = NodeStatus(
        observed_generation=1,
        observed_update_start=acme.metadata.annotations[ANNOTATION_ROLLOUT_UPDATE_START],
        conditions=(readiness(ready=True, now=NOON),),
    )
    during_plans(monkeypatch, lambda: operator.store(replace(acme, status=status)))
    assert is_empty(await operator.sync(rows("acme", "beta")))
    assert operator.state.plan.requested


async def test_node_that_is_deleted_while_a_plan_is_made_is_planned_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operator = Operator()
    await operator.sync(rows("acme"))
    operator.restart()
    during_plans(monkeypatch, lambda: operator.delete("acme-web"))
    assert is_empty(await operator.sync(rows("acme")))
    assert operator.state.plan.requested


async def test_other_change_while_a_plan_is_made_requires_no_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operator = Operator(form=a_form(max_skew=1))
    await operator.sync(rows("acme", "beta"))
    operator.restart()
    acme = operator.node("acme-web")
    status = NodeStatus(observed_generation=1, conditions=(readiness(ready=False, now=NOON),))
    during_plans(monkeypatch, lambda: operator.store(replace(acme, status=status)))
    await operator.sync(rows("acme", "beta"))
    assert not operator.state.plan.requested
