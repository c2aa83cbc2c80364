"""Phase, times, message and recheck time of a rollout."""

import dataclasses
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from lynq.api import Rollout, RolloutPhase, RolloutStatus
from lynq.core.rollout.facts import NodeFacts
from lynq.core.rollout.progress import RolloutAssessment, assess
from unit.core.rollout.nodes import CURRENT, NOON, at, ready, unready

OLD = CURRENT - 1
LIMITED = Rollout(max_skew=2, progress_deadline_seconds=600)
IDLE, IN_PROGRESS, FAILED, COMPLETE = RolloutPhase
FAILED_MESSAGE = (
    "0 of 5 nodes are ready with generation 7; no progress for 600 s; "
    "correct the form or the rows of a, b, c and 2 more"
)


def assessed(
    nodes: Sequence[NodeFacts], previous: RolloutStatus | None = None, *, now: float = 0
) -> RolloutAssessment:
    return assess(nodes, previous, generation=CURRENT, rollout=LIMITED, now=at(now))


def status_of(
    nodes: Sequence[NodeFacts], previous: RolloutStatus | None = None, *, now: float = 0
) -> RolloutStatus:
    status = assessed(nodes, previous, now=now).status
    assert status is not None
    return status


def in_progress(since: float, *, generation: int = CURRENT) -> RolloutStatus:
    return RolloutStatus(phase=IN_PROGRESS, target_generation=generation, start_time=at(since))


@pytest.mark.parametrize("rollout", [None, Rollout()], ids=["no block", "maxSkew 0"])
def test_unlimited_rollout_has_no_status(rollout: Rollout | None) -> None:
    nodes = [unready("a", written=-9999)]
    assessment = assess(nodes, None, generation=CURRENT, rollout=rollout, now=NOON)
    assert assessment == RolloutAssessment(None, None)


@pytest.mark.parametrize(
    ("nodes", "phase", "counts"),
    [
        pytest.param([], IDLE, (0, 0, 0, 0), id="no nodes"),
        pytest.param([ready("a", form=OLD)], IDLE, (1, 0, 0, 0), id="none updated"),
        pytest.param([ready("a", form=None)], IDLE, (1, 0, 0, 0), id="no annotation"),
        pytest.param([unready("a"), ready("b", form=OLD)], IN_PROGRESS, (2, 1, 1, 0), id="started"),
        pytest.param([ready("a"), ready("b", form=OLD)], IN_PROGRESS, (2, 1, 0, 1), id="half done"),
        pytest.param([ready("a"), unready("b")], IN_PROGRESS, (2, 2, 1, 1), id="last one updating"),
        pytest.param([ready("a"), ready("b")], COMPLETE, (2, 2, 0, 2), id="complete"),
        pytest.param(
            [ready("a"), unready("b", paused=True)], IN_PROGRESS, (2, 2, 0, 1), id="one is paused"
        ),
    ],
)
def test_phase_and_counts(
    nodes: list[NodeFacts], phase: RolloutPhase, counts: tuple[int, int, int, int]
) -> None:
    status = status_of(nodes)
    assert status.phase is phase
    assert status.target_generation == CURRENT
    assert counts == (
        status.total_nodes,
        status.updated_nodes,
        status.updating_nodes,
        status.ready_updated_nodes,
    )


class TestStartAndCompletion:
    def test_rollout_starts_now_and_keeps_start_time(self) -> None:
        first = status_of([unready("a")], now=0)
        assert (first.start_time, first.completion_time) == (at(0), None)
        assert status_of([unready("a"), ready("b")], first, now=30).start_time == at(0)

    def test_new_generation_restarts_rollout(self) -> None:
        before = in_progress(since=-500, generation=OLD)
        assert status_of([unready("a")], before).start_time == at(0)

    def test_completion_time_is_kept(self) -> None:
        done = status_of([ready("a")], in_progress(since=-30), now=0)
        assert (done.start_time, done.completion_time) == (at(-30), at(0))
        assert status_of([ready("a")], done, now=500) == done

    def test_new_row_after_completion_starts_new_rollout(self) -> None:
        done = status_of([ready("a")], in_progress(since=-30), now=0)
        again = status_of([ready("a"), unready("b", written=900)], done, now=900)
        assert (again.phase, again.start_time, again.completion_time) == (
            IN_PROGRESS,
            at(900),
            None,
        )
        redone = status_of([ready("a"), ready("b", written=900)], again, now=960)
        assert (redone.start_time, redone.completion_time) == (at(900), at(960))

    def test_completion_time_of_another_generation_is_not_kept(self) -> None:
        done = status_of([ready("a")], in_progress(since=-30), now=0)
        before = replace(done, target_generation=OLD)
        assert status_of([ready("a")], before, now=500).completion_time == at(500)

    def test_deleted_node_changes_no_times(self) -> None:
        done = status_of([ready("a"), ready("b")], in_progress(since=-30), now=0)
        smaller = status_of([ready("a")], done, now=50)
        assert (smaller.start_time, smaller.completion_time) == (at(-30), at(0))

    def test_no_start_time_without_nodes(self) -> None:
        empty = status_of([], in_progress(since=-30))
        assert (empty.start_time, empty.completion_time) == (None, None)
        assert status_of([unready("a", written=40)], empty, now=40).start_time == at(40)


class TestDeadline:
    """progressDeadlineSeconds is 600."""

    @pytest.mark.parametrize(
        ("now", "phase"), [(599.9, IN_PROGRESS), (600, FAILED), (9999, FAILED)]
    )
    def test_failed_when_node_misses_deadline(self, now: float, phase: RolloutPhase) -> None:
        nodes = [unready("a", written=0), ready("b", form=OLD)]
        assert status_of(nodes, in_progress(since=0), now=now).phase is phase

    def test_ready_node_restarts_deadline_while_others_wait(self) -> None:
        nodes = [unready("a", written=0), ready("b", written=10, since=500), ready("c", form=OLD)]
        assert status_of(nodes, in_progress(since=0), now=1099).phase is IN_PROGRESS
        assert status_of(nodes, in_progress(since=0), now=1100).phase is FAILED

    def test_other_rows_do_not_postpone_deadline_once_all_are_updated(self) -> None:
        nodes = [unready("a", written=0), ready("b", written=590, since=595)]
        assert status_of(nodes, in_progress(since=0), now=600).phase is FAILED

    def test_node_that_is_unsettled_longest_decides(self) -> None:
        nodes = [unready("a", written=0), unready("b", written=500)]
        assert status_of(nodes, in_progress(since=0), now=600).phase is FAILED

    def test_deadline_of_node_without_times_counts_from_start(self) -> None:
        unknown = dataclasses.replace(unready("a"), written_at=None, ready_changed_at=None)
        assert status_of([unknown], in_progress(since=0), now=599).phase is IN_PROGRESS
        assert status_of([unknown], in_progress(since=0), now=600).phase is FAILED

    def test_deadline_of_node_that_breaks_later_counts_from_then(self) -> None:
        done = status_of([ready("a"), ready("b")], in_progress(since=-50), now=-40)
        nodes = [ready("a"), unready("b", written=-100, since=5000)]
        broken = status_of(nodes, done, now=5000)
        assert broken.phase is IN_PROGRESS
        assert status_of(nodes, broken, now=5599).phase is IN_PROGRESS
        assert status_of(nodes, broken, now=5600).phase is FAILED

    def test_deadline_of_node_broken_before_counts_from_start(self) -> None:
        nodes = [unready("a", form=OLD, written=-9999)]
        first = status_of(nodes, in_progress(since=-9000, generation=OLD), now=0)
        assert first.phase is IDLE
        assert status_of(nodes, first, now=600).phase is FAILED

    def test_failed_rollout_continues_when_node_is_repaired(self) -> None:
        failed = status_of([unready("a", written=0)], in_progress(since=0), now=700)
        assert failed.phase is FAILED
        repaired = status_of([unready("a", written=700)], failed, now=701)
        assert repaired.phase is IN_PROGRESS
        done = status_of([ready("a", written=700, since=730)], repaired, now=730)
        assert (done.phase, done.start_time) == (COMPLETE, at(0))

    def test_new_generation_restarts_deadline(self) -> None:
        failed = replace(in_progress(since=0, generation=OLD), phase=FAILED)
        nodes = [unready("a", form=OLD, written=0), unready("b", written=700)]
        assert status_of(nodes, failed, now=700).phase is IN_PROGRESS

    def test_waiting_nodes_alone_do_not_fail(self) -> None:
        nodes = [ready("a"), ready("b", form=OLD)]
        assert status_of(nodes, in_progress(since=0), now=99_999).phase is IN_PROGRESS

    def test_paused_node_does_not_fail(self) -> None:
        nodes = [unready("a", written=0, paused=True)]
        assert status_of(nodes, in_progress(since=0), now=99_999).phase is IN_PROGRESS


class TestRecheck:
    def test_at_the_deadline(self) -> None:
        nodes = [unready("a", written=0)]
        assert assessed(nodes, in_progress(since=0), now=10).recheck_at == at(600)

    def test_when_grace_ends(self) -> None:
        nodes = [unready("a", written=0), ready("b", written=9)]
        assert assessed(nodes, in_progress(since=0), now=10).recheck_at == at(11)

    @pytest.mark.parametrize(
        "nodes",
        [[], [ready("a")], [unready("a", written=-700)], [unready("a", written=-600)]],
        ids=["none", "settled", "past the deadline", "at the deadline"],
    )
    def test_none_if_only_an_event_changes_state(self, nodes: list[NodeFacts]) -> None:
        assert assessed(nodes, in_progress(since=-700)).recheck_at is None


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([], "form has no nodes"),
        ([ready("a", form=OLD)], "0 of 1 nodes are ready with generation 7"),
        (
            [unready("b"), unready("a"), ready("c")],
            "1 of 3 nodes are ready with generation 7; not ready yet: a, b",
        ),
        ([ready("a"), ready("b")], "all nodes are ready with generation 7"),
        (
            [unready(name, written=-700) for name in "edcba"],
            FAILED_MESSAGE,
        ),
    ],
)
def test_message_names_nodes_that_hold_slots(nodes: list[NodeFacts], message: str) -> None:
    assert status_of(nodes, in_progress(since=-700)).message == message
