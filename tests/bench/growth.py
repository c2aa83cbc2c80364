"""How cost grows: many nodes against 500, the restart with all of them, bytes per node.

The API server lists all addresses to allocate that of one Service, so that each is slower than the
one before. Nodes without Services show how the operator itself grows, and the floor how the cost of
a client grows that keeps nothing of what it has written.
"""

import asyncio
import json
import os
import time

from bench.measuring import Measurement, cpu_seconds, memory_mib
from bench.shapes import SHAPES
from bench.tables import Comparison, Results
from bench.workloads import Bench, Tenants
from operated.environment import NODES

MANY = int(os.environ.get("LYNQ_BENCH_NODES", "10000"))
FEW = 500
QUIET_SECONDS = 3
"""Seconds without work after which a start is over."""
QUIET = 0.1
"""CPU seconds per second that are no work."""


async def measure_growth(bench: Bench, results: Results) -> None:
    """Measure 500 and many nodes, with and without Services, and the restart of the operator."""
    for name in ("plain", "without-services"):
        few = await measure_nodes(bench, results, name, min(FEW, MANY))
        many = await measure_nodes(bench, results, name, MANY)
        title = f"{SHAPES[name].name}: CPU per node, {MANY} against {FEW}"
        scale = few.rows / many.rows
        results.figures[title] = round(many.ours.cpu / few.ours.cpu * scale, 3)
        growth = many.floor.cpu / few.floor.cpu * scale
        results.figures[f"{title}, of the floor"] = round(growth, 3)


async def measure_nodes(bench: Bench, results: Results, name: str, rows: int) -> Comparison:
    """Create nodes by the operator, whose CPU includes that of all Events, and by the floor.

    Events wait for the writes: those of many nodes are sent meanwhile, those of few afterwards.
    The floor comes last: the pages of what it has removed would hide what the operator stores.
    """
    shape = SHAPES[name]
    stored, figures = bench.meter.stored_bytes(), results.figures
    async with bench.tenants(shape, rows) as tenants:
        before = cpu_seconds(tenants.pid)
        ours = await bench.provision(tenants)
        await quiet(tenants.pid)
        ours.cpu = cpu_seconds(tenants.pid) - before
        reports = ours.requests["patch lynqnodes/status"]
        figures[f"{shape.name}, {rows} rows: status writes per node"] = round(reports / rows, 2)
        if (name, rows) == ("plain", MANY):
            grown = (bench.meter.stored_bytes() - stored) / rows
            figures["etcd bytes per node and 3 objects, with history"] = round(grown)
            await measure_bytes(bench, tenants, results)
            await measure_restart(bench, tenants, results)
    await bench.floor("remove", tenants.namespace, name, rows)
    namespace = await bench.namespace("floor")
    floor = await bench.floor("provision", namespace, name, rows)
    await bench.floor("remove", namespace, name, rows)
    comparison = Comparison(f"rows → Ready, {shape.name}", rows, floor, ours)
    results.comparisons.append(comparison)
    for text, measurement in (("operator", ours), ("floor", floor)):
        per_node = round(measurement.cpu / rows * 1000, 2)
        figures[f"{shape.name}, {rows} rows: CPU of the {text} per node, ms"] = per_node
    return comparison


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
