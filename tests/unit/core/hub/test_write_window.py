"""The number of writes of a hub in flight follows the answers of the API server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.hub.write_window import MAX_WINDOW, MIN_WINDOW, SHORT_WRITE, WriteWindow

QUICK, LONG = 0.01, SHORT_WRITE + 0.001


def window_after(*seconds: float, size: int = MAX_WINDOW) -> int:
    window = WriteWindow(size, QUICK)
    for duration in seconds:
        window.record(duration)
    return window.size


def test_new_window_is_small_and_opens_within_28_quick_writes() -> None:
    window = WriteWindow()
    assert (window.size, MAX_WINDOW, MIN_WINDOW) == (4, 32, 2)
    for _ in range(28):
        window.record(QUICK)
    assert window.size == MAX_WINDOW


def test_long_write_halves_the_window() -> None:
    assert window_after(SHORT_WRITE) == 32
    assert window_after(LONG) == 16
    assert window_after(LONG, size=3) == 2


def test_first_write_has_nothing_to_be_compared_with() -> None:
    window = WriteWindow(8)
    window.record(0.5)
    assert window.size == 9


def test_writes_sent_before_the_cut_do_not_halve_it_again() -> None:
    assert window_after(*[LONG] * 33) == 16
    assert window_after(*[LONG] * 34) == 8


def test_quick_write_widens_the_window() -> None:
    assert window_after(QUICK, size=4) == 5
    assert window_after(QUICK, QUICK, size=MAX_WINDOW - 1) == MAX_WINDOW


def test_quick_writes_are_answers_to_writes_from_before_the_cut_too() -> None:
    assert window_after(LONG, QUICK, QUICK, QUICK, QUICK, size=4) == 6
    assert window_after(LONG, QUICK, QUICK, QUICK, LONG, size=4) == 5
    assert window_after(LONG, QUICK, QUICK, QUICK, QUICK, LONG, size=4) == 3


def test_long_write_in_the_smallest_window_is_the_new_measure() -> None:
    assert window_after(1.0, size=MIN_WINDOW) == MIN_WINDOW
    assert window_after(1.0, 1.25, size=MIN_WINDOW) == MIN_WINDOW + 1
    assert window_after(1.0, 1.26, size=MIN_WINDOW) == MIN_WINDOW


def test_quicker_write_is_the_new_measure() -> None:
    window = WriteWindow(8, 1.0)
    window.record(0.3)
    window.record(0.7)
    assert window.size == 4


def test_nodes_that_wait_for_their_reconcile_narrow_the_window() -> None:
    window = WriteWindow(8)
    limits = [window.limit(backlog, max_backlog=20) for backlog in (0, 12, 13, 19, 20, 30)]
    assert limits == [8, 8, 7, 1, 0, 0]


@given(st.lists(st.floats(0, 60)))
def test_window_stays_within_its_bounds(durations: list[float]) -> None:
    window = WriteWindow()
    for duration in durations:
        window.record(duration)
        assert MIN_WINDOW <= window.size <= MAX_WINDOW


def simulate(latency: float, rate: float) -> list[int]:
    """Return the sizes in a model: each write takes a while, and `rate` are done a second."""
    window, sizes = WriteWindow(), []
    for _ in range(3000):
        window.record(max(latency, window.size / rate))
        sizes.append(window.size)
    return sizes[-500:]


@pytest.mark.parametrize("rate", [20, 60, 400])
def test_window_settles_where_writes_hardly_wait_for_each_other(rate: int) -> None:
    sizes = simulate(0.01, rate)
    # The quickest of the first four writes has waited for three others.
    assert max(sizes) <= min(MAX_WINDOW, rate * max(SHORT_WRITE, 1.25 * 4 / rate) + 1)
    assert min(sizes) >= min(MAX_WINDOW, rate * SHORT_WRITE) // 2


@pytest.mark.parametrize("latency", [0.3, 1.0, 10.0])
def test_delay_that_does_not_depend_on_the_window_leaves_it_open(latency: float) -> None:
    assert min(simulate(latency, 10_000)) == MAX_WINDOW
    window = WriteWindow(MAX_WINDOW, QUICK)
    for _ in range(500):
        window.record(latency)
    assert window.size == MAX_WINDOW
