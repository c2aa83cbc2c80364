"""Measures the CPU time of a hub's plan: new rows, unchanged rows, changed rows.

A plan is pure, so that CPU time is all it costs, and other load of the machine hardly counts. The
time per node must not grow with the number of nodes.
"""

import time
from collections.abc import Callable

import pytest

from lynq.core.hub.plan import HubPlan
from unit.core.hub.fixtures import NOON, Cluster, a_form, is_empty, planned, resource, rows

ROUNDS = 3


def cpu(plan: Callable[[], HubPlan]) -> tuple[float, HubPlan]:
    """Return the CPU seconds of the fastest round, and the plan."""
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        result = plan()
        seconds.append(time.process_time() - start)
    return min(seconds), result


@pytest.mark.parametrize("number", [100, 1_000, 10_000])
def test_plan(number: int) -> None:
    form = a_form("web", *(resource(name) for name in ("app", "web", "data")))
    uids = [f"t{index:05}" for index in range(number)]
    read = rows(*uids, plan="pro")
    cluster = Cluster()
    created, plan = cpu(lambda: planned(cluster, read, form))
    cluster.apply(plan)
    cluster.settle(NOON)
    checked = planned(cluster, read, form).checked_specs
    unchanged, plan = cpu(lambda: planned(cluster, read, form, checked_specs=checked))
    assert is_empty(plan)
    changed_rows = rows(*uids, plan="free")
    changed, _ = cpu(lambda: planned(cluster, changed_rows, form, checked_specs=checked))
    per_node = (f"{seconds / number * 1e6:.0f}" for seconds in (created, unchanged, changed))
    print(  # noqa: T201 - a measurement
        f"\n{number} rows: µs per new, unchanged and changed node: {', '.join(per_node)}"
    )
