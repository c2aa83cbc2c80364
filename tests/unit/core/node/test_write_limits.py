"""Writes of a slow kind are limited; quick kinds are not, and no node waits for ever."""

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.node.write_limits import WriteGroup, WriteLimits

LIMIT = 3
SLOW = 0.5
INGRESSES = WriteGroup("Ingress.networking.k8s.io", "shop/hub")
OTHER_HUB = WriteGroup("Ingress.networking.k8s.io", "shop/other")
SERVICES = WriteGroup("Service.", "shop/hub")


@dataclass
class Writes:
    """Writes in flight, with a clock."""

    limits: WriteLimits = field(default_factory=lambda: WriteLimits(LIMIT, SLOW))
    now: float = 1000.0
    in_flight: list[tuple[WriteGroup, int]] = field(default_factory=list)

    def send(self, group: WriteGroup, *, count: int = 1) -> int:
        """Send up to `count` writes; return how many were admitted."""
        for sent in range(count):
            if not self.admits(group):
                return sent
            self.in_flight.append((group, self.limits.start(group, self.now)))
        return count

    def answer(self, position: int = 0) -> None:
        group, number = self.in_flight.pop(position)
        self.limits.finish(group, number, self.now)

    def cancel(self) -> None:
        group, number = self.in_flight.pop()
        self.limits.finish(group, number, None)

    def admits(self, group: WriteGroup) -> bool:
        return self.limits.admits(group, self.now)

    def count(self, group: WriteGroup) -> int:
        return sum(each == group for each, _ in self.in_flight)


def slow_writes(group: WriteGroup = INGRESSES, *, count: int = LIMIT) -> Writes:
    """Return writes of a group that are all slow already."""
    writes = Writes()
    assert writes.send(group, count=count) == count
    writes.now += SLOW
    return writes


def test_quick_writes_are_not_limited() -> None:
    writes = Writes()
    assert writes.send(INGRESSES, count=100) == 100
    writes.now += SLOW - 0.01
    assert writes.admits(INGRESSES)


def test_slow_writes_are_limited() -> None:
    writes = slow_writes()
    assert writes.send(INGRESSES, count=10) == 0
    writes.answer()
    assert writes.send(INGRESSES, count=10) == 1


def test_no_kind_is_limited_while_status_writes_are_slow_as_well() -> None:
    writes = Writes()
    writes.limits.record_status_write(1.0, writes.now)
    assert writes.send(INGRESSES, count=LIMIT) == LIMIT
    writes.now += 3.9
    assert writes.send(INGRESSES, count=10) == 10
    writes.now += 0.1
    assert not writes.admits(INGRESSES)


def test_kind_is_limited_again_when_status_writes_are_quick() -> None:
    writes = Writes()
    writes.limits.record_status_write(10.0, writes.now)
    for _ in range(40):
        writes.limits.record_status_write(0.01, writes.now)
    assert writes.send(INGRESSES, count=LIMIT) == LIMIT
    writes.now += SLOW
    assert not writes.admits(INGRESSES)


@pytest.mark.parametrize(("pause", "is_limited"), [(0.0, False), (30.0, False), (30.1, True)])
def test_one_quick_status_write_ends_a_slow_time_only_after_a_pause(
    pause: float, *, is_limited: bool
) -> None:
    writes = Writes()
    writes.limits.record_status_write(10.0, writes.now)
    writes.now += pause
    writes.limits.record_status_write(0.01, writes.now)
    assert writes.send(INGRESSES, count=LIMIT) == LIMIT
    writes.now += SLOW
    assert writes.admits(INGRESSES) is not is_limited


def test_old_status_writes_say_nothing_about_the_api_server() -> None:
    writes = Writes()
    writes.limits.record_status_write(10.0, writes.now)
    assert writes.send(INGRESSES, count=LIMIT) == LIMIT
    writes.now += 30.0
    assert writes.admits(INGRESSES)
    writes.now += 0.1
    assert not writes.admits(INGRESSES)
    writes.limits.record_status_write(0.01, writes.now)
    assert not writes.admits(INGRESSES)


def test_other_kinds_are_not_limited() -> None:
    assert slow_writes().send(SERVICES, count=100) == 100


def test_slow_first_writes_admit_no_more_than_the_limit_afterwards() -> None:
    writes = slow_writes(count=10)
    for _ in range(10 - LIMIT + 1):
        assert writes.send(INGRESSES) == 0
        writes.answer()
    assert writes.send(INGRESSES, count=10) == 1


def test_quick_write_ends_the_limit_while_older_writes_are_slow() -> None:
    writes = slow_writes()
    writes.answer()
    assert writes.send(INGRESSES) == 1
    writes.answer(position=-1)
    assert writes.send(INGRESSES, count=100) == 100


def test_quick_writes_between_slow_ones_lift_no_limit_of_slow_ones() -> None:
    writes = slow_writes(count=LIMIT - 1)
    assert writes.send(INGRESSES, count=2) == 1
    writes.answer(position=-1)
    assert writes.send(INGRESSES) == 1
    writes.now += SLOW
    assert writes.send(INGRESSES) == 0


def test_slow_answer_of_an_older_write_limits_nothing_again() -> None:
    writes = slow_writes()
    writes.answer()
    writes.send(INGRESSES)
    writes.answer(position=-1)
    writes.answer()
    assert writes.send(INGRESSES, count=100) == 100


def test_late_write_counts_before_its_answer() -> None:
    writes = Writes()
    writes.send(INGRESSES)
    writes.answer()
    writes.now += 0.1
    writes.send(INGRESSES)
    writes.now += SLOW
    assert writes.limits.is_slow(INGRESSES, writes.now)


def test_slower_of_two_writes_sent_at_once_counts() -> None:
    writes = Writes()
    writes.send(INGRESSES, count=2)
    writes.answer()
    assert not writes.limits.is_slow(INGRESSES, writes.now)
    writes.now += SLOW
    assert writes.limits.is_slow(INGRESSES, writes.now)
    writes.answer()
    assert writes.limits.is_slow(INGRESSES, writes.now)


def test_latest_late_write_counts() -> None:
    writes = Writes()
    for _ in range(3):
        writes.send(INGRESSES)
        writes.now += 0.1
    writes.answer(position=1)
    writes.now += SLOW
    assert writes.limits.is_slow(INGRESSES, writes.now)


def test_canceled_write_proves_nothing() -> None:
    writes = slow_writes()
    writes.answer()
    writes.send(INGRESSES)
    writes.cancel()
    assert writes.limits.is_slow(INGRESSES, writes.now)
    assert not writes.limits.is_slow(SERVICES, writes.now)


def test_another_hub_has_one_write_of_a_slow_kind_at_once() -> None:
    writes = slow_writes()
    assert writes.limits.is_slow(OTHER_HUB, writes.now)
    assert writes.send(OTHER_HUB, count=10) == 1


def test_hub_whose_writes_are_quick_is_not_limited_by_another_one() -> None:
    writes = slow_writes()
    writes.send(OTHER_HUB)
    writes.answer(position=-1)
    assert writes.send(OTHER_HUB, count=100) == 100
    assert writes.send(INGRESSES) == 0


def test_writes_of_a_quick_hub_do_not_count_for_a_slow_one() -> None:
    writes = slow_writes(count=1)
    writes.send(OTHER_HUB)
    writes.answer(position=-1)
    assert writes.send(OTHER_HUB, count=5) == 5
    assert writes.send(INGRESSES, count=10) == LIMIT - 1


def test_hub_with_fewer_writes_in_flight_is_next() -> None:
    writes = slow_writes(count=1)
    waiting = {OTHER_HUB: 5, INGRESSES: 5}
    assert writes.limits.choose(waiting, writes.now) == {OTHER_HUB: 2}


def test_waiting_hubs_take_turns() -> None:
    writes = slow_writes(count=LIMIT)
    waiting = {INGRESSES: 5, OTHER_HUB: 5, SERVICES: 5}
    assert writes.limits.choose(waiting, writes.now) == {OTHER_HUB: 1, SERVICES: 5}
    writes.answer()
    writes.answer()
    chosen = writes.limits.choose(waiting, writes.now)
    assert chosen == {INGRESSES: 1, OTHER_HUB: 1, SERVICES: 5}


@pytest.mark.parametrize(("slow", "chosen"), [(LIMIT - 1, {INGRESSES: 5}), (LIMIT, {})])
def test_quick_group_waits_if_the_limit_of_slow_writes_is_reached(
    slow: int, chosen: dict[WriteGroup, int]
) -> None:
    writes = Writes()
    writes.send(INGRESSES, count=slow)
    writes.now += 0.1
    writes.send(INGRESSES)
    writes.answer(position=-1)
    writes.now += SLOW
    assert not writes.limits.is_slow(INGRESSES, writes.now)
    assert writes.limits.choose({INGRESSES: 5}, writes.now) == chosen


@pytest.mark.parametrize("waiting", [1, 2])
def test_no_more_slow_writes_are_chosen_than_wait(waiting: int) -> None:
    writes = slow_writes(count=1)
    writes.answer()
    assert writes.limits.choose({INGRESSES: waiting}, writes.now) == {INGRESSES: waiting}


def test_idle_hubs_are_forgotten() -> None:
    writes = Writes()
    writes.send(SERVICES)
    for number in range(3000):
        writes.send(WriteGroup("Service.", f"shop/{number}"))
        writes.answer(position=-1)
    hubs = writes.limits._groups["Service."]
    assert len(hubs) == 1000
    # One with a write in flight is not forgotten.
    writes.now += SLOW
    writes.answer()
    assert writes.limits.is_slow(SERVICES, writes.now)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send", "answer", "cancel", "wait"]),
        st.integers(min_value=0, max_value=5),
        st.sampled_from([INGRESSES, OTHER_HUB, SERVICES]),
    ),
    max_size=60,
)


def play(writes: Writes, steps: list[tuple[str, int, WriteGroup]]) -> None:
    for step, number, group in steps:
        if step == "send":
            writes.send(group, count=number)
        elif step == "wait":
            writes.now += number * 0.1
        elif writes.in_flight:
            writes.answer(number % len(writes.in_flight)) if step == "answer" else writes.cancel()


@given(STEPS)
def test_group_without_writes_in_flight_may_always_send(
    steps: list[tuple[str, int, WriteGroup]],
) -> None:
    """So every node is reconciled in the end: at the latest when the writes in flight end."""
    writes = Writes()
    play(writes, steps)
    for group in (INGRESSES, OTHER_HUB, SERVICES):
        assert writes.count(group) or writes.admits(group)


@given(STEPS)
def test_slow_groups_send_no_more_than_the_limit(steps: list[tuple[str, int, WriteGroup]]) -> None:
    writes = Writes()
    play(writes, steps)
    for group in (INGRESSES, OTHER_HUB, SERVICES):
        if writes.limits.is_slow(group, writes.now):
            before = writes.count(group)
            writes.send(group, count=100)
            assert writes.count(group) <= max(before, LIMIT, 1)


@given(STEPS, st.dictionaries(st.sampled_from([INGRESSES, OTHER_HUB, SERVICES]), st.integers(1, 9)))
def test_chosen_writes_are_waiting_and_admitted(
    steps: list[tuple[str, int, WriteGroup]], waiting: dict[WriteGroup, int]
) -> None:
    writes = Writes()
    play(writes, steps)
    chosen = Counter(writes.limits.choose(waiting, writes.now))
    assert all(0 < number <= waiting[group] for group, number in chosen.items())
    for group in sorted(chosen, key=writes.count):
        assert writes.send(group)
    # A group that waits alone is chosen, or has writes in flight.
    for group in waiting:
        assert group in chosen or writes.count(group)


@pytest.mark.parametrize("count", [1, LIMIT, 50])
def test_all_waiting_writes_are_chosen_when_the_kind_is_quick_again(count: int) -> None:
    writes = slow_writes()
    while writes.in_flight:
        writes.answer()
    writes.send(INGRESSES)
    writes.answer()
    assert writes.limits.choose({INGRESSES: count}, writes.now) == {INGRESSES: count}
