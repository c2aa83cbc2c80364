"""The state of a hub: requests of users, changed nodes, and the execution of a plan."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api.names import ANNOTATION_APPROVE_DELETION, ANNOTATION_FORCE_SYNC
from lynq.core.hub.diff import NodeDeletion
from lynq.core.hub.state import ExecutionResult, PlanExecution, PlanState, ReadState, UserRequests
from lynq.core.hub.write_window import MAX_WINDOW
from unit.core.hub.fixtures import (
    NOON,
    Cluster,
    a_form,
    a_hub,
    an_unguarded_hub,
    at,
    planned,
    rows,
    synced,
)


def an_execution() -> PlanExecution:
    """Return the execution of a plan with two deletions and one creation."""
    cluster = Cluster()
    synced(cluster, rows("a", "b"), a_form())
    return PlanExecution.of(a_hub(), planned(cluster, rows("c"), a_form()), NOON)


@pytest.mark.parametrize("annotation", [ANNOTATION_FORCE_SYNC, ANNOTATION_APPROVE_DELETION])
def test_only_a_new_value_of_an_annotation_is_a_request(annotation: str) -> None:
    without = UserRequests.of(a_hub())
    first = UserRequests.of(a_hub(annotations={annotation: "1"}))
    second = UserRequests.of(a_hub(annotations={annotation: "2"}))
    assert first.exceed(without)
    assert second.exceed(first)
    assert not first.exceed(first)
    assert not without.exceed(first)


def test_deletions_are_executed_first() -> None:
    kinds = [isinstance(write, NodeDeletion) for write in an_execution().remaining]
    assert kinds == [True, True, False]


def executed(*uids: str, replaced: PlanExecution | None = None) -> PlanExecution:
    """Return the execution of a plan that creates the nodes of new rows."""
    plan = planned(Cluster(), rows(*uids), a_form(), now=at(1) if replaced else NOON)
    return PlanExecution.of(a_hub(), plan, NOON, replaced=replaced)


def names(execution: PlanExecution) -> list[str]:
    return [write.name.removesuffix("-web") for write in execution.remaining]


def test_updates_and_creates_of_one_plan_are_sent_in_turn() -> None:
    cluster = Cluster()
    synced(cluster, rows("x", "y", plan="small"), a_form())
    plan = planned(cluster, [*rows("a", "b", "c"), *rows("x", "y", plan="large")], a_form())
    assert names(PlanExecution.of(a_hub(), plan, NOON)) == ["x", "a", "y", "b", "c"]


def test_changed_row_is_written_before_an_import_that_waits() -> None:
    waiting = executed("b", "c", "d")
    assert names(executed("a", "b", "c", "d", replaced=waiting)) == ["a", "b", "c", "d"]
    assert names(executed("b", "c", "d", "e", replaced=waiting)) == ["e", "b", "c", "d"]


def test_import_goes_on_while_rows_change() -> None:
    waiting = executed("b", "c")
    assert names(executed("b", "c", "x", "y", "z", replaced=waiting)) == ["x", "b", "y", "c", "z"]


def test_row_that_changed_again_does_not_keep_its_place() -> None:
    waiting = executed("b", "c", "d")
    changed = planned(Cluster(), [*rows("b", "c"), *rows("d", plan="large")], a_form())
    execution = PlanExecution.of(a_hub(), changed, NOON, replaced=waiting)
    assert names(execution) == ["d", "b", "c"]


def test_deletion_that_waits_alternates_with_new_writes() -> None:
    cluster = Cluster()
    synced(cluster, rows("a", "b"), a_form())
    hub = an_unguarded_hub()
    waiting = PlanExecution.of(hub, planned(cluster, (), a_form(), hub=hub), NOON)
    plan = planned(cluster, rows("c", "d"), a_form())
    execution = PlanExecution.of(a_hub(), plan, NOON, replaced=waiting)
    assert names(execution) == ["c", "a", "d", "b"]


def test_deletions_that_wait_keep_their_order() -> None:
    cluster = Cluster()
    synced(cluster, rows("a", "b"), a_form())
    plan = planned(cluster, (), a_form(), hub=an_unguarded_hub())
    waiting = PlanExecution.of(a_hub(), plan, NOON)
    waiting.remaining.reverse()
    assert names(PlanExecution.of(a_hub(), plan, NOON, replaced=waiting)) == ["b", "a"]


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.sets(st.sampled_from("abcdefgh")))
def test_each_write_is_sent_once_and_those_that_wait_keep_their_order(
    waiting: list[str], desired: set[str]
) -> None:
    before = executed(*waiting)
    before.remaining.sort(key=lambda write: waiting.index(write.name.removesuffix("-web")))
    sent = names(executed(*sorted(desired), replaced=before))
    assert sorted(sent) == sorted(desired)
    assert [uid for uid in sent if uid in waiting] == [uid for uid in waiting if uid in desired]


def test_unconfirmed_deletions_count_as_failed() -> None:
    execution = an_execution()
    execution.restrict_deletions(execution.remaining_deletions[:1])
    assert [deletion.name for deletion in execution.remaining_deletions] == ["a-web"]
    assert len(execution.remaining) == 2
    assert execution.result.failed == 1
    assert not execution.result.is_complete


def test_only_deletions_of_nodes_without_row_are_dropped() -> None:
    cluster = Cluster()
    synced(cluster, rows("a", "b"), a_form(), a_form("db"))
    execution = PlanExecution.of(a_hub(), planned(cluster, rows("a", "c"), a_form()), NOON)
    deleted = [deletion.name for deletion in execution.remaining_deletions]
    assert deleted == ["a-db", "b-db", "b-web"]
    assert [deletion.name for deletion in execution.remaining_row_deletions] == ["b-web"]
    execution.drop_row_deletions()
    assert [deletion.name for deletion in execution.remaining_deletions] == ["a-db", "b-db"]
    assert len(execution.remaining) == 3
    assert execution.result.failed == 1


def test_execution_is_complete_if_nothing_failed_and_nothing_stopped_it() -> None:
    assert ExecutionResult().is_complete is True
    assert ExecutionResult(failed=1).is_complete is False
    assert ExecutionResult(stopped=True).is_complete is False


def test_rows_have_changed_when_the_notification_says_so_else_when_they_were_read() -> None:
    plan = an_execution().plan
    assert PlanExecution.of(a_hub(), plan, NOON).changed_at == NOON
    assert PlanExecution.of(a_hub(), plan, NOON, at(-1)).changed_at == at(-1)


def test_notification_names_changed_rows_until_it_requests_all() -> None:
    read = ReadState()
    read.record_change(frozenset({"a"}), at(2))
    read.record_change(frozenset({"b"}), at(3))
    assert read.changed_uids == {"a", "b"}
    assert read.requested is False
    assert read.changed_at == at(2)
    read.record_change(None, at(1))
    assert (read.requested, read.changed_at) == (True, at(1))
    read.record_change(frozenset({"c"}), at(4))
    assert read.requested is True


def test_too_many_changed_rows_request_all() -> None:
    read = ReadState()
    read.record_change(frozenset(map(str, range(1000))), NOON)
    assert read.requested is False
    read.record_change(frozenset({"one more"}), NOON)
    assert read.requested is True


def test_outage_counts_consecutive_failures_only() -> None:
    result = ExecutionResult()
    for _ in range(3):
        result.record(failed=True, outage=True)
    assert (result.failed, result.outage) == (3, 3)
    result.record(failed=True, outage=False)
    assert (result.failed, result.outage) == (4, 0)


def is_outage_after(outages: Sequence[bool]) -> bool:
    result = ExecutionResult()
    for outage in outages:
        result.record(failed=True, outage=outage)
    return result.is_outage


def test_outage_is_as_many_failures_in_a_row_as_writes_may_be_in_flight() -> None:
    failures = [True] * MAX_WINDOW
    assert is_outage_after(failures)
    assert not is_outage_after(failures[1:])
    assert not is_outage_after([*failures, False])


def test_changed_nodes_are_recorded_between_two_plans() -> None:
    plan = PlanState()
    plan.record_changed_node("early-web")
    assert plan.take_changed_nodes() is None
    plan.record_changed_node("acme-web")
    assert plan.take_changed_nodes() == {"acme-web"}
    assert plan.take_changed_nodes() == set()


def test_too_many_changed_nodes_are_not_recorded() -> None:
    plan = PlanState()
    plan.take_changed_nodes()
    for number in range(20_000):
        plan.record_changed_node(f"t{number}-web")
    assert plan.changed_nodes is not None
    plan.record_changed_node("one-more-web")
    assert plan.take_changed_nodes() is None
