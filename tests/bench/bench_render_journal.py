"""Measures what the journal of renders adds to a render of a node, and to the plan of a row.

CPU time of the fastest of several rounds, so that other load of the machine hardly counts.
"""

import time
from collections.abc import Callable
from pathlib import Path

from lynq.controllers.render_journal import RenderJournal
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.render_budget import FormRenders, RenderBudget
from lynq.core.hub.row_values import RowValues
from lynq.core.node.render import JournalEntries, Rendered, Renderer
from lynq.core.node.variables import variables_of
from lynq.core.render_journal import RenderVerdict
from unit.core.hub.fixtures import NOON, Cluster, a_form, a_hub, rows, synced

ROUNDS, TIMES = 9, 2_000


def microseconds(call: Callable[[], object]) -> float:
    """Return the CPU time of a call."""
    results = []
    for _ in range(ROUNDS):
        started = time.thread_time()
        for _ in range(TIMES):
            call()
        results.append((time.thread_time() - started) / TIMES * 1e6)
    return min(results)


def test_journal_costs_microseconds(tmp_path: Path) -> None:
    cluster = Cluster()
    synced(cluster, rows("acme"), a_form())
    node = cluster.nodes["acme-web"]
    (resource,) = node.spec.config_maps
    renderer, journal = Renderer.of(node, variables_of(node)), RenderJournal(tmp_path / "lynq", "1")
    entries = JournalEntries.of(node)

    def render() -> Rendered:
        return renderer.render(resource, namespaced=True)

    def recorded() -> Rendered | None:
        entry = entries.entry(resource.id, with_body=True)
        assert journal.verdict(entry) is RenderVerdict.CLEAR
        return journal.run_now(entry, render)

    (row,) = rows("acme")
    plain = DesiredNode(a_hub(), a_form(), RowValues.of(row))
    planned = DesiredNode(
        a_hub(), a_form(), plain.values, renders=FormRenders(RenderBudget(journal=journal))
    )
    print(  # noqa: T201
        f"render of a small resource: {microseconds(render):.1f} µs, "
        f"recorded {microseconds(recorded):.1f} µs, "
        f"once per pass {microseconds(lambda: JournalEntries.of(node)):.1f} µs; "
        f"render of a row: {microseconds(lambda: plain.spec(NOON)):.1f} µs, "
        f"recorded {microseconds(lambda: planned.spec(NOON)):.1f} µs, "
        f"of them for the digests {microseconds(lambda: planned._journal_entry):.1f} µs"
    )
