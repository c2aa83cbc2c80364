"""The text of a scrape, byte for byte like that of Go's client."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from lynq.api import NodeStatus
from lynq.telemetry import OperatorMetrics
from lynq.telemetry.exposition import collect_families, format_number, render_families
from unit.telemetry.samples import KEY, registry_with_samples


def lines(registry: CollectorRegistry) -> list[str]:
    every = render_families(collect_families(registry)).decode().splitlines()
    return [line for line in every if not line.startswith("#")]


# The results of strconv.FormatFloat(x, 'g', -1, 64), which Go's client uses for all but 0.
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (4.0, "4"),
        (-1, "-1"),
        (100.0, "100"),
        (999_999, "999999"),
        (1_000_000, "1e+06"),
        (1_234_567, "1.234567e+06"),
        (-1_234_567.5, "-1.2345675e+06"),
        (1_784_000_000.25, "1.78400000025e+09"),
        (123_456.5, "123456.5"),
        (100 / 3, "33.333333333333336"),
        (0.0001, "0.0001"),
        (0.000012345, "1.2345e-05"),
        (1e-8, "1e-08"),
        (1e15, "1e+15"),
        (123456789012345678, "1.2345678901234568e+17"),
        (1e20, "1e+20"),
        (1e21, "1e+21"),
        (1.7e308, "1.7e+308"),
        (5e-324, "5e-324"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_are_formatted_like_go(value: float, text: str) -> None:
    assert format_number(value) == text


@given(st.floats(allow_nan=False) | st.integers(-(2**53), 2**53))
def test_number_round_trip(value: float) -> None:
    assert float(format_number(value)) == value
    assert not format_number(value).endswith(".0")


def test_integers_have_no_fraction() -> None:
    text = lines(registry_with_samples())
    for line in (
        'apply_attempts_total{conflict_policy="Stuck",kind="ConfigMap",result="success"} 1',
        'lynqform_rollout_progress{form="acme-web",namespace="shop"} 100',
        'lynqnode_reconcile_duration_seconds_count{result="success"} 1',
        'lynqnode_reconcile_duration_seconds_sum{result="success"} 0.7',
        'workqueue_depth{name="lynqnode"} 0',
    ):
        assert line in text
    assert not [line for line in text if line.endswith(".0")]


def test_large_number_of_an_object_has_an_exponent() -> None:
    registry = CollectorRegistry()
    OperatorMetrics(registry).record_node_status(KEY, NodeStatus(ready_resources=1_000_000))
    ready = 'lynqnode_resources_ready{lynqnode="acme-web",namespace="shop"} 1e+06'
    assert ready in lines(registry)


def test_le_label_is_a_number_and_last() -> None:
    registry = CollectorRegistry()
    histogram = Histogram(
        "h", "Text", ("name",), buckets=(1e-08, 0.5, 1.0, 10.0, 1e6), registry=registry
    )
    histogram.labels("a").observe(2)
    assert [line for line in lines(registry) if "_bucket" in line] == [
        'h_bucket{name="a",le="1e-08"} 0',
        'h_bucket{name="a",le="0.5"} 0',
        'h_bucket{name="a",le="1"} 0',
        'h_bucket{name="a",le="10"} 1',
        'h_bucket{name="a",le="1e+06"} 1',
        'h_bucket{name="a",le="+Inf"} 1',
    ]


def test_other_labels_are_not_formatted_as_numbers() -> None:
    registry = CollectorRegistry()
    Gauge("g", "Text", ("le",), registry=registry).labels("1.0").set(1)
    Counter("c_total", "Text", ("z", "a"), registry=registry).labels("1.0", "2.0").inc()
    assert lines(registry) == ['g{le="1.0"} 1', 'c_total{a="2.0",z="1.0"} 1']


@pytest.mark.parametrize("per_node", [True, False])
def test_labels_are_sorted_by_name(*, per_node: bool) -> None:
    text = lines(registry_with_samples(per_node=per_node))
    for line in text:
        names = [name for name in re.findall(r'(\w+)="', line) if name != "le"]
        assert names == sorted(names), line
    whose = 'lynqnode="acme-web",namespace="shop"' if per_node else 'namespace="shop"'
    labels = f'conflict_policy="Stuck",{whose},resource_kind="ConfigMap"'
    assert f"lynqnode_conflicts_total{{{labels}}} 1" in text
