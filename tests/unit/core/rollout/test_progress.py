"""The rollout's phase, its times, its words, and when to look again."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from lynq.api import Rollout, RolloutPhase, RolloutStatus
from lynq.core.rollout.facts import NodeFacts
from lynq.core.rollout.progress import RolloutAssessment, assess
from unit.core.rollout.nodes import NOON, PRESENT, at, ready, unready

OLD = PRESENT - 1
LIMITED = Rollout(max_skew=2, progress_deadline_seconds=600)
IDLE, IN_PROGRESS, FAILED, COMPLETE = RolloutPhase
FAILED_WORDS = (
    "0 of 5 nodes are ready with generation 7, none more for 600 s; "
    "correct the form or the rows of a, b, c and 2 more"
)


def assessed(
    nodes: Sequence[NodeFacts], previous: RolloutStatus | None = None, *, now: float = 0
) -> RolloutAssessment:
    return assess(nodes, previous, generation=PRESENT, rollout=LIMITED, now=at(now))


def status_of(
    nodes: Sequence[NodeFacts], previous: RolloutStatus | None = None, *, now: float = 0
) -> RolloutStatus:
    status = assessed(nodes, previous, now=now).status
    assert status is not None
    return status


def going_on(since: float, *, generation: int = PRESENT) -> RolloutStatus:
    return RolloutStatus(phase=IN_PROGRESS, target_generation=generation, start_time=at(since))


@pytest.mark.parametrize("rollout", [None, Rollout()], ids=["no block", "maxSkew 0"])
def test_an_unlimited_rollout_has_no_status(rollout: Rollout | None) -> None:
    nodes = [unready("a", written=-9999)]
    assessment = assess(nodes, None, generation=PRESENT, rollout=rollout, now=NOON)
    assert assessment == RolloutAssessment(None, None)


@pytest.mark.parametrize(
    ("nodes", "phase", "counts"),
    [
        pytest.param([], IDLE, (0, 0, 0, 0), id="no nodes"),
        pytest.param([ready("a", form=OLD)], IDLE, (1, 0, 0, 0), id="nobody has it"),
        pytest.param([ready("a", form=None)], IDLE, (1, 0, 0, 0), id="no annotation"),
        pytest.param([unready("a"), ready("b", form=OLD)], IN_PROGRESS, (2, 1, 1, 0), id="begun"),
        pytest.param([ready("a"), ready("b", form=OLD)], IN_PROGRESS, (2, 1, 0, 1), id="half done"),
        pytest.param([ready("a"), unready("b")], IN_PROGRESS, (2, 2, 1, 1), id="nearly done"),
        pytest.param([ready("a"), ready("b")], COMPLETE, (2, 2, 0, 2), id="done"),
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
    assert status.target_generation == PRESENT
    assert counts == (
        status.total_nodes,
        status.updated_nodes,
        status.updating_nodes,
        status.ready_updated_nodes,
    )


class TestStartAndCompletion:
    def test_a_rollout_starts_now_and_keeps_its_start(self) -> None:
        first = status_of([unready("a")], now=0)
        assert (first.start_time, first.completion_time) == (at(0), None)
        assert status_of([unready("a"), ready("b")], first, now=30).start_time == at(0)

    def test_a_new_generation_starts_anew(self) -> None:
        before = going_on(since=-500, generation=OLD)
        assert status_of([unready("a")], before).start_time == at(0)

    def test_it_is_completed_once(self) -> None:
        done = status_of([ready("a")], going_on(since=-30), now=0)
        assert (done.start_time, done.completion_time) == (at(-30), at(0))
        assert status_of([ready("a")], done, now=500) == done

    def test_a_new_row_after_that_is_a_rollout_of_its_own(self) -> None:
        done = status_of([ready("a")], going_on(since=-30), now=0)
        again = status_of([ready("a"), unready("b", written=900)], done, now=900)
        assert (again.phase, again.start_time, again.completion_time) == (
            IN_PROGRESS,
            at(900),
            None,
        )
        redone = status_of([ready("a"), ready("b", written=900)], again, now=960)
        assert (redone.start_time, redone.completion_time) == (at(900), at(960))

    def test_a_node_that_goes_changes_no_times(self) -> None:
        done = status_of([ready("a"), ready("b")], going_on(since=-30), now=0)
        smaller = status_of([ready("a")], done, now=50)
        assert (smaller.start_time, smaller.completion_time) == (at(-30), at(0))

    def test_without_nodes_there_is_no_start(self) -> None:
        empty = status_of([], going_on(since=-30))
        assert (empty.start_time, empty.completion_time) == (None, None)
        assert status_of([unready("a", written=40)], empty, now=40).start_time == at(40)


class TestDeadline:
    """progressDeadlineSeconds is 600."""

    @pytest.mark.parametrize(
        ("now", "phase"), [(599.9, IN_PROGRESS), (600, FAILED), (9999, FAILED)]
    )
    def test_failed_when_a_node_was_not_ready_in_time(
        self, now: float, phase: RolloutPhase
    ) -> None:
        nodes = [unready("a", written=0), ready("b", form=OLD)]
        assert status_of(nodes, going_on(since=0), now=now).phase is phase

    def test_while_nodes_wait_each_that_becomes_ready_starts_the_clock_anew(self) -> None:
        nodes = [unready("a", written=0), ready("b", written=10, since=500), ready("c", form=OLD)]
        assert status_of(nodes, going_on(since=0), now=1099).phase is IN_PROGRESS
        assert status_of(nodes, going_on(since=0), now=1100).phase is FAILED

    def test_once_all_are_started_changes_of_other_rows_hide_nothing(self) -> None:
        nodes = [unready("a", written=0), ready("b", written=590, since=595)]
        assert status_of(nodes, going_on(since=0), now=600).phase is FAILED

    def test_a_node_that_breaks_later_has_its_time_from_then(self) -> None:
        done = status_of([ready("a"), ready("b")], going_on(since=-50), now=-40)
        nodes = [ready("a"), unready("b", written=-100, since=5000)]
        broken = status_of(nodes, done, now=5000)
        assert broken.phase is IN_PROGRESS
        assert status_of(nodes, broken, now=5599).phase is IN_PROGRESS
        assert status_of(nodes, broken, now=5600).phase is FAILED

    def test_a_node_broken_before_the_rollout_has_its_time_from_its_start(self) -> None:
        nodes = [unready("a", form=OLD, written=-9999)]
        first = status_of(nodes, going_on(since=-9000, generation=OLD), now=0)
        assert first.phase is IDLE
        assert status_of(nodes, first, now=600).phase is FAILED

    def test_it_goes_on_when_the_node_is_repaired(self) -> None:
        failed = status_of([unready("a", written=0)], going_on(since=0), now=700)
        assert failed.phase is FAILED
        repaired = status_of([unready("a", written=700)], failed, now=701)
        assert repaired.phase is IN_PROGRESS
        done = status_of([ready("a", written=700, since=730)], repaired, now=730)
        assert (done.phase, done.start_time) == (COMPLETE, at(0))

    def test_a_new_generation_gives_new_time(self) -> None:
        failed = replace(going_on(since=0, generation=OLD), phase=FAILED)
        nodes = [unready("a", form=OLD, written=0), unready("b", written=700)]
        assert status_of(nodes, failed, now=700).phase is IN_PROGRESS

    def test_waiting_alone_is_no_failure(self) -> None:
        nodes = [ready("a"), ready("b", form=OLD)]
        assert status_of(nodes, going_on(since=0), now=99_999).phase is IN_PROGRESS

    def test_a_paused_node_is_no_failure(self) -> None:
        nodes = [unready("a", written=0, paused=True)]
        assert status_of(nodes, going_on(since=0), now=99_999).phase is IN_PROGRESS


class TestLookAgain:
    def test_at_the_deadline(self) -> None:
        nodes = [unready("a", written=0)]
        assert assessed(nodes, going_on(since=0), now=10).look_again == at(600)

    def test_when_a_node_may_have_settled_by_time(self) -> None:
        nodes = [unready("a", written=0), ready("b", written=9)]
        assert assessed(nodes, going_on(since=0), now=10).look_again == at(11)

    @pytest.mark.parametrize("nodes", [[], [ready("a")], [unready("a", written=-700)]], ids=len)
    def test_never_if_only_an_event_can_change_it(self, nodes: list[NodeFacts]) -> None:
        assert assessed(nodes, going_on(since=-700)).look_again is None


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([], "the form has no nodes"),
        ([ready("a", form=OLD)], "0 of 1 nodes are ready with generation 7"),
        (
            [unready("b"), unready("a"), ready("c")],
            "1 of 3 nodes are ready with generation 7; on the way: a, b",
        ),
        ([ready("a"), ready("b")], "all nodes are ready with generation 7"),
        (
            [unready(name, written=-700) for name in "edcba"],
            FAILED_WORDS,
        ),
    ],
)
def test_the_message_names_who_holds_it_up(nodes: list[NodeFacts], words: str) -> None:
    assert status_of(nodes, going_on(since=-700)).message == words
