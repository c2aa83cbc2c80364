"""Measures one pushed row among 1,000 and among 100,000: commit to child, and the operator's CPU.

Most rows are inactive. An inactive row is read and converted by every complete read, but has no
node, so that the API server is the same in both sizes and is not the limit. What grows with the
number of nodes is measured by `make bench ARGS=ten-thousand` and by bench_plan.py; the merge of one
row into 100,000 active ones by bench_push.py.

The latency starts before the UPDATE is sent and ends with the event of the changed ConfigMap. CPU
is that of the operator per change, without what it uses while nothing changes. The sync interval
is longer than the measurement: no complete read is part of it.
Target: p99 below 0.3 s, and CPU that does not depend on the size of the table.
"""

import asyncio
import base64
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import databases
from background_tasks import run_in_background
from bench.measuring import cpu_seconds
from bench.tables import percentile
from bench.workloads import Bench
from databases import Server
from lynq.api.crds import build as definitions
from lynq.cluster import LocalCluster
from lynq.kube import Bookmark, Client, load_config
from lynq.kube.crd_install import install_crd
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from lynq.sources.postgresql.trigger import trigger_sql
from lynq.sources.query import Table
from operated.environment import FORMS, HUBS
from waiting import eventually

# ruff: noqa: T201 - a bench prints its results


SIZES = (1_000, 100_000)
ACTIVE = 50
"""Rows with a node, in both sizes."""
WARM_UP, CHANGES = 10, 100
IDLE_SECONDS = 5.0
BINLOG = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
COLUMNS = "uid VARCHAR(63) PRIMARY KEY, active INT, plan VARCHAR(63)"
FORM = {
    "hubId": "hub",
    "configMaps": [
        {
            "id": "settings",
            "nameTemplate": "{{ .uid }}-settings",
            "spec": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": "{{ .plan }}"}},
        }
    ],
}

Execute = Callable[..., Awaitable[None]]


@dataclass(frozen=True)
class Engine:
    """A database with push."""

    name: str
    server: Server
    execute: Execute

    async def create_rows(self, table: str, size: int) -> None:
        statements = [f"CREATE TABLE {table} ({COLUMNS})"]
        for start in range(0, size, 1000):
            numbers = range(start, min(start + 1000, size))
            rows = ", ".join(f"('t{n:06}', {int(n < ACTIVE)}, 'first')" for n in numbers)
            statements.append(f"INSERT INTO {table} VALUES {rows}")
        if self.name == "postgresql":
            statements.append(trigger_sql(Table.named(table), uid="uid"))
        await self.execute(self.server, *statements)


@dataclass(frozen=True)
class Cost:
    """The latencies of pushed rows, sorted, and the CPU seconds of each."""

    seconds: list[float]
    cpu: float


async def test_pushed_row_of_a_large_table(tmp_path: Path) -> None:
    print(f"\n{'engine':<12}{'rows':>9}{'p50 ms':>9}{'p99 ms':>9}{'CPU ms':>9}")
    async with cluster_bench(tmp_path) as bench:
        with engines() as databases_with_push:
            for engine in databases_with_push:
                few, many = [await measured(bench, engine, size) for size in SIZES]
                ratios = [
                    percentile(many.seconds, percent) / percentile(few.seconds, percent)
                    for percent in (50, 99)
                ]
                print(f"{'':<12}{'ratio':>9}", *(f"{ratio:>8.2f}" for ratio in ratios), end="")
                print(f"{many.cpu / few.cpu:>9.2f}")


async def measured(bench: Bench, engine: Engine, size: int) -> Cost:
    namespace = await bench.namespace("push")
    table = namespace.replace("-", "_")
    await engine.create_rows(table, size)
    with operator(bench, namespace) as pid:
        await create_hub(bench, engine, namespace, table)
        cost = await pushed(bench, engine, namespace, table, pid)
    p50, p99 = (percentile(cost.seconds, percent) for percent in (50, 99))
    print(f"{engine.name:<12}{size:>9}{p50 * 1e3:>9.0f}{p99 * 1e3:>9.0f}{cost.cpu * 1e3:>9.1f}")
    return cost


async def pushed(bench: Bench, engine: Engine, namespace: str, table: str, pid: int) -> Cost:
    """Change rows one after the other, each when the last one has arrived."""
    plans: dict[str, asyncio.Event] = {}

    async def watch() -> None:
        stream = bench.client.watch(CONFIG_MAPS, namespace, initial_events=True)
        async with aclosing(stream) as events:
            async for event in events:
                if not isinstance(event, Bookmark):
                    plan = str((event.object.get("data") or {}).get("plan", ""))
                    plans.setdefault(plan, asyncio.Event()).set()

    async def change(number: int) -> float:
        plan, uid = f"push{number}", f"t{number % ACTIVE:06}"
        start = time.monotonic()
        statement = f"UPDATE {table} SET plan = '{plan}' WHERE uid = '{uid}'"
        await engine.execute(engine.server, statement)
        async with asyncio.timeout(60):
            await plans.setdefault(plan, asyncio.Event()).wait()
        seconds = time.monotonic() - start
        # Not in step with any interval of the operator.
        await asyncio.sleep(0.1 + 0.037 * (number % 7))
        return seconds

    async with run_in_background(watch()):
        for number in range(WARM_UP):
            await change(number)
        await asyncio.sleep(IDLE_SECONDS)
        idle, _ = await cpu_of(pid, asyncio.sleep(IDLE_SECONDS))
        start = time.monotonic()
        cpu, seconds = await cpu_of(pid, in_turn(change))
        elapsed = time.monotonic() - start
    return Cost(sorted(seconds), (cpu - idle * elapsed / IDLE_SECONDS) / CHANGES)


async def in_turn(change: Callable[[int], Awaitable[float]]) -> list[float]:
    return [await change(WARM_UP + number) for number in range(CHANGES)]


async def cpu_of(pid: int, work: Awaitable[Any]) -> tuple[float, Any]:
    before = cpu_seconds(pid)
    result = await work
    return cpu_seconds(pid) - before, result


async def create_hub(bench: Bench, engine: Engine, namespace: str, table: str) -> None:
    """Create a hub and its form, and wait until all active rows have their child."""
    server, client = engine.server, bench.client
    password = base64.b64encode(server.password.encode()).decode()
    secret = {"metadata": {"name": "login"}, "data": {"password": password}}
    await client.create(SECRETS, secret, namespace)
    address = {
        "host": server.host,
        "port": server.port,
        "username": server.user,
        "passwordRef": {"name": "login", "key": "password"},
        "database": server.database,
        "table": table,
    }
    if engine.name == "postgresql":
        address["tls"] = {"mode": "disable"}
    spec = {
        "source": {
            "type": engine.name,
            engine.name: address,
            "syncInterval": "1h",
            "changes": "Push",
        },
        "valueMappings": {"uid": "uid", "activate": "active"},
        "extraValueMappings": {"plan": "plan"},
    }
    await client.create(HUBS, {"metadata": {"name": "hub"}, "spec": spec}, namespace)
    await client.create(FORMS, {"metadata": {"name": "web"}, "spec": FORM}, namespace)

    async def has_children() -> bool:
        children = (await client.list(CONFIG_MAPS, namespace)).items
        return sum("plan" in (child.get("data") or {}) for child in children) == ACTIVE

    await eventually(has_children, within=120, every=0.2)


@contextmanager
def operator(bench: Bench, namespace: str) -> Iterator[int]:
    """Run an operator, and yield its process id."""
    command = [sys.executable, "-m", "lynq", "run"]
    command += [f"--kubeconfig={bench.cluster.kubeconfig}", f"--watch-namespaces={namespace}"]
    command += ["--enable-webhooks=false", "--health-probe-bind-address=0"]
    process = subprocess.Popen([*command, "--zap-log-level=error"])
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


@contextmanager
def engines() -> Iterator[list[Engine]]:
    with ExitStack() as stack:
        mariadb = stack.enter_context(databases.mariadb(*BINLOG))
        postgresql = stack.enter_context(databases.postgresql())
        yield [
            Engine("mysql", mariadb, databases.in_mariadb),
            Engine("postgresql", postgresql, databases.in_postgresql),
        ]


@asynccontextmanager
async def cluster_bench(folder: Path) -> AsyncIterator[Bench]:
    cluster = LocalCluster("bench", folder)
    cluster.up(owned=True)
    try:
        async with Client.connect(load_config(kubeconfig=cluster.kubeconfig)) as client:
            for definition in definitions():
                await install_crd(client, definition)
            # The database is that of the engine.
            yield Bench(cluster, client, Server("", 0, "", "", ""))
    finally:
        cluster.down()
