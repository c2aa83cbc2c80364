"""How long an object may still take, with the time given."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.readiness.verdict import countdown

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STARTED = "2026-01-01T12:00:00Z"


def after(seconds: float, started: str = STARTED, timeout: int = 300) -> tuple[float, bool]:
    now = NOON + timedelta(seconds=seconds)
    found = countdown(started, timeout, now=now, otherwise=NOON + timedelta(seconds=60))
    return found.remaining, found.is_over


@pytest.mark.parametrize(
    ("seconds", "remaining", "is_over"),
    [(0, 300, False), (10, 290, False), (299.5, 0.5, False), (300, 0, True), (999, 0, True)],
)
def test_the_deadline_is_exact(seconds: float, remaining: float, *, is_over: bool) -> None:
    assert after(seconds) == (remaining, is_over)


@pytest.mark.parametrize("timeout", [0, -1])
def test_no_timeout_means_five_minutes(timeout: int) -> None:
    assert after(10, timeout=timeout) == (290, False)


@pytest.mark.parametrize(
    "started",
    [
        "2026-01-01T12:00:00+00:00",
        "2026-01-01T13:00:00+01:00",
        "2026-01-01T12:00:00.000000Z",
        "2026-01-01T12:00:00.000000000Z",
    ],
    ids=["offset", "another zone", "micro", "nano"],
)
def test_a_start_is_read_as_go_and_python_write_it(started: str) -> None:
    assert after(100, started) == (200, False)


@pytest.mark.parametrize(
    "started", ["", "yesterday", "2026-01-01T12:00:00", "2026-99-01T12:00:00Z"]
)
def test_without_a_readable_start_another_moment_stands_in(started: str) -> None:
    assert after(100, started) == (260, False)


def test_a_start_in_the_future_counts_as_now() -> None:
    assert after(-100) == (300, False)


def test_how_long_it_took_is_known() -> None:
    found = countdown(STARTED, 5, now=NOON + timedelta(seconds=6.5), otherwise=NOON)
    assert (found.elapsed, found.timeout) == (6.5, 5)


@given(st.one_of(st.text(), st.datetimes().map(lambda moment: f"{moment.isoformat()}Z")))
def test_whatever_the_annotation_there_is_a_countdown(started: str) -> None:
    remaining, is_over = after(0, started)
    assert 0 <= remaining <= 300
    assert is_over == (remaining == 0)
