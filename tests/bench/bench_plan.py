"""Measures the CPU time of a hub's plan: new rows, unchanged rows, changed rows, many syncs.

A plan is pure, so that CPU time is all it costs, and other load of the machine hardly counts. The
time per node of a plan of all rows must not grow with the number of nodes. A plan of changes costs
a comparison per row that was read, and nothing per row if the source names the changed ones.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from lynq.core.hub.plan import FormCandidate, PlanInputs, plan_hub
from lynq.core.hub.plan_cache import Changes, plan_all
from lynq.core.hub.render_budget import RenderBudget
from lynq.sources import Query, Row
from lynq.sources.rows import RowLayout, SourceColumn
from unit.core.hub.fixtures import NOON, Cluster, a_form, a_hub, is_empty, resource

T = TypeVar("T")

ROUNDS = 3


def cpu(plan: Callable[[], T]) -> tuple[float, T]:
    """Return the CPU seconds of the fastest round, and the plan."""
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        result = plan()
        seconds.append(time.process_time() - start)
    return min(seconds), result


class IndexedRows(list[Row]):
    """Rows as a targeted read returns them."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__(rows)
        self.by_uid = {row.uid: row for row in rows}

    def with_uid(self, uid: str) -> list[Row]:
        return [self.by_uid[uid]]


def read(number: int, plan: str, changed: int = 0) -> IndexedRows:
    """Return rows as a source returns them, with new texts; some have another plan."""
    query = Query(table="tenants", uid="uid", activate="on", extras={"plan": "plan"})
    layout = RowLayout.of(query, [SourceColumn(name, "text") for name in ("uid", "on", "plan")])
    return IndexedRows(
        [
            Row((f"t{index:06}", "1", "other" if index < changed else "".join(plan)), layout)
            for index in range(number)
        ]
    )


@pytest.mark.parametrize("number", [1_000, 10_000, 100_000])
def test_plan(number: int) -> None:
    form = FormCandidate(a_form("web", *(resource(name) for name in ("app", "web", "data"))))
    hub, cluster = a_hub(), Cluster()

    def inputs(rows: list[Row]) -> PlanInputs:
        return PlanInputs(hub=hub, forms=[form], rows=rows, nodes=cluster.nodes.values())

    rows = read(number, "pro")
    created, plan = cpu(lambda: plan_hub(inputs(rows), NOON))
    cluster.apply(plan)
    cluster.settle(NOON)
    full, cache = plan_all(inputs(rows), NOON)
    assert cache
    checked = PlanInputs(
        hub=hub,
        forms=[form],
        rows=rows,
        nodes=cluster.nodes.values(),
        checked_specs=full.checked_specs,
    )
    all_rows, plan = cpu(lambda: plan_hub(checked, NOON))
    assert is_empty(plan)
    again = inputs(read(number, "pro"))
    unchanged, changes = cpu(lambda: cache.plan_changes(again, Changes(), NOON))
    assert changes
    assert is_empty(changes.plan)
    one = inputs(read(number, "pro", changed=1))
    polled, changes = cpu(lambda: cache.plan_changes(one, Changes(), NOON))
    assert changes
    assert len(changes.plan.updates) == 1
    pushed, changes = cpu(
        lambda: cache.plan_changes(one, Changes(uids=frozenset({"t000000"})), NOON)
    )
    assert changes
    assert len(changes.plan.updates) == 1
    print(  # noqa: T201 - a measurement
        f"\n{number} rows, CPU ms: all new {created * 1e3:.0f}, all planned {all_rows * 1e3:.0f}, "
        f"unchanged {unchanged * 1e3:.1f}, one changed {polled * 1e3:.1f}, "
        f"one pushed {pushed * 1e3:.2f}"
    )


SYNCS = 50
"""How many syncs the creation of all nodes takes."""


@pytest.mark.parametrize("number", [500, 3_000, 10_000])
def test_creation_in_many_syncs(number: int) -> None:
    """New nodes are created in batches, and each sync plans again."""
    form = FormCandidate(a_form("web", *(resource(name) for name in ("app", "web", "data"))))
    hub, cluster, rows = a_hub(), Cluster(), read(number, "pro")
    renders = 0

    def counted() -> float:
        # Two readings per render.
        nonlocal renders
        renders += 1
        return 0.0

    def inputs() -> PlanInputs:
        budget = RenderBudget(clock=counted)
        nodes = cluster.nodes.values()
        return PlanInputs(hub=hub, forms=[form], rows=rows, nodes=nodes, render_budget=budget)

    start = time.process_time()
    plan, cache = plan_all(inputs(), NOON)
    seconds = time.process_time() - start
    assert cache
    while plan.creates:
        sent = plan.creates[: max(1, number // SYNCS)]
        cluster.apply(replace(plan, creates=sent))
        nodes = {creation.name: cluster.nodes[creation.name] for creation in sent}
        changes = Changes(names=nodes.keys(), nodes=nodes)
        start = time.process_time()
        planned = cache.plan_changes(inputs(), changes, NOON)
        assert planned
        cache.update(planned)
        seconds += time.process_time() - start
        plan = planned.plan
    print(  # noqa: T201 - a measurement
        f"\n{number} nodes in {SYNCS} syncs: {seconds * 1e6 / number:.0f} µs per node, "
        f"{renders / 2 / number:.1f} renders per node, one of which compares it when it exists"
    )
