"""When a hub looks next."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.hub.schedule import retry_delay, sync_interval


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("5m", 300),
        ("1h", 3600),
        ("0s", 1),
        ("99999999h", 10 * 365 * 24 * 3600),
        ("007s", 7),
        ("", 30),
        ("1d", 30),
        ("-5s", 30),
        ("5s\n", 30),
        ("٣s", 30),
        ("9" * 5000 + "h", 30),
    ],
)
def test_intervals(text: str, seconds: int) -> None:
    assert sync_interval(text) == timedelta(seconds=seconds)


def test_delays_double_up_to_the_interval() -> None:
    delays = [retry_delay(failures, timedelta(seconds=30)) for failures in range(1, 8)]
    assert [delay.total_seconds() for delay in delays] == [1, 2, 4, 8, 16, 30, 30]


@given(st.integers(0, 10**6), st.integers(1, 10**9), st.floats(0, 1))
def test_no_delay_is_over_the_interval_or_next_to_nothing(
    failures: int, seconds: int, jitter: float
) -> None:
    interval = timedelta(seconds=seconds)
    delay = retry_delay(failures, interval, jitter=jitter)
    assert timedelta(seconds=0.5) <= delay <= interval
