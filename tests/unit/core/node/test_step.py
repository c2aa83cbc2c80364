"""The steps of a reconcile, played through in worlds of any shape."""

from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lynq.api import ResourceState
from lynq.core.graph.model import Entry
from lynq.core.node.state import WriteRejection
from lynq.core.node.step import ReconcileStep
from lynq.core.readiness.verdict import READY
from unit.core.graph.strategies import acyclic_entries, transitive_dependencies
from unit.core.node.fixtures import STARTING, Cluster
from unit.core.node.nodes import NOW, a_resource

S = ResourceState


def world_of(entries: Any, **more: Any) -> Cluster:
    return Cluster(
        a_resource(entry.id, name_template=f"n{place}", depend_ids=entry.depend_ids, **more)
        for place, entry in enumerate(entries)
    )


def states(step: ReconcileStep) -> dict[str, ResourceState]:
    return {outcome.id: outcome.state for outcome in step.outcomes}


@settings(max_examples=60)
@given(acyclic_entries(), st.data())
def test_everything_is_written_once_in_order_and_ends_ready(
    entries: list[Entry], data: st.DataObject
) -> None:
    world = world_of(entries)
    while True:
        step = world.step()
        for write in step.writes:
            before = states(step)
            assert all(before[this] is S.READY for this in world.graph.dependencies[write.id])
            at_once = data.draw(st.booleans())
            world.take(write, READY if at_once else STARTING)
        starting = [this for this, state in states(step).items() if state is S.PROGRESSING]
        starting = [this for this in starting if this not in {w.id for w in step.writes}]
        if starting:
            world.becomes(data.draw(st.sampled_from(starting)), READY)
        elif not step.writes:
            break
    assert sorted(world.writes) == sorted(entry.id for entry in entries)
    assert set(states(world.step()).values()) <= {S.READY}


@settings(max_examples=60)
@given(acyclic_entries(), st.data())
def test_what_depends_on_a_failure_is_skipped_and_all_else_is_written(
    entries: list[Entry], data: st.DataObject
) -> None:
    world = world_of(entries)
    bad = data.draw(st.sets(st.sampled_from([entry.id for entry in entries]))) if entries else set()
    while (step := world.step()).writes:
        for write in step.writes:
            if write.id in bad:
                world.refuse(write, WriteRejection("no"))
            else:
                world.take(write, READY)
    skipped = {dependent for dependent, origin in transitive_dependencies(entries) if origin in bad}
    for this, state in states(step).items():
        expected = S.SKIPPED if this in skipped else S.FAILED if this in bad else S.READY
        assert state is expected
    assert not skipped & set(world.writes)
    assert len(world.writes) == len(set(world.writes))


@settings(max_examples=40)
@given(acyclic_entries())
def test_a_forced_pass_writes_everything_once_more_and_an_idle_one_nothing(
    entries: list[Entry],
) -> None:
    world = world_of(entries)
    for force in (False, True, False):
        world.writes.clear()
        while (step := world.step(force=force)).writes:
            for write in step.writes:
                world.take(write, READY)
        world.next_pass()
    assert world.writes == []
    while (step := world.step(force=True)).writes:
        for write in step.writes:
            world.take(write, READY)
    assert sorted(world.writes) == sorted(entry.id for entry in entries)


def test_independent_resources_are_written_in_one_step() -> None:
    world = world_of([Entry("a"), Entry("b"), Entry("c", ("a",))])
    assert [write.id for write in world.step().writes] == ["a", "b"]


def test_a_dependent_waits_and_says_for_what() -> None:
    world = world_of([Entry("a"), Entry("b", ("a",))])
    world.take(world.step().writes[0], STARTING)
    _, waiting = world.step().outcomes
    assert (waiting.state, waiting.reason) == (S.WAITING, "DependencyNotReady")
    assert waiting.message == 'waiting for dependency "a" to become ready'


def test_with_skipping_off_it_is_written_in_spite_of_a_failure() -> None:
    world = world_of([Entry("a"), Entry("b", ("a",))], skip_on_dependency_failure=False)
    world.refuse(world.step().writes[0], WriteRejection("no"))
    _, proceeding = world.step().outcomes
    assert proceeding.failed_dependency == "a"
    assert proceeding.write is not None


def test_the_nearest_deadline_is_when_to_look_again() -> None:
    world = Cluster(
        [
            a_resource("slow", name_template="x", timeout_seconds=600),
            a_resource("fast", name_template="y", timeout_seconds=20),
        ]
    )
    for write in world.step().writes:
        world.take(write, STARTING)
    assert world.step(NOW + timedelta(seconds=5)).requeue_at == NOW + timedelta(seconds=20)


def test_of_two_entries_for_one_object_the_first_has_it() -> None:
    world = Cluster([a_resource("a", name_template="x"), a_resource("b", name_template="x")])
    step = world.step()
    assert [write.id for write in step.writes] == ["a"]
    assert step.outcomes[1].reason == "DuplicateObject"
    assert step.outcomes[1].message == (
        'ConfigMap shop/x is also rendered by "a"; rename one of them'
    )


def test_a_node_without_resources_has_no_step() -> None:
    assert Cluster([]).step() == ReconcileStep(())
