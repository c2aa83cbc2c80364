"""The load of the operator, from two reads of its metrics."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Sample = tuple[str, Mapping[str, str], float]
"""Name, labels and value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorUsage:
    """The load of the operator."""

    queued: int
    """Keys that wait in all queues."""
    active: int
    """Reconciles in progress."""
    reconciles_per_second: float
    requests_per_second: float
    """Requests to the API server."""
    row_to_ready_p50: float | None
    """Seconds from the change of a row until its node is ready; None before the first one."""
    row_to_ready_p99: float | None
    reconcile_p99: float | None
    errors: int
    """Reconciles that failed since the operator started."""


def operator_usage(
    before: Iterable[Sample], after: Iterable[Sample], seconds: float
) -> OperatorUsage:
    """Return the load between two reads that are some seconds apart."""
    old, new = tuple(before), tuple(after)

    def rate(name: str) -> float:
        return max(0.0, _total(new, name) - _total(old, name)) / seconds if seconds > 0 else 0.0

    return OperatorUsage(
        queued=int(_total(new, "workqueue_depth")),
        active=int(_total(new, "controller_runtime_active_workers")),
        reconciles_per_second=rate("controller_runtime_reconcile_total"),
        requests_per_second=rate("rest_client_requests_total"),
        row_to_ready_p50=quantile(new, "lynq_row_to_ready_seconds", 0.5),
        row_to_ready_p99=quantile(new, "lynq_row_to_ready_seconds", 0.99),
        reconcile_p99=quantile(new, "lynqnode_reconcile_duration_seconds", 0.99),
        errors=int(_total(new, "controller_runtime_reconcile_errors_total")),
    )


def quantile(samples: Iterable[Sample], name: str, share: float) -> float | None:
    """Return a quantile of a histogram, interpolated in its bucket; None if it is empty.

    Of values beyond the last bucket, its bound is returned.
    """
    counts: dict[float, float] = {}
    for sample, labels, value in samples:
        if sample == f"{name}_bucket":
            bound = float(labels["le"])
            counts[bound] = counts.get(bound, 0.0) + value
    bounds = sorted(counts)
    if not bounds or not counts[bounds[-1]]:
        return None
    wanted = share * counts[bounds[-1]]
    lower = below = 0.0
    for bound in bounds:
        if counts[bound] >= wanted:
            if math.isinf(bound):
                return lower
            inside = counts[bound] - below
            return lower + (bound - lower) * ((wanted - below) / inside if inside else 0.0)
        lower, below = bound, counts[bound]
    return lower


def _total(samples: Iterable[Sample], name: str) -> float:
    return sum(value for sample, _, value in samples if sample == name)
