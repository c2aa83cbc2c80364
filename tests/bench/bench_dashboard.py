"""The cost of the dashboard with many nodes: its server, its lists, and a tab of the browser."""

import os
import time
from pathlib import Path

import msgspec

from browser.conftest import Site, opened_tab, running_browser
from browser.many_nodes import seconds_until_visible, tab_memory, walk
from dashboard.many_nodes import create_many, entry_bytes, manifest, running_process
from lynq.controllers.decoding import RawObject
from lynq.dashboard.node_entry import node_entry
from lynq.kube import Client
from operated.environment import Environment

COUNT = int(os.environ.get("LYNQ_BENCH_NODES", "5000"))
LISTS = (
    "/api/v2/nodes?limit=100",
    "/api/v2/nodes?limit=100&sort=-since&where=state=Progressing",
    "/api/v2/problems",
    "/api/v2/fleet",
    "/api/v2/search?q=tenant-00999",
    "/api/v2/topology",
)


def failed_entries_bytes() -> float:
    """Return the bytes of an entry of a failed node, which has a message."""
    nodes = (msgspec.json.encode(manifest(number, "ns")) for number in range(0, 4000, 4))
    return entry_bytes(node_entry(msgspec.json.decode(node, type=RawObject)) for node in nodes)


async def test_dashboard_with_many_nodes(
    client: Client,
    namespace: str,
    crds: None,  # noqa: ARG001
    kubeconfig: Path,
    tmp_path: Path,
) -> None:
    rows = [("bytes of an entry with a message", f"{failed_entries_bytes():.0f}")]
    async with running_process(kubeconfig) as server:
        rows.append(("memory of the server without nodes", f"{server.memory:.0f} MiB"))
    started = time.monotonic()
    await create_many(Environment(client, namespace, tmp_path), COUNT)
    rows.append((f"{COUNT:,} nodes are created", f"{time.monotonic() - started:.1f} s"))
    started = time.monotonic()
    async with running_process(kubeconfig) as server:
        rows.append(("start with all nodes", f"{time.monotonic() - started:.2f} s"))
        for path in LISTS:
            times = [(await server.fetch(path))[0] for _ in range(6)]
            spread = f"{1000 * min(times):.0f} to {1000 * max(times):.0f} ms"
            rows.append((path, f"first {1000 * times[0]:.0f} ms, {spread}"))
        rows.append((f"memory of the server with {COUNT:,} nodes", f"{server.memory:.0f} MiB"))
        site = Site(kubeconfig, {}, server.port)
        async with running_browser() as browser, opened_tab(browser, site, namespace) as tab:
            changes = [await seconds_until_visible(tab, client, each) for each in (1, 5, 9)]
            spread = f"{min(changes):.2f} to {max(changes):.2f} s"
            rows.append(("a change is visible in the browser", spread))
            elements = await walk(tab)
            memory = await tab_memory(browser, tab.page)
        rows += [(f"elements of {page}", str(count)) for page, count in elements.items()]
        rows.append(("private memory of the tab after all pages", f"{memory.private:.0f} MiB"))
        rows.append(("with its share of files", f"{memory.proportional:.0f} MiB"))
        rows.append(("JavaScript after a collection", f"{memory.javascript:.1f} MiB"))
        rows.append(("memory of the server afterwards", f"{server.memory:.0f} MiB"))
    table = "\n".join(f"{name:60} {value}" for name, value in rows)
    print(f"\n{table}")  # noqa: T201 - a measurement
