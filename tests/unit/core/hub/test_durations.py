"""Durations and back-off delays of hubs."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import HubSource, SourceType
from lynq.core.hub.schedule import backoff_delay, duration_of, sync_interval, write_retry_delay
from unit.core.hub.fixtures import a_hub


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
def test_invalid_duration_is_30_seconds(text: str, seconds: int) -> None:
    assert duration_of(text) == timedelta(seconds=seconds)


def test_sync_interval_is_that_of_the_source() -> None:
    hub = a_hub(source=HubSource(type=SourceType.SQLITE, sync_interval="5m"))
    assert sync_interval(hub) == timedelta(minutes=5)


def test_backoff_doubles_up_to_the_longest_delay() -> None:
    delays = [backoff_delay(failures, timedelta(seconds=30)) for failures in range(1, 8)]
    assert [delay.total_seconds() for delay in delays] == [1, 2, 4, 8, 16, 30, 30]


def test_failed_writes_are_retried_sooner_than_failed_reads() -> None:
    hub = a_hub(source=HubSource(type=SourceType.SQLITE, sync_interval="30s"))
    delays = [write_retry_delay(failures, hub).total_seconds() for failures in (1, 2, 3, 20)]
    assert delays == [1 / 16, 2 / 16, 4 / 16, 30]


@given(st.integers(0, 10**6), st.integers(1, 10**9), st.floats(0, 1))
def test_backoff_is_between_half_a_second_and_the_longest_delay(
    failures: int, seconds: int, jitter: float
) -> None:
    longest = timedelta(seconds=seconds)
    delay = backoff_delay(failures, longest, jitter=jitter)
    assert timedelta(seconds=0.5) <= delay <= longest
