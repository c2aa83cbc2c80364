"""The latency of nodes per minute."""

from datetime import UTC, datetime, timedelta

from lynq.dashboard.latency import Latency

NOW = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)


def test_latency_is_counted_per_minute_and_namespace() -> None:
    latency = Latency()
    for seconds in range(1, 101):
        latency.observe(NOW, "shop", NOW.timestamp() - seconds / 100)
    latency.observe(NOW, "bank", NOW.timestamp() - 60)
    (point,) = latency.points(NOW, {"shop"})
    assert (point.count, point.p50, point.p99) == (100, 0.51, 1.0)
    assert point.at == NOW.replace(second=0)
    (everything,) = latency.points(NOW, None)
    assert everything.count == 101
    assert latency.points(NOW, set()) == []


def test_samples_older_than_an_hour_are_not_shown() -> None:
    latency = Latency()
    latency.observe(NOW, "shop", NOW.timestamp() - 1)
    assert latency.points(NOW + timedelta(minutes=59), None)
    assert not latency.points(NOW + timedelta(minutes=61), None)
