"""The guard's memory: deletions of a window count together, and a hold is sticky."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from lynq.api import DeletionGuard, DeletionGuardStatus, DeletionPeriod
from lynq.api.hub import MAX_DELETION_PERIODS
from lynq.core.guard.approval import Approval, digest_of
from lynq.core.guard.deletion import (
    GuardOutcome,
    GuardVerdict,
    count_deletions,
    evaluate_deletion,
    held_message,
)
from lynq.core.guard.window import CountedDeletions

GUARD = DeletionGuard()
WINDOW = timedelta(minutes=10)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


class Hub:
    """A hub whose nodes are deleted as far as the guard allows; its status outlives restarts."""

    def __init__(
        self, nodes: int, guard: DeletionGuard = GUARD, window: timedelta = WINDOW
    ) -> None:
        self.guard = guard
        self.window = window
        self.nodes = {f"n{number:04}": f"uid-{number}" for number in range(nodes)}
        self.status: DeletionGuardStatus | None = None
        self.held = False
        self.removed: list[tuple[datetime, int]] = []

    def evaluate(
        self, missing: Iterable[str], now: datetime, *, approval: str = ""
    ) -> GuardVerdict:
        to_delete = {name: self.nodes[name] for name in missing if name in self.nodes}
        return evaluate_deletion(
            self.guard,
            existing=self.nodes.keys(),
            to_delete=to_delete,
            held=self.held,
            counted=CountedDeletions.within(self.status, self.window, now),
            approval=Approval.resolve(approval, to_delete),
        )

    def sync(self, missing: Iterable[str], now: datetime, *, approval: str = "") -> GuardVerdict:
        """Delete the nodes of missing rows if the guard allows it."""
        verdict = self.evaluate(missing, now, approval=approval)
        self.held = verdict.outcome is GuardOutcome.HELD
        self.count(verdict.deletable, verdict, now)
        for name in verdict.deletable:
            del self.nodes[name]
        if verdict.outcome is GuardOutcome.ALLOWED:
            self.removed.append((now, len(verdict.deletable)))
        return verdict

    def count(self, names: Iterable[str], verdict: GuardVerdict, now: datetime) -> None:
        uids = [self.nodes[name] for name in names]
        self.status = count_deletions(self.status, verdict, uids, window=self.window, now=now)

    def first(self, count: int) -> list[str]:
        return sorted(self.nodes)[:count]


def counts(status: DeletionGuardStatus | None) -> list[int]:
    return [period.deleted for period in status.periods] if status else []


def test_deletions_of_a_window_count_together() -> None:
    hub = Hub(100)
    for second in range(30):
        assert hub.sync(hub.first(1), at(second)).outcome is GuardOutcome.ALLOWED
    verdict = hub.sync(hub.first(1), at(30))
    assert verdict.outcome is GuardOutcome.HELD
    assert "30 more were deleted within 10m" in held_message(verdict, GUARD)
    assert held_message(verdict, GUARD).endswith(f"1 node, {verdict.digest}")


def test_share_is_that_of_the_nodes_at_the_beginning_of_the_window() -> None:
    hub = Hub(100)
    hub.sync(hub.first(20), at(0))
    # 10 of the 80 that are left are few, 30 of the 100 at the beginning are the limit.
    assert hub.evaluate(hub.first(10), at(1)).outcome is GuardOutcome.ALLOWED
    assert hub.evaluate(hub.first(11), at(1)).outcome is GuardOutcome.HELD


def test_nodes_that_went_for_another_reason_do_not_raise_the_limit() -> None:
    hub = Hub(100)
    hub.sync(hub.first(1), at(0))
    for name in hub.first(79):
        del hub.nodes[name]
    # 20 are left of the 21 that neither went with their form nor were approved.
    assert hub.evaluate(hub.first(9), at(1)).outcome is GuardOutcome.ALLOWED
    assert hub.evaluate(hub.first(10), at(1)).outcome is GuardOutcome.HELD


def test_new_nodes_do_not_raise_the_limit() -> None:
    hub = Hub(20)
    hub.sync(hub.first(1), at(0))
    hub.nodes |= {f"new{number}": f"new-uid-{number}" for number in range(1000)}
    assert hub.evaluate(hub.first(10), at(1)).outcome is GuardOutcome.HELD


def test_deletions_start_at_zero_once_the_window_has_passed() -> None:
    hub = Hub(20)
    hub.sync(hub.first(10), at(0))
    assert hub.evaluate(hub.first(5), at(600)).outcome is GuardOutcome.HELD
    assert hub.evaluate(hub.first(5), at(600 + 62)).outcome is GuardOutcome.ALLOWED


def test_approved_deletions_do_not_count() -> None:
    hub = Hub(40)
    missing = hub.first(20)
    assert hub.sync(missing, at(0)).outcome is GuardOutcome.HELD
    assert hub.sync(missing, at(1), approval=digest_of(missing)).outcome is GuardOutcome.APPROVED
    assert hub.status is None
    assert hub.sync(hub.first(10), at(2)).outcome is GuardOutcome.ALLOWED


def test_disabled_guard_neither_holds_nor_continues_a_hold() -> None:
    hub = Hub(40, DeletionGuard(disabled=True))
    hub.held = True
    assert hub.sync(hub.first(40), at(0)).outcome is GuardOutcome.ALLOWED


def test_hold_lasts_until_no_row_is_missing() -> None:
    hub = Hub(15)
    everything = hub.first(15)
    assert hub.sync(everything, at(0)).outcome is GuardOutcome.HELD
    for missing in (10, 5, 1):
        verdict = hub.sync(everything[:missing], at(3600))
        assert verdict.outcome is GuardOutcome.HELD
        assert "a hold ends when no row is missing" in held_message(verdict, GUARD)
    assert hub.sync([], at(3600)).outcome is GuardOutcome.ALLOWED
    assert hub.sync(everything[:1], at(3600)).outcome is GuardOutcome.ALLOWED


def test_hold_ends_with_the_approval_of_what_is_missing() -> None:
    hub = Hub(15)
    everything = hub.first(15)
    hub.sync(everything, at(0))
    assert hub.sync(everything[:9], at(1), approval=digest_of(everything)).held
    assert len(hub.sync(everything[:9], at(2), approval=digest_of(everything[:9])).deletable) == 9
    assert hub.sync(hub.first(1), at(3)).outcome is GuardOutcome.ALLOWED


def test_repeated_attempts_count_once() -> None:
    hub = Hub(20)
    missing = hub.first(8)
    for second in (0, 1, 59, 120, 300):
        verdict = hub.evaluate(missing, at(second))
        assert verdict.outcome is GuardOutcome.ALLOWED
        hub.count(missing, verdict, at(second))
        assert counts(hub.status) == [8]
    assert hub.evaluate(hub.first(11), at(301)).outcome is GuardOutcome.HELD


def test_deletion_counts_from_its_last_attempt() -> None:
    hub = Hub(20)
    missing = hub.first(8)
    hub.count(missing, hub.evaluate(missing, at(0)), at(0))
    hub.sync(missing, at(590))
    assert hub.evaluate(hub.first(3), at(1180)).outcome is GuardOutcome.HELD


def test_another_attempt_in_the_same_period_changes_no_status() -> None:
    hub = Hub(20)
    missing = hub.first(8)
    hub.count(missing, hub.evaluate(missing, at(0)), at(0))
    before = hub.status
    hub.count(missing[:3], hub.evaluate(missing, at(30)), at(30))
    assert hub.status is before


def test_node_that_returns_and_vanishes_again_counts_again() -> None:
    hub = Hub(20)
    for attempt in range(10):
        [name] = hub.first(1)
        assert hub.sync([name], at(attempt)).outcome is GuardOutcome.ALLOWED
        hub.nodes[name] = f"another-uid-{attempt}"
    assert hub.sync(hub.first(1), at(10)).outcome is GuardOutcome.HELD


def test_clock_that_was_set_back_delays_the_end_of_the_window_by_a_period_only() -> None:
    hub = Hub(20)
    hub.sync(hub.first(10), at(86400))
    assert hub.evaluate(hub.first(3), at(0)).outcome is GuardOutcome.HELD
    [period] = CountedDeletions.within(hub.status, WINDOW, at(0)).periods
    assert period.until == at(61)


def test_status_has_a_bounded_size() -> None:
    hub = Hub(20_000, DeletionGuard(max_percent=100))
    hub.sync(hub.first(8000), at(0))
    assert hub.status is not None
    assert sum(len(period.uids) for period in hub.status.periods) <= 40_000
    for window in (5, 36_000):
        hub.window = timedelta(seconds=window)
        for second in range(1, 30):
            hub.sync(hub.first(1), at(second + window))
    assert len(hub.status.periods) <= MAX_DELETION_PERIODS


STEPS = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 60), st.integers(0, 20)), min_size=1, max_size=25
)


@given(
    total=st.integers(0, 120),
    guard=st.builds(DeletionGuard, max_count=st.integers(0, 20), max_percent=st.integers(0, 100)),
    steps=STEPS,
)
def test_no_window_has_more_unapproved_deletions_than_the_limits(
    total: int, guard: DeletionGuard, steps: list[tuple[int, int, int]]
) -> None:
    """Rows vanish, return and are added at any pace; the process keeps nothing but the status."""
    hub = Hub(total, guard)
    most = total
    now = NOON
    for number, (pause, missing, added) in enumerate(steps):
        now += timedelta(seconds=pause)
        hub.nodes |= {f"x{number}-{each}": f"uid-{number}-{each}" for each in range(added)}
        most = max(most, len(hub.nodes))
        hub.sync(hub.first(missing), now)
    for end, _ in hub.removed:
        deleted = sum(count for time, count in hub.removed if end - WINDOW < time <= end)
        assert deleted <= guard.max_count or deleted * 100 <= guard.max_percent * most


@given(
    total=st.integers(0, 200),
    guard=st.builds(DeletionGuard, max_count=st.integers(0, 20), max_percent=st.integers(0, 100)),
    missing=st.lists(st.integers(0, 40), max_size=20),
)
def test_limits_hold_against_the_nodes_at_the_beginning(
    total: int, guard: DeletionGuard, missing: list[int]
) -> None:
    hub = Hub(total, guard)
    for second, count in enumerate(missing):
        hub.sync(hub.first(count), at(second))
    deleted = sum(count for _, count in hub.removed)
    assert deleted <= guard.max_count or deleted * 100 <= guard.max_percent * total


@given(st.lists(st.sets(st.integers(0, 29)), min_size=1, max_size=10))
def test_held_node_is_not_deleted_before_its_row_was_back(reads: list[set[int]]) -> None:
    hub = Hub(30)
    everything = hub.first(30)
    assert hub.sync(everything, NOON).held
    is_held_since = set(everything)
    for second, missing in enumerate(reads):
        names = {everything[number] for number in missing} & hub.nodes.keys()
        verdict = hub.sync(names, at(3600 * second))
        assert is_held_since.isdisjoint(verdict.deletable)
        is_held_since = set(verdict.held)


def test_periods_keep_their_order_and_drop_what_is_too_old() -> None:
    status = DeletionGuardStatus(
        periods=(
            DeletionPeriod(until=at(-600), nodes=9, deleted=1),
            DeletionPeriod(until=at(-599), nodes=8, deleted=2),
            DeletionPeriod(until=at(30), nodes=6, deleted=3),
        )
    )
    counted = CountedDeletions.within(status, WINDOW, NOON)
    assert [period.nodes for period in counted.periods] == [8, 6]
    assert counted.count == 5
    assert counted.nodes_at_start(100, []) == 8


def attempted(*uids: str, seconds: float = 0, nodes: int = 100) -> CountedDeletions:
    return CountedDeletions().add(uids, nodes=nodes, window=WINDOW, now=at(seconds))


def test_period_ends_at_a_whole_second_after_its_length() -> None:
    assert attempted("a", seconds=0.5).periods[0].until == at(61)


def test_period_that_ended_takes_no_further_deletion() -> None:
    counted = attempted("a")
    within = counted.add(["b"], nodes=99, window=WINDOW, now=at(60.9))
    after = counted.add(["b"], nodes=99, window=WINDOW, now=at(61))
    assert [period.deleted for period in within.periods] == [2]
    assert [(period.deleted, period.nodes) for period in after.periods] == [(1, 100), (1, 99)]


def test_another_attempt_moves_a_node_to_the_latest_period() -> None:
    counted = attempted("a", "b", "c").add(["c", "d"], nodes=99, window=WINDOW, now=at(90))
    assert [period.deleted for period in counted.periods] == [2, 2]
    assert counted.uncounted(["a", "b", "c", "d", "e"]) == 1


def test_nodes_that_were_attempted_before_are_not_added_to_the_nodes_that_exist() -> None:
    assert attempted("a", "b").nodes_at_start(20, ["a", "b", "c"]) == 20
    assert attempted("a", "b").nodes_at_start(20, ["c"]) == 22


def test_last_of_too_many_periods_is_extended() -> None:
    periods = tuple(
        DeletionPeriod(until=at(number), nodes=9, deleted=number + 1)
        for number in range(MAX_DELETION_PERIODS)
    )
    last = MAX_DELETION_PERIODS
    full = CountedDeletions(periods).add(["a"], nodes=5, window=WINDOW, now=at(100))
    assert full.periods[:-1] == periods[:-1]
    assert (full.periods[-1].until, full.periods[-1].deleted) == (at(161), last + 1)
    again = full.add(["b"], nodes=5, window=WINDOW, now=at(120))
    assert (again.periods[-1].until, again.periods[-1].deleted) == (at(161), last + 2)


def test_status_remembers_the_uids_of_5000_nodes() -> None:
    counted = attempted(*(f"a{number}" for number in range(4998)))
    for prefix in ("b", "c"):
        uids = [f"{prefix}{number}" for number in range(5)]
        counted = counted.add(uids, nodes=100, window=WINDOW, now=at(1))
    [period] = counted.periods
    assert (period.deleted, len(period.uids)) == (5008, 5000 * 8)


def test_counting_keeps_the_spent_approvals() -> None:
    hub = Hub(20)
    hub.status = DeletionGuardStatus(spent_approvals=("0123456789abcdef",))
    hub.sync([], at(0))
    assert hub.status == DeletionGuardStatus(spent_approvals=("0123456789abcdef",))
    hub.sync(hub.first(1), at(1))
    assert (hub.status.spent_approvals, counts(hub.status)) == (("0123456789abcdef",), [1])
    hub.sync(hub.first(11), at(2), approval=digest_of(hub.first(11)))
    assert counts(hub.status) == [1]


def test_nothing_is_counted_without_deletions() -> None:
    hub = Hub(20)
    hub.sync([], at(0))
    assert hub.status is None
    hub.status = DeletionGuardStatus(periods=(DeletionPeriod(until=at(-9999), deleted=1),))
    before = hub.status
    hub.sync([], at(0))
    assert hub.status is before


def test_message_names_earlier_deletions_only_if_there_are_any() -> None:
    hub = Hub(30)
    assert "more were deleted" not in held_message(hub.evaluate(hub.first(11), at(0)), GUARD)
    hub.sync(hub.first(1), at(0))
    verdict = hub.evaluate(hub.first(11), at(1))
    assert ", 1 more were deleted within 10m, and the limits are" in held_message(verdict, GUARD)
    emptied = replace(hub.evaluate(hub.first(11), at(1)), emptied=True)
    assert "more were deleted" not in held_message(emptied, GUARD)
    hub.held = True
    continued = hub.evaluate(hub.first(1), at(1))
    assert not continued.exceeds
    assert "more were deleted" not in held_message(continued, GUARD)
