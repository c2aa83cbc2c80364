"""The readiness deadline; the time is an argument."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.readiness.verdict import countdown

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STARTED = "2026-01-01T12:00:00Z"


def after(seconds: float, started: str = STARTED, timeout: int = 300) -> tuple[float, bool]:
    now = NOON + timedelta(seconds=seconds)
    time = countdown(started, timeout, now=now, default_start=NOON + timedelta(seconds=60))
    return time.remaining, time.has_expired


@pytest.mark.parametrize(
    ("seconds", "remaining", "has_expired"),
    [(0, 300, False), (10, 290, False), (299.5, 0.5, False), (300, 0, True), (999, 0, True)],
)
def test_deadline_is_exact(seconds: float, remaining: float, *, has_expired: bool) -> None:
    assert after(seconds) == (remaining, has_expired)


@pytest.mark.parametrize("timeout", [0, -1])
def test_missing_timeout_is_five_minutes(timeout: int) -> None:
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
def test_start_in_go_and_python_format_is_parsed(started: str) -> None:
    assert after(100, started) == (200, False)


@pytest.mark.parametrize(
    "started", ["", "yesterday", "2026-01-01T12:00:00", "2026-99-01T12:00:00Z"]
)
def test_malformed_start_falls_back_to_default(started: str) -> None:
    assert after(100, started) == (260, False)


def test_start_in_future_counts_as_now() -> None:
    assert after(-100) == (300, False)


def test_elapsed_and_timeout_are_returned() -> None:
    time = countdown(STARTED, 5, now=NOON + timedelta(seconds=6.5), default_start=NOON)
    assert (time.elapsed, time.timeout) == (6.5, 5)


@given(st.one_of(st.text(), st.datetimes().map(lambda moment: f"{moment.isoformat()}Z")))
def test_any_annotation_gives_countdown(started: str) -> None:
    remaining, has_expired = after(0, started)
    assert 0 <= remaining <= 300
    assert has_expired == (remaining == 0)


@pytest.mark.parametrize(
    ("lost_at", "elapsed"),
    [(None, 60.0), (NOON + timedelta(seconds=50), 10.0), (NOON - timedelta(seconds=50), 60.0)],
)
def test_lost_readiness_restarts_the_countdown(lost_at: datetime | None, elapsed: float) -> None:
    now = NOON + timedelta(seconds=60)
    assert countdown(STARTED, 300, now=now, default_start=now, lost_at=lost_at).elapsed == elapsed
