"""Simulated rollouts: maxSkew holds at every instant, and every rollout completes."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import RolloutPhase
from unit.core.rollout.nodes import at
from unit.core.rollout.simulation import DEADLINE, Cluster

NAMES = [f"tenant-{number}-web" for number in range(6)]
Change = Callable[[Cluster], None]


def form_change(bad: bool) -> Change:  # noqa: FBT001
    return lambda cluster: cluster.change_form(bad=bad)


def row_change(name: str, bad: bool) -> Change:  # noqa: FBT001
    return lambda cluster: cluster.change_row(name, bad=bad)


def row_removal(name: str) -> Change:
    return lambda cluster: cluster.remove_row(name)


def wait(seconds: int) -> Change:
    return lambda cluster: cluster.pass_time(seconds)


BAD = st.sampled_from([False, False, False, True])
CHANGES = st.lists(
    st.builds(form_change, BAD)
    | st.builds(row_change, st.sampled_from(NAMES), BAD)
    | st.builds(row_removal, st.sampled_from(NAMES))
    | st.builds(wait, st.integers(1, 90)),
    max_size=25,
)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    acknowledges = draw(st.booleans())
    # Without an acknowledgement, nodes must observe writes within the grace of two seconds.
    slowest = 15 if acknowledges else 1
    random = draw(st.randoms(use_true_random=False))
    return Cluster(
        max_skew=draw(st.integers(1, 4)),
        acknowledges=acknowledges,
        delays=lambda: (random.randint(0, slowest), random.randint(0, 20)),
    )


def reconcile(cluster: Cluster) -> None:
    """Reconcile once and check the invariants of a rollout."""
    cluster.operate()
    assert cluster.rolling_out() <= cluster.max_skew
    assert cluster.changing_rows() <= cluster.max_skew
    status = cluster.status
    assert status is not None
    assert status.updating_nodes <= cluster.max_skew
    if status.start_time is not None:
        assert status.start_time >= at(cluster.began)
    assert (status.completion_time is not None) == (status.phase is RolloutPhase.COMPLETE)
    if status.phase is RolloutPhase.FAILED:
        assert status.start_time is not None
        assert at(cluster.now - DEADLINE) >= status.start_time
        assert any(is_overdue(cluster, name) for name in cluster.nodes)


def is_overdue(cluster: Cluster, name: str) -> bool:
    node = cluster.nodes[name]
    return not node.is_ready and cluster.now - node.written >= DEADLINE


def finish(cluster: Cluster) -> int:
    """Advance time until the rollout is complete; return the seconds that it took."""
    start = cluster.now
    while cluster.pending() or cluster.changing() or not is_complete(cluster):
        cluster.pass_time()
        reconcile(cluster)
        assert cluster.now - start < 600, "a deadlock"
    return cluster.now - start


def settle(cluster: Cluster) -> None:
    """Give every tenant a valid row, and wait until all nodes are ready."""
    for name in NAMES:
        cluster.change_row(name, bad=False)
    reconcile(cluster)
    finish(cluster)


def is_complete(cluster: Cluster) -> bool:
    assert cluster.status is not None
    done = RolloutPhase.COMPLETE if cluster.nodes else RolloutPhase.IDLE
    return cluster.status.phase is done


@given(clusters(), CHANGES)
def test_max_skew_holds_and_valid_form_completes(cluster: Cluster, changes: list[Change]) -> None:
    settle(cluster)
    for change in changes:
        change(cluster)
        reconcile(cluster)
    for name in sorted(cluster.bad_rows & cluster.rows.keys()):
        cluster.change_row(name, bad=False)
    cluster.change_form(bad=False)
    reconcile(cluster)
    finish(cluster)


@given(clusters(), st.sets(st.sampled_from(NAMES), min_size=1))
def test_broken_nodes_are_repaired_by_their_rows(cluster: Cluster, broken: set[str]) -> None:
    for name in NAMES:
        cluster.change_row(name, bad=name in broken)
    for _ in range(60):
        cluster.pass_time(8)
        reconcile(cluster)
    assert cluster.phases[-1] is RolloutPhase.FAILED
    for name in sorted(broken):
        cluster.change_row(name, bad=False)
    finish(cluster)


def rolled_out(max_skew: int) -> Cluster:
    """Return a settled cluster where a node takes four seconds for a change."""
    cluster = Cluster(max_skew=max_skew, acknowledges=True, delays=lambda: (1, 3))
    settle(cluster)
    return cluster


def test_row_that_changes_constantly_does_not_starve_others() -> None:
    cluster = rolled_out(max_skew=1)
    cluster.change_form(bad=False)
    for _ in range(4 * len(NAMES) + 4):
        if cluster.nodes[NAMES[0]].is_done(cluster.now):
            cluster.change_row(NAMES[0], bad=False)
        reconcile(cluster)
        cluster.pass_time()
    assert {node.form for node in cluster.nodes.values()} == {cluster.generation}


@pytest.mark.parametrize("max_skew", [1, 2, 3])
def test_bad_form_stops_at_max_skew_and_next_form_repairs(max_skew: int) -> None:
    cluster = rolled_out(max_skew)
    cluster.change_form(bad=True)
    for _ in range(DEADLINE + 2):
        reconcile(cluster)
        cluster.pass_time()
    assert cluster.phases[-1] is RolloutPhase.FAILED
    assert sum(node.form == 2 for node in cluster.nodes.values()) == max_skew
    cluster.change_form(bad=False)
    assert finish(cluster) <= 5 * len(NAMES)


@pytest.mark.parametrize("max_skew", [1, 2])
def test_stuck_rollout_stops_no_row(max_skew: int) -> None:
    cluster = rolled_out(max_skew)
    cluster.change_form(bad=True)
    reconcile(cluster)
    cluster.pass_time(5)
    cluster.form_is_bad = False
    for name in NAMES[max_skew:]:
        cluster.change_row(name, bad=False)
    cluster.change_row("late-web", bad=False)
    for _ in range(5 * len(NAMES)):
        reconcile(cluster)
        cluster.pass_time()
    assert cluster.nodes["late-web"].is_ready


def test_broken_tenant_stops_neither_rows_nor_rollout() -> None:
    cluster = rolled_out(max_skew=1)
    cluster.change_row(NAMES[0], bad=True)
    reconcile(cluster)
    cluster.pass_time(5)
    cluster.change_row("late-web", bad=False)
    cluster.change_form(bad=False)
    for _ in range(5 * len(NAMES) + 5):
        reconcile(cluster)
        cluster.pass_time()
    others = [node for name, node in cluster.nodes.items() if name != NAMES[0]]
    assert len(others) == len(NAMES)
    assert all(node.is_ready and node.form == cluster.generation for node in others)
