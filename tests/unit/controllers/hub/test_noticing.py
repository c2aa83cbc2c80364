"""Which changes concern a hub, and how much."""

from datetime import datetime

import pytest
from msgspec.structs import replace

from lynq.api import HubStatus, LynqNode
from lynq.api.names import ANNOTATION_APPROVE_DELETION
from lynq.api.naming import NodePair
from lynq.controllers.hub.memory import Memory
from lynq.controllers.hub.noticing import (
    Effect,
    effect_of_form,
    effect_of_node,
    effect_of_workload,
    effect_on_hub,
)
from unit.core.hub.fixtures import Cluster, a_form, a_hub, at, rows, synced

LATER = at(60)


def a_node(*, ready: bool | None = None, **metadata: object) -> LynqNode:
    cluster = Cluster()
    synced(cluster, rows("acme"), a_form())
    if ready is not None:
        cluster.settle(at(30), ready=ready)
    cluster.edit("acme-web", **metadata)
    return cluster.nodes["acme-web"]


def memory(*, waiting: str = "", wanted: bool = True, crowded: bool = False) -> Memory:
    return Memory(
        "hub-uid",
        waiting=frozenset({waiting}),
        wanted={"acme-web": NodePair("acme", "web")} if wanted else {},
        crowded=crowded,
    )


def effect(
    old: LynqNode | None,
    new: LynqNode | None,
    known: Memory | None = None,
    now: datetime = LATER,
) -> Effect:
    return effect_of_node(old, new, known or memory(), now)


def test_a_nodes_readiness_changes_counters_and_nothing_else() -> None:
    assert effect(a_node(), a_node(ready=True)) is Effect.COUNT
    assert effect(a_node(ready=True), a_node(ready=False)) is Effect.COUNT
    assert effect(a_node(ready=True), a_node(ready=True)) is Effect.NOTHING


def test_a_node_that_settles_opens_a_slot_if_others_wait() -> None:
    waiting = memory(waiting="web")
    assert effect(a_node(ready=False), a_node(ready=True), waiting) is Effect.PLAN
    assert effect(a_node(ready=True), a_node(ready=False), waiting) is Effect.COUNT
    assert effect(a_node(), a_node(ready=True), memory(waiting="worker")) is Effect.COUNT


def test_a_workload_that_was_behind_its_nodes_status_opens_a_slot_if_others_wait() -> None:
    waiting = memory(waiting="web")
    assert effect_of_workload(a_node(ready=True), waiting, LATER) is Effect.PLAN
    # The node has yet to say so itself, or nobody waits.
    assert effect_of_workload(a_node(ready=False), waiting, LATER) is Effect.NOTHING
    assert effect_of_workload(a_node(ready=True), memory(), LATER) is Effect.NOTHING


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
    assert effect(a_node(ready=True), a_node(ready=True, **edit)) is Effect.PLAN


def test_a_node_that_appears_calls_for_a_plan() -> None:
    assert effect(None, a_node()) is Effect.PLAN


def test_a_wanted_node_that_goes_calls_for_a_plan_and_others_are_only_counted() -> None:
    leaving = a_node(ready=True, deletion_timestamp=LATER)
    assert effect(a_node(ready=True), leaving) is Effect.PLAN
    assert effect(leaving, None) is Effect.PLAN
    unwanted = memory(wanted=False)
    assert effect(a_node(ready=True), leaving, unwanted) is Effect.COUNT
    assert effect(leaving, None, unwanted) is Effect.NOTHING
    assert effect(leaving, None, memory(wanted=False, crowded=True)) is Effect.PLAN
    assert effect(a_node(ready=True), leaving, memory(waiting="web", wanted=False)) is Effect.PLAN


def test_a_hubs_own_status_is_no_news() -> None:
    told = replace(a_hub(), status=HubStatus(desired=3))
    assert effect_on_hub(a_hub(), told) is Effect.NOTHING
    assert effect_on_hub(a_hub(), a_hub()) is Effect.NOTHING


@pytest.mark.parametrize(
    "edit",
    [{"generation": 7}, {"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"uid": "another"}],
    ids=lambda edit: next(iter(edit)),
)
def test_a_change_of_the_hub_by_others_calls_for_its_rows(edit: dict[str, object]) -> None:
    changed = replace(a_hub(), metadata=replace(a_hub().metadata, **edit))
    assert effect_on_hub(a_hub(), changed) is Effect.READ
    assert effect_on_hub(None, a_hub()) is Effect.READ


def test_what_we_write_into_the_hub_and_its_end_call_for_no_rows() -> None:
    with_finalizer = replace(a_hub(), metadata=replace(a_hub().metadata, finalizers=("ours",)))
    assert effect_on_hub(a_hub(), with_finalizer) is Effect.PLAN
    approved = a_hub(annotations={ANNOTATION_APPROVE_DELETION: "0123456789abcdef"})
    assert effect_on_hub(approved, a_hub()) is Effect.PLAN
    assert effect_on_hub(a_hub(), None) is Effect.PLAN


def test_a_form_calls_for_rows_when_it_comes_and_with_each_generation() -> None:
    assert effect_of_form(a_form(), a_form()) is Effect.NOTHING
    assert effect_of_form(None, a_form()) is Effect.READ
    assert effect_of_form(a_form(), a_form(generation=2)) is Effect.READ


def test_a_form_that_goes_is_planned_from_the_rows_known() -> None:
    leaving = replace(a_form(), metadata=replace(a_form().metadata, deletion_timestamp=LATER))
    assert effect_of_form(a_form(), leaving) is Effect.PLAN
    assert effect_of_form(leaving, None) is Effect.PLAN
