"""The load of the operator, from its metrics."""

import pytest

from lynq.core.explain.usage import Sample, operator_usage, quantile


def buckets(**counts: float) -> list[Sample]:
    bounds = {"low": "0.1", "high": "1.0", "rest": "+Inf"}
    return [("d_bucket", {"le": bounds[name]}, count) for name, count in counts.items()]


def test_rates_are_differences_over_time() -> None:
    before: list[Sample] = [("rest_client_requests_total", {"code": "200"}, 100)]
    after: list[Sample] = [
        ("rest_client_requests_total", {"code": "200"}, 120),
        ("rest_client_requests_total", {"code": "409"}, 10),
        ("workqueue_depth", {"name": "node"}, 3),
        ("workqueue_depth", {"name": "hub"}, 1),
    ]
    usage = operator_usage(before, after, 2.0)
    assert usage.requests_per_second == 15.0
    assert usage.queued == 4
    assert usage.row_to_ready_p50 is None


def test_restart_between_two_reads_gives_no_negative_rate() -> None:
    before: list[Sample] = [("rest_client_requests_total", {}, 100)]
    assert (
        operator_usage(before, [("rest_client_requests_total", {}, 1)], 1).requests_per_second == 0
    )


@pytest.mark.parametrize(
    ("counts", "share", "expected"),
    [
        ({"low": 10.0, "high": 20.0, "rest": 20.0}, 0.5, 0.1),
        ({"low": 10.0, "high": 20.0, "rest": 20.0}, 0.75, 0.55),
        ({"low": 0.0, "high": 0.0, "rest": 5.0}, 0.5, 1.0),
        ({"low": 0.0, "high": 0.0, "rest": 0.0}, 0.5, None),
        ({}, 0.5, None),
    ],
)
def test_quantile_is_interpolated(
    counts: dict[str, float], share: float, expected: float | None
) -> None:
    assert quantile(buckets(**counts), "d", share) == (
        None if expected is None else pytest.approx(expected)
    )
