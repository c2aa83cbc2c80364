"""The steps of a reconcile, for dependency graphs of any shape."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from lynq.api import ResourceState
from lynq.core.graph.model import Entry
from lynq.core.node.state import WriteRejection
from lynq.core.node.step import ReconcileStep
from lynq.core.readiness.verdict import READY, Readiness, ReadinessState
from unit.core.graph.strategies import acyclic_entries, transitive_dependencies
from unit.core.node.fixtures import STARTING, Cluster
from unit.core.node.nodes import NOW, a_resource

S = ResourceState
FAILED = Readiness(ReadinessState.FAILED, "Failed", "it failed")


def cluster_of(entries: Any, **more: Any) -> Cluster:
    return Cluster(
        a_resource(entry.id, name_template=f"n{index}", depend_ids=entry.depend_ids, **more)
        for index, entry in enumerate(entries)
    )


def states(step: ReconcileStep) -> dict[str, ResourceState]:
    return {outcome.id: outcome.state for outcome in step.outcomes}


@settings(max_examples=60)
@given(acyclic_entries(), st.data())
def test_every_resource_is_written_once_in_order_and_becomes_ready(
    entries: list[Entry], data: st.DataObject
) -> None:
    cluster = cluster_of(entries)
    while True:
        step = cluster.step()
        for write in step.writes:
            before = states(step)
            assert all(
                before[dependency] is S.READY for dependency in cluster.graph.dependencies[write.id]
            )
            at_once = data.draw(st.booleans())
            cluster.accept(write, READY if at_once else STARTING)
        starting = [resource for resource, state in states(step).items() if state is S.PROGRESSING]
        written = {write.id for write in step.writes}
        starting = [resource for resource in starting if resource not in written]
        if starting:
            cluster.set_readiness(data.draw(st.sampled_from(starting)), READY)
        elif not step.writes:
            break
    assert sorted(cluster.writes) == sorted(entry.id for entry in entries)
    assert set(states(cluster.step()).values()) <= {S.READY}


@settings(max_examples=60)
@given(acyclic_entries(), st.data())
def test_dependents_of_a_failure_are_skipped_and_the_rest_is_written(
    entries: list[Entry], data: st.DataObject
) -> None:
    cluster = cluster_of(entries)
    bad = data.draw(st.sets(st.sampled_from([entry.id for entry in entries]))) if entries else set()
    while (step := cluster.step()).writes:
        for write in step.writes:
            if write.id in bad:
                cluster.reject(write, WriteRejection("no"))
            else:
                cluster.accept(write, READY)
    skipped = {dependent for dependent, origin in transitive_dependencies(entries) if origin in bad}
    for resource, state in states(step).items():
        is_failed, is_skipped = resource in bad, resource in skipped
        expected = S.SKIPPED if is_skipped else S.FAILED if is_failed else S.READY
        assert state is expected
    assert not skipped & set(cluster.writes)
    assert len(cluster.writes) == len(set(cluster.writes))


@settings(max_examples=40)
@given(acyclic_entries())
def test_forced_reconcile_writes_everything_once_and_an_idle_one_nothing(
    entries: list[Entry],
) -> None:
    cluster = cluster_of(entries)
    for force in (False, True, False):
        cluster.writes.clear()
        while (step := cluster.step(force=force)).writes:
            for write in step.writes:
                cluster.accept(write, READY)
        cluster.next_reconcile()
    assert cluster.writes == []
    while (step := cluster.step(force=True)).writes:
        for write in step.writes:
            cluster.accept(write, READY)
    assert sorted(cluster.writes) == sorted(entry.id for entry in entries)


def test_independent_resources_are_written_in_one_step() -> None:
    cluster = cluster_of([Entry("a"), Entry("b"), Entry("c", ("a",))])
    assert [write.id for write in cluster.step().writes] == ["a", "b"]


def test_waiting_dependent_names_its_dependency() -> None:
    cluster = cluster_of([Entry("a"), Entry("b", ("a",))])
    cluster.accept(cluster.step().writes[0], STARTING)
    _, waiting = cluster.step().outcomes
    assert (waiting.state, waiting.reason) == (S.WAITING, "DependencyNotReady")
    assert waiting.message == 'waiting for dependency "a" to become ready'


def test_dependent_is_written_despite_a_failure_if_skipping_is_off() -> None:
    cluster = cluster_of([Entry("a"), Entry("b", ("a",))], skip_on_dependency_failure=False)
    cluster.reject(cluster.step().writes[0], WriteRejection("no"))
    _, proceeding = cluster.step().outcomes
    assert proceeding.failed_dependency == "a"
    assert proceeding.write is not None


def test_step_is_requeued_at_the_earliest_deadline() -> None:
    cluster = Cluster(
        [
            a_resource("slow", name_template="x", timeout_seconds=600),
            a_resource("fast", name_template="y", timeout_seconds=20),
        ]
    )
    for write in cluster.step().writes:
        cluster.accept(write, STARTING)
    assert cluster.step(NOW + timedelta(seconds=5)).requeue_at == NOW + timedelta(seconds=20)


def test_first_of_two_resources_for_one_object_is_written() -> None:
    cluster = Cluster([a_resource("a", name_template="x"), a_resource("b", name_template="x")])
    step = cluster.step()
    assert [write.id for write in step.writes] == ["a"]
    assert step.outcomes[1].reason == "DuplicateObject"
    assert step.outcomes[1].message == (
        'ConfigMap shop/x is also rendered by "a"; rename one of them'
    )


def test_node_without_resources_has_an_empty_step() -> None:
    assert Cluster([]).step() == ReconcileStep(())


@pytest.mark.parametrize("dependency", [READY, STARTING, FAILED])
def test_object_of_another_node_is_in_conflict_whatever_it_depends_on(
    dependency: Readiness,
) -> None:
    """A node that only waits for a dependency would desire nothing, and the object be deleted."""
    cluster = Cluster([a_resource("app"), a_resource("data", depend_ids=("app",))])
    (write,) = cluster.step().writes
    cluster.accept(write, dependency)
    data = cluster.facts["data"]
    claimed = replace(data, live=cluster.facts["app"].live, claimant='LynqNode "acme"')
    cluster.facts["data"] = claimed
    assert states(cluster.step())["data"] is S.CONFLICTED


def test_dependents_of_a_resource_in_conflict_wait_for_its_dependencies() -> None:
    after = a_resource("after", depend_ids=("data",), skip_on_dependency_failure=False)
    cluster = Cluster([a_resource("app"), a_resource("data", depend_ids=("app",)), after])
    (write,) = cluster.step().writes
    cluster.accept(write, STARTING)
    data, live = cluster.facts["data"], cluster.facts["app"].live
    cluster.facts["data"] = replace(data, live=live, claimant='LynqNode "acme"')
    expected = {"app": S.PROGRESSING, "data": S.CONFLICTED, "after": S.WAITING}
    assert states(cluster.step()) == expected
