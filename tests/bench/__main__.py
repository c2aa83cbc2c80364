"""`make bench`: measures the operator and its floor in one run; prints tables, writes JSON.

    make bench                               all sizes, 10 to 15 minutes on two quiet cores
    make bench ARGS=small                    50 and 100 rows, about two minutes
    make bench ARGS=ten-thousand             10,000 nodes against 500, and the restart with them;
                                             LYNQ_BENCH_NODES sets another number
    make bench ARGS=shards                   bytes that each of four shards receives, 1,000 nodes
    make bench ARGS="full --output=x.json"   another file than dist/bench.json

The tables assert nothing: seconds depend on the machine, ratios and request counts do not.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import uvloop

import databases
from bench.growth import measure_growth
from bench.measuring import memory_mib
from bench.shapes import SHAPES
from bench.shards import measure_shards
from bench.tables import Comparison, Results, median
from bench.workloads import Bench, Tenants
from lynq.api.crds import build as definitions
from lynq.cluster import LocalCluster
from lynq.kube import Client, load_config
from lynq.kube.crd_install import install_crd

ROOT = Path(__file__).parents[2]
TEN_THOUSAND = "ten-thousand"
SHARDS = "shards"
WARM_UP = 50
"""Rows of the work that is not measured."""
BINLOG = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    rows: tuple[int, ...]
    chain: int
    removed: int
    """Rows removed from each of the second largest hubs."""
    idle_seconds: float
    pushes: int
    imported: int
    """Rows whose nodes are created while others are pushed."""
    flux: tuple[int, ...]
    rounds: int
    """How often floor and operator take turns, once with Flux's shape. The median ratio counts."""


SIZES = {
    "small": Sizes((50, 100), 20, 10, 10.0, 20, 100, (50,), rounds=1),
    "full": Sizes((100, 500, 1000), 200, 100, 60.0, 100, 500, (100, 500, 1000), rounds=3),
}


async def measure(bench: Bench, sizes: Sizes, results: Results) -> None:
    """Measure everything; progress goes to stderr."""
    # The first writes after the creation of the CRDs wait for their schemas.
    namespace = await bench.namespace("first")
    for work in ("provision", "remove"):
        await bench.floor(work, namespace, "plain", WARM_UP)
    for rows in sizes.rows:
        await provision(bench, "plain", rows, results, sizes)
    await provision(bench, "chain", sizes.chain, results, sizes)
    for rows in sizes.flux:
        await provision(bench, "flux", rows, results, sizes)


async def provision(bench: Bench, name: str, rows: int, results: Results, sizes: Sizes) -> None:
    """Measure rows → ready, and what follows: with each round's nodes, or with the last one's."""
    shape = SHAPES[name]
    work = "rows → Ready" if name == "plain" else f"rows → Ready, {shape.name}"
    count = 1 if name == "flux" else sizes.rounds
    rounds: list[Comparison] = []
    following: list[Comparison] = []
    while len(rounds) < count:
        namespace = await bench.namespace("floor")
        floor = await bench.floor("provision", namespace, name, rows)
        # All begin with the same cluster: for each new Service, the API server lists all of them.
        await bench.floor("remove", namespace, name, rows)
        async with bench.tenants(shape, rows) as tenants:
            rounds.append(Comparison(work, rows, floor, await bench.provision(tenants)))
            progress(f"{shape.name}, {rows} rows: {rounds[-1].ratio:.2f} × floor")
            if name == "plain":
                memory = round(memory_mib(tenants.pid), 1)
                results.figures[f"RSS at {rows} nodes, MiB"] = memory
                if rows == sizes.rows[-2]:
                    # Once per hub: its deletion guard remembers these, and would hold back more.
                    following.append(await remove(bench, tenants, namespace, sizes.removed))
                elif rows == sizes.rows[-1] and len(rounds) == count:
                    following = await change(bench, tenants, namespace, sizes, results)
        await bench.floor("remove", tenants.namespace, name, tenants.rows)
    compared = results.flux if name == "flux" else results.comparisons
    compared += [median(each) for each in (rounds, following) if each]


async def remove(bench: Bench, tenants: Tenants, namespace: str, count: int) -> Comparison:
    """Measure the removal of rows."""
    rows = tenants.rows
    await bench.floor("provision", namespace, "plain", rows)
    floor = await bench.floor("remove", namespace, "plain", count)
    ours = await bench.remove(tenants, count)
    await bench.floor("remove", namespace, "plain", rows)
    removal = Comparison(f"removed of {rows} rows", count, floor, ours)
    progress(f"{count} of {rows} rows removed: {removal.ratio:.2f} × floor")
    return removal


async def change(
    bench: Bench, tenants: Tenants, namespace: str, sizes: Sizes, results: Results
) -> list[Comparison]:
    """Measure an idle operator, form changes and pushed rows; return the form changes."""
    rows = tenants.rows
    idle = await bench.idle(tenants, sizes.idle_seconds)
    text = f"idle, {rows} nodes, {sizes.idle_seconds:g} s"
    results.figures[f"{text}: requests/s"] = round(idle.requests.total() / idle.seconds, 3)
    results.figures[f"{text}: requests"] = dict(idle.requests)
    results.figures[f"{text}: CPU %"] = round(idle.cpu / idle.seconds * 100, 2)
    await bench.floor("provision", namespace, "plain", rows)
    changes = []
    for generation in range(2, 2 + sizes.rounds):
        floor = await bench.floor("change", namespace, "plain", rows, revision=generation)
        ours = await bench.change_form(tenants, generation)
        changes.append(Comparison("form change", rows, floor, ours))
    pushed = await bench.push(tenants, sizes.pushes)
    results.add_percentiles("push, UPDATE → ConfigMap", pushed)
    during = await bench.push_during_import(tenants, sizes.imported)
    text = f"the same while {sizes.imported} rows are created"
    results.add_percentiles(f"{text}, {len(during)} changes", during)
    await bench.floor("remove", namespace, "plain", rows)
    return changes


async def run(size: str) -> Results:
    """Start a cluster and MariaDB, and measure."""
    machine = {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "Python": f"{platform.python_version()} of {sys.base_prefix}",
    }
    results = Results(machine)
    with tempfile.TemporaryDirectory(prefix="lynq-bench-") as folder:
        cluster = LocalCluster("bench", Path(folder))
        cluster.up(owned=True)
        try:
            with databases.mariadb(*BINLOG) as database:
                config = load_config(kubeconfig=cluster.kubeconfig)
                async with Client.connect(config) as client:
                    for definition in definitions():
                        await install_crd(client, definition)
                    bench = Bench(cluster, client, database)
                    if size == TEN_THOUSAND:
                        await measure_growth(bench, results)
                    elif size == SHARDS:
                        await measure_shards(bench, results)
                    else:
                        await measure(bench, SIZES[size], results)
        finally:
            cluster.down()
    return results


def progress(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("size", nargs="?", choices=[*SIZES, TEN_THOUSAND, SHARDS], default="full")
    parser.add_argument("--output", type=Path, default=ROOT / "dist" / "bench.json")
    arguments = parser.parse_args()
    results = uvloop.run(run(arguments.size))
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(results.as_json(), indent=2) + "\n")
    print(results.text())  # noqa: T201 - the result


if __name__ == "__main__":
    main()
