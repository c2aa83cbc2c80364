"""Predicates of the hub's event handlers: what a change triggers."""

from datetime import datetime

import pytest
from msgspec.structs import replace

from lynq.api import HubStatus, LynqNode
from lynq.api.names import ANNOTATION_APPROVE_DELETION
from lynq.api.naming import NodePair
from lynq.core.hub.predicates import (
    Trigger,
    form_changed,
    hub_changed,
    node_changed,
    requires_new_plan,
    workload_became_ready,
)
from lynq.core.hub.state import PlanState
from unit.core.hub.fixtures import Cluster, a_form, a_hub, at, rows, synced

LATER = at(60)


def a_node(*, ready: bool | None = None, **metadata: object) -> LynqNode:
    cluster = Cluster()
    synced(cluster, rows("acme"), a_form())
    if ready is not None:
        cluster.settle(at(30), ready=ready)
    cluster.edit("acme-web", **metadata)
    return cluster.nodes["acme-web"]


def last_plan(
    *, throttled: str = "", is_desired: bool = True, has_taken_names: bool = False
) -> PlanState:
    return PlanState(
        throttled_forms=frozenset({throttled}),
        desired={"acme-web": NodePair("acme", "web")} if is_desired else {},
        has_taken_names=has_taken_names,
    )


def trigger(
    old: LynqNode | None,
    new: LynqNode | None,
    plan: PlanState | None = None,
    now: datetime = LATER,
) -> Trigger:
    return node_changed(old, new, plan or last_plan(), now)


def test_node_readiness_updates_only_counters() -> None:
    assert trigger(a_node(), a_node(ready=True)) is Trigger.COUNT
    assert trigger(a_node(ready=True), a_node(ready=False)) is Trigger.COUNT
    assert trigger(a_node(ready=True), a_node(ready=True)) is Trigger.NOTHING


def test_settled_node_frees_a_slot_of_a_throttled_form() -> None:
    throttled = last_plan(throttled="web")
    assert trigger(a_node(ready=False), a_node(ready=True), throttled) is Trigger.PLAN
    assert trigger(a_node(ready=True), a_node(ready=False), throttled) is Trigger.COUNT
    assert trigger(a_node(), a_node(ready=True), last_plan(throttled="worker")) is Trigger.COUNT


def test_workload_ready_after_its_nodes_status_frees_a_slot() -> None:
    throttled = last_plan(throttled="web")
    assert workload_became_ready(a_node(ready=True), throttled, LATER) is Trigger.PLAN
    # The status of the node follows, or no node waits.
    assert workload_became_ready(a_node(ready=False), throttled, LATER) is Trigger.NOTHING
    assert workload_became_ready(a_node(ready=True), last_plan(), LATER) is Trigger.NOTHING


@pytest.mark.parametrize(
    "edit",
    [
        {"generation": 7},
        {"labels": {}},
        {"annotations": {}},
        {"owner_references": []},
        {"finalizers": []},
        {"uid": "another"},
    ],
    ids=lambda edit: next(iter(edit)),
)
def test_edited_node_triggers_a_plan(edit: dict[str, object]) -> None:
    assert trigger(a_node(ready=True), a_node(ready=True, **edit)) is Trigger.PLAN


@pytest.mark.parametrize("label", ["lynq.sh/bucket", "lynq.sh/conflicted"])
def test_labels_for_shards_trigger_nothing(label: str) -> None:
    labels = {**a_node().metadata.labels, label: "edited"}
    assert trigger(a_node(ready=True), a_node(ready=True, labels=labels)) is Trigger.NOTHING


def test_new_node_triggers_a_plan() -> None:
    assert trigger(None, a_node()) is Trigger.PLAN


def test_deleted_node_triggers_a_plan_only_if_the_plan_needs_it() -> None:
    deleting = a_node(ready=True, deletion_timestamp=LATER)
    assert trigger(a_node(ready=True), deleting) is Trigger.PLAN
    assert trigger(deleting, None) is Trigger.PLAN
    undesired = last_plan(is_desired=False)
    assert trigger(a_node(ready=True), deleting, undesired) is Trigger.COUNT
    assert trigger(deleting, None, undesired) is Trigger.NOTHING
    name_taken = last_plan(is_desired=False, has_taken_names=True)
    assert trigger(deleting, None, name_taken) is Trigger.PLAN
    throttled = last_plan(throttled="web", is_desired=False)
    assert trigger(a_node(ready=True), deleting, throttled) is Trigger.PLAN


@pytest.mark.parametrize(
    ("plan", "settled", "deleting", "deleted"),
    [
        (last_plan(), False, True, True),
        (last_plan(throttled="web"), True, True, True),
        (last_plan(throttled="web", is_desired=False), True, True, False),
        (last_plan(is_desired=False, has_taken_names=True), False, False, True),
        (last_plan(is_desired=False), False, False, False),
    ],
)
def test_change_during_a_plan_requires_another_one_only_if_the_new_plan_needs_it(
    plan: PlanState, *, settled: bool, deleting: bool, deleted: bool
) -> None:
    def is_required(node: LynqNode | None) -> bool:
        return requires_new_plan("acme-web", node, plan, LATER)

    assert is_required(a_node(ready=True)) is settled
    assert is_required(a_node(ready=True, deletion_timestamp=LATER)) is deleting
    assert is_required(None) is deleted
    assert not is_required(a_node(ready=False))


def test_hub_status_triggers_nothing() -> None:
    reported = replace(a_hub(), status=HubStatus(desired=3))
    assert hub_changed(a_hub(), reported) is Trigger.NOTHING
    assert hub_changed(a_hub(), a_hub()) is Trigger.NOTHING


@pytest.mark.parametrize(
    "edit",
    [{"generation": 7}, {"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"uid": "another"}],
    ids=lambda edit: next(iter(edit)),
)
def test_user_change_of_the_hub_triggers_a_read(edit: dict[str, object]) -> None:
    changed = replace(a_hub(), metadata=replace(a_hub().metadata, **edit))
    assert hub_changed(a_hub(), changed) is Trigger.READ
    assert hub_changed(None, a_hub()) is Trigger.READ


def test_own_write_to_the_hub_and_its_deletion_trigger_no_read() -> None:
    with_finalizer = replace(a_hub(), metadata=replace(a_hub().metadata, finalizers=("ours",)))
    assert hub_changed(a_hub(), with_finalizer) is Trigger.PLAN
    approved = a_hub(annotations={ANNOTATION_APPROVE_DELETION: "0123456789abcdef"})
    assert hub_changed(approved, a_hub()) is Trigger.PLAN
    assert hub_changed(a_hub(), None) is Trigger.PLAN


def test_new_form_and_new_form_generation_trigger_a_read() -> None:
    assert form_changed(a_form(), a_form()) is Trigger.NOTHING
    assert form_changed(None, a_form()) is Trigger.READ
    assert form_changed(a_form(), a_form(generation=2)) is Trigger.READ


def test_deleted_form_triggers_a_plan_without_a_read() -> None:
    deleting = replace(a_form(), metadata=replace(a_form().metadata, deletion_timestamp=LATER))
    assert form_changed(a_form(), deleting) is Trigger.PLAN
    assert form_changed(deleting, None) is Trigger.PLAN
