"""How cost grows: many nodes against 500, the restart with all of them, bytes per node."""

import asyncio
import json
import os
import time

from bench.measuring import Measurement, cpu_seconds, memory_mib
from bench.shapes import PLAIN
from bench.tables import Results
from bench.workloads import Bench, Tenants
from cluster.controllers.environment import NODES

MANY = int(os.environ.get("LYNQ_BENCH_NODES", "10000"))
FEW = 500
QUIET_SECONDS = 3
"""Seconds without work after which a start is over."""
QUIET = 0.1
"""CPU seconds per second that are no work."""


async def measure_growth(bench: Bench, results: Results) -> None:
    """Measure 500 and many nodes, then the restart of the operator."""
    per_node = {}
    for rows in (min(FEW, MANY), MANY):
        stored = bench.meter.stored_bytes()
        async with bench.tenants(PLAIN, rows) as tenants:
            before = cpu_seconds(tenants.pid)
            ours = await bench.provision(tenants)
            # Events wait for the writes. Those of many nodes are sent meanwhile, of few afterwards.
            await quiet(tenants.pid)
            per_node[rows] = (cpu_seconds(tenants.pid) - before) / rows
            figures = results.figures
            figures[f"CPU per node at {rows} until all are Ready, ms"] = round(
                ours.cpu / rows * 1000, 2
            )
            figures[f"{rows} rows → Ready, s"] = round(ours.seconds, 1)
            figures[f"RSS at {rows} nodes, MiB"] = round(ours.memory, 1)
            figures[f"CPU per node at {rows} with Events, ms"] = round(per_node[rows] * 1000, 2)
            if rows == MANY:
                grown = (bench.meter.stored_bytes() - stored) / rows
                figures["etcd bytes per node and 3 objects, with history"] = round(grown)
                await measure_bytes(bench, tenants, results)
                await measure_restart(bench, tenants, results)
    few, many = per_node.values() if len(per_node) > 1 else (1.0, 1.0)
    results.figures[f"CPU per node with Events, {MANY} against {FEW}"] = round(many / few, 3)


async def measure_bytes(bench: Bench, tenants: Tenants, results: Results) -> None:
    """Measure the JSON of one node, whole and without the form that it embeds."""
    node = await bench.client.get(NODES, "t00000-web", tenants.namespace)
    results.figures["bytes of a LynqNode as JSON"] = len(json.dumps(node))
    lists = [name for name, value in node["spec"].items() if isinstance(value, list)]
    slim = {**node, "spec": {k: v for k, v in node["spec"].items() if k not in lists}}
    entries = [entry for entry in node["metadata"]["managedFields"] if "subresource" in entry]
    slim["metadata"] = {**node["metadata"], "managedFields": entries}
    results.figures["the same without the form"] = len(json.dumps(slim))


async def measure_restart(bench: Bench, tenants: Tenants, results: Results) -> None:
    """Measure a start with all nodes: seconds, writes, and the latency of rows meanwhile."""
    tenants.stop()
    with bench.meter.measured() as restart:
        tenants.start()
        started = time.monotonic()
        await quiet(tenants.pid)
        seconds = time.monotonic() - started - QUIET_SECONDS
    figures = results.figures
    figures[f"start with {tenants.rows} nodes, s"] = round(seconds, 1)
    figures[f"start with {tenants.rows} nodes: writes"] = written(restart)
    figures[f"start with {tenants.rows} nodes: CPU s"] = round(cpu_seconds(tenants.pid), 1)
    figures[f"start with {tenants.rows} nodes: peak MiB"] = round(
        memory_mib(tenants.pid, "VmHWM"), 1
    )
    results.add_percentiles(f"one row among {tenants.rows}", await bench.push(tenants, 50))


def written(measurement: Measurement) -> dict[str, int]:
    """Return the writes to nodes and their objects."""
    return {
        key: count
        for key, count in measurement.requests.items()
        if not key.startswith("get ") and "lynqhubs" not in key and "lynqforms" not in key
    }


async def quiet(pid: int) -> None:
    """Wait until a process has used almost no CPU for some seconds."""
    seconds = 0
    while seconds < QUIET_SECONDS:
        before = cpu_seconds(pid)
        await asyncio.sleep(1)
        seconds = seconds + 1 if cpu_seconds(pid) - before < QUIET else 0
