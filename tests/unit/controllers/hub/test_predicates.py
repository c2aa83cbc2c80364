"""Which changes concern a hub, and how much."""

from datetime import datetime

import pytest
from msgspec.structs import replace

from lynq.api import HubStatus, LynqNode
from lynq.api.names import ANNOTATION_APPROVE_DELETION
from lynq.api.naming import NodePair
from lynq.controllers.hub.predicates import (
    Trigger,
    form_changed,
    hub_changed,
    node_changed,
    workload_became_ready,
)
from lynq.controllers.hub.state import HubState
from unit.core.hub.fixtures import Cluster, a_form, a_hub, at, rows, synced

LATER = at(60)


def a_node(*, ready: bool | None = None, **metadata: object) -> LynqNode:
    cluster = Cluster()
    synced(cluster, rows("acme"), a_form())
    if ready is not None:
        cluster.settle(at(30), ready=ready)
    cluster.edit("acme-web", **metadata)
    return cluster.nodes["acme-web"]


def memory(*, waiting: str = "", wanted: bool = True, crowded: bool = False) -> HubState:
    return HubState(
        "hub-uid",
        waiting=frozenset({waiting}),
        wanted={"acme-web": NodePair("acme", "web")} if wanted else {},
        crowded=crowded,
    )


def effect(
    old: LynqNode | None,
    new: LynqNode | None,
    known: HubState | None = None,
    now: datetime = LATER,
) -> Trigger:
    return node_changed(old, new, known or memory(), now)


def test_a_nodes_readiness_changes_counters_and_nothing_else() -> None:
    assert effect(a_node(), a_node(ready=True)) is Trigger.COUNT
    assert effect(a_node(ready=True), a_node(ready=False)) is Trigger.COUNT
    assert effect(a_node(ready=True), a_node(ready=True)) is Trigger.NOTHING


def test_a_node_that_settles_opens_a_slot_if_others_wait() -> None:
    waiting = memory(waiting="web")
    assert effect(a_node(ready=False), a_node(ready=True), waiting) is Trigger.PLAN
    assert effect(a_node(ready=True), a_node(ready=False), waiting) is Trigger.COUNT
    assert effect(a_node(), a_node(ready=True), memory(waiting="worker")) is Trigger.COUNT


def test_a_workload_that_was_behind_its_nodes_status_opens_a_slot_if_others_wait() -> None:
    waiting = memory(waiting="web")
    assert workload_became_ready(a_node(ready=True), waiting, LATER) is Trigger.PLAN
    # The node has yet to say so itself, or nobody waits.
    assert workload_became_ready(a_node(ready=False), waiting, LATER) is Trigger.NOTHING
    assert workload_became_ready(a_node(ready=True), memory(), LATER) is Trigger.NOTHING


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
def test_an_edit_calls_for_a_plan(edit: dict[str, object]) -> None:
    assert effect(a_node(ready=True), a_node(ready=True, **edit)) is Trigger.PLAN


def test_a_node_that_appears_calls_for_a_plan() -> None:
    assert effect(None, a_node()) is Trigger.PLAN


def test_a_wanted_node_that_goes_calls_for_a_plan_and_others_are_only_counted() -> None:
    leaving = a_node(ready=True, deletion_timestamp=LATER)
    assert effect(a_node(ready=True), leaving) is Trigger.PLAN
    assert effect(leaving, None) is Trigger.PLAN
    unwanted = memory(wanted=False)
    assert effect(a_node(ready=True), leaving, unwanted) is Trigger.COUNT
    assert effect(leaving, None, unwanted) is Trigger.NOTHING
    assert effect(leaving, None, memory(wanted=False, crowded=True)) is Trigger.PLAN
    assert effect(a_node(ready=True), leaving, memory(waiting="web", wanted=False)) is Trigger.PLAN


def test_a_hubs_own_status_is_no_news() -> None:
    told = replace(a_hub(), status=HubStatus(desired=3))
    assert hub_changed(a_hub(), told) is Trigger.NOTHING
    assert hub_changed(a_hub(), a_hub()) is Trigger.NOTHING


@pytest.mark.parametrize(
    "edit",
    [{"generation": 7}, {"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"uid": "another"}],
    ids=lambda edit: next(iter(edit)),
)
def test_a_change_of_the_hub_by_others_calls_for_its_rows(edit: dict[str, object]) -> None:
    changed = replace(a_hub(), metadata=replace(a_hub().metadata, **edit))
    assert hub_changed(a_hub(), changed) is Trigger.READ
    assert hub_changed(None, a_hub()) is Trigger.READ


def test_what_we_write_into_the_hub_and_its_end_call_for_no_rows() -> None:
    with_finalizer = replace(a_hub(), metadata=replace(a_hub().metadata, finalizers=("ours",)))
    assert hub_changed(a_hub(), with_finalizer) is Trigger.PLAN
    approved = a_hub(annotations={ANNOTATION_APPROVE_DELETION: "0123456789abcdef"})
    assert hub_changed(approved, a_hub()) is Trigger.PLAN
    assert hub_changed(a_hub(), None) is Trigger.PLAN


def test_a_form_calls_for_rows_when_it_comes_and_with_each_generation() -> None:
    assert form_changed(a_form(), a_form()) is Trigger.NOTHING
    assert form_changed(None, a_form()) is Trigger.READ
    assert form_changed(a_form(), a_form(generation=2)) is Trigger.READ


def test_a_form_that_goes_is_planned_from_the_rows_known() -> None:
    leaving = replace(a_form(), metadata=replace(a_form().metadata, deletion_timestamp=LATER))
    assert form_changed(a_form(), leaving) is Trigger.PLAN
    assert form_changed(leaving, None) is Trigger.PLAN
