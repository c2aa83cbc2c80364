"""The cost of the dashboard with many nodes: memory of the server, and time of its lists."""

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from lynq.api import LynqNode
from lynq.controllers.decoding import RawObject
from lynq.dashboard.projection import NodeProjection
from lynq.kube import Client
from lynq.kube.resource import resource_of

NODES = resource_of(LynqNode.definition)
COUNT = int(os.environ.get("LYNQ_BENCH_NODES", "5000"))
PORT = 18090


def manifest(number: int, namespace: str) -> dict[str, Any]:
    name = f"tenant-{number:05}"
    entry = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1}}
    resource = {"id": "web", "nameTemplate": f"{name}-web", "spec": entry}
    return {
        "metadata": {
            "name": f"{name}-web",
            "namespace": namespace,
            "labels": {"lynq.sh/hub": "tenants", "lynq.sh/uid": name},
        },
        "spec": {"uid": name, "templateRef": "web", "deployments": [resource]},
    }


async def create_nodes(client: Client, namespace: str) -> None:
    slots = asyncio.Semaphore(32)

    async def create(number: int) -> None:
        async with slots:
            await client.create(NODES, manifest(number, namespace))

    await asyncio.gather(*map(create, range(COUNT)))


@contextmanager
def running(kubeconfig: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the dashboard as a process."""
    command = [sys.executable, "-m", "lynq", "dashboard", "--kubeconfig", str(kubeconfig)]
    process = subprocess.Popen([*command, "--bind-address", f"127.0.0.1:{PORT}"])
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def fetch(path: str) -> tuple[float, Any]:
    """Return the seconds of a request, and its JSON."""
    started = time.perf_counter()
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}") as response:
        body = response.read()
    return time.perf_counter() - started, json.loads(body)


def rss(process: subprocess.Popen[bytes]) -> float:
    """Return the memory of a process in MiB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def entry_bytes() -> float:
    """Return the bytes of an entry without names that many nodes share."""
    project = NodeProjection()
    total = 0
    for number in range(1000):
        raw = msgspec.json.decode(msgspec.json.encode(manifest(number, "ns")), type=RawObject)
        entry = project(raw)
        own = (entry.name, entry.uid, entry.since, entry.created, entry.written)
        total += sys.getsizeof(entry) + sum(map(sys.getsizeof, own))
    return total / 1000


async def test_dashboard_with_many_nodes(
    client: Client,
    namespace: str,
    crds: None,  # noqa: ARG001
    kubeconfig: Path,
) -> None:
    def ready() -> bool:
        try:
            return bool(fetch("/readyz")[1]["status"] == "ready")
        except OSError:
            return False

    async def start() -> float:
        started = time.monotonic()
        while not await asyncio.to_thread(ready):
            await asyncio.sleep(0.05)
        return time.monotonic() - started

    with running(kubeconfig) as process:
        await start()
        empty = rss(process)
    await create_nodes(client, namespace)
    with running(kubeconfig) as process:
        seconds = await start()
        rows = [("start with all nodes", f"{seconds:.2f} s")]
        for path in (
            "/api/v2/nodes?limit=100",
            "/api/v2/nodes?limit=100&sort=-since&where=state=Progressing",
            "/api/v2/problems",
            "/api/v2/fleet",
            "/api/v2/search?q=tenant-04999",
            "/api/v2/topology",
        ):
            times = sorted([(await asyncio.to_thread(fetch, path))[0] for _ in range(5)])
            rows.append((path, f"{1000 * times[0]:.0f} to {1000 * times[-1]:.0f} ms"))
        full = rss(process)
        started = time.perf_counter()
        patch = {"metadata": {"annotations": {"lynq.sh/paused": "true"}}}
        await client.patch(NODES, "tenant-00007-web", patch, namespace)
        path = "/api/v2/nodes?where=state=Paused"
        while not (await asyncio.to_thread(fetch, path))[1]["total"]:
            pass
        rows.append(("a change is in the list", f"{1000 * (time.perf_counter() - started):.0f} ms"))
    rows += [
        ("memory without nodes", f"{empty:.0f} MiB"),
        (f"memory with {COUNT:,} nodes", f"{full:.0f} MiB"),
        ("bytes of an entry", f"{entry_bytes():.0f}"),
    ]
    table = "\n".join(f"{name:60} {value}" for name, value in rows)
    print(f"\n{table}")  # noqa: T201 - a measurement
