"""Rollouts in simulated time: maxSkew holds at every instant, and every rollout can end."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import RolloutPhase
from unit.core.rollout.nodes import at
from unit.core.rollout.simulation import DEADLINE, Cluster

NAMES = [f"tenant-{number}-web" for number in range(6)]
Happening = Callable[[Cluster], None]


def form_change(bad: bool) -> Happening:  # noqa: FBT001
    return lambda world: world.change_form(bad=bad)


def row_change(name: str, bad: bool) -> Happening:  # noqa: FBT001
    return lambda world: world.change_row(name, bad=bad)


def row_removal(name: str) -> Happening:
    return lambda world: world.remove_row(name)


def wait(seconds: int) -> Happening:
    return lambda world: world.pass_time(seconds)


BAD = st.sampled_from([False, False, False, True])
HAPPENINGS = st.lists(
    st.builds(form_change, BAD)
    | st.builds(row_change, st.sampled_from(NAMES), BAD)
    | st.builds(row_removal, st.sampled_from(NAMES))
    | st.builds(wait, st.integers(1, 90)),
    max_size=25,
)


@st.composite
def worlds(draw: st.DrawFn) -> Cluster:
    acknowledges = draw(st.booleans())
    # Without an acknowledgement the grace of two seconds is all there is to go by.
    slowest = 15 if acknowledges else 1
    random = draw(st.randoms(use_true_random=False))
    return Cluster(
        max_skew=draw(st.integers(1, 4)),
        acknowledges=acknowledges,
        delays=lambda: (random.randint(0, slowest), random.randint(0, 20)),
    )


def look(world: Cluster) -> None:
    """Let the operator act, and see whether it kept its promises."""
    before = world.changing()
    world.operate()
    assert world.changing() <= max(world.max_skew, before)
    status = world.status
    assert status is not None
    assert status.updating_nodes <= world.max_skew
    if status.start_time is not None:
        assert status.start_time >= at(world.began)
    assert (status.completion_time is not None) == (status.phase is RolloutPhase.COMPLETE)
    if status.phase is RolloutPhase.FAILED:
        assert status.start_time is not None
        assert at(world.now - DEADLINE) >= status.start_time
        assert any(now_late(world, name) for name in world.nodes)


def now_late(world: Cluster, name: str) -> bool:
    node = world.nodes[name]
    return not node.is_ready and world.now - node.written >= DEADLINE


def finish(world: Cluster) -> int:
    """Let time pass until all is done; return how long it took."""
    start = world.now
    while world.pending() or world.changing() or not is_complete(world):
        world.pass_time()
        look(world)
        assert world.now - start < 600, "a deadlock"
    return world.now - start


def settle(world: Cluster) -> None:
    """Give every tenant a good row, and let all of them become ready."""
    for name in NAMES:
        world.change_row(name, bad=False)
    look(world)
    finish(world)


def is_complete(world: Cluster) -> bool:
    assert world.status is not None
    done = RolloutPhase.COMPLETE if world.nodes else RolloutPhase.IDLE
    return world.status.phase is done


@given(worlds(), HAPPENINGS)
def test_max_skew_is_never_exceeded_and_a_good_form_always_gets_through(
    world: Cluster, happenings: list[Happening]
) -> None:
    settle(world)
    for happening in happenings:
        happening(world)
        look(world)
        assert world.changing() <= world.max_skew
    for name in sorted(world.bad_rows & world.rows.keys()):
        world.change_row(name, bad=False)
    world.change_form(bad=False)
    look(world)
    finish(world)


@given(worlds(), st.sets(st.sampled_from(NAMES), min_size=1))
def test_broken_nodes_are_repaired_by_their_own_rows(world: Cluster, broken: set[str]) -> None:
    for name in NAMES:
        world.change_row(name, bad=name in broken)
    for _ in range(60):
        world.pass_time(8)
        look(world)
    assert world.phases[-1] is RolloutPhase.FAILED
    for name in sorted(broken):
        world.change_row(name, bad=False)
    finish(world)


def rolled_out(max_skew: int) -> Cluster:
    """A world at rest, where a node takes four seconds for a change."""
    world = Cluster(max_skew=max_skew, acknowledges=True, delays=lambda: (1, 3))
    settle(world)
    return world


def test_a_row_that_changes_whenever_it_can_does_not_keep_a_form_from_the_others() -> None:
    world = rolled_out(max_skew=1)
    world.change_form(bad=False)
    for _ in range(4 * len(NAMES) + 4):
        if world.nodes[NAMES[0]].is_done(world.now):
            world.change_row(NAMES[0], bad=False)
        look(world)
        world.pass_time()
    assert {node.form for node in world.nodes.values()} == {world.generation}


@pytest.mark.parametrize("max_skew", [1, 2, 3])
def test_a_bad_form_stops_at_max_skew_nodes_and_the_next_one_repairs_them(max_skew: int) -> None:
    world = rolled_out(max_skew)
    world.change_form(bad=True)
    for _ in range(DEADLINE + 2):
        look(world)
        world.pass_time()
    assert world.phases[-1] is RolloutPhase.FAILED
    assert sum(node.form == 2 for node in world.nodes.values()) == max_skew
    world.change_form(bad=False)
    assert finish(world) <= 5 * len(NAMES)
