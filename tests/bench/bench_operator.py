"""Measures throughput, CPU and memory from rows to ready nodes.

The operator runs as a separate process against a local cluster, so that its CPU and memory can
be measured. LYNQ_BENCH_NODES sets the number of rows, LYNQ_BENCH_FLAGS adds flags of `lynq run`.
"""

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from cluster.controllers.environment import FORMS, HUBS, NODES, config_map
from lynq.kube import Client
from waiting import eventually

ROWS = int(os.environ.get("LYNQ_BENCH_NODES", "1000"))


def service(name: str) -> dict[str, object]:
    manifest = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}
    return {"id": name, "nameTemplate": f"{{{{ .uid }}}}-{name}", "spec": manifest}


def set_rows(path: Path, plan: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE IF NOT EXISTS tenants (uid, active, plan)")
        connection.execute("DELETE FROM tenants")
        values = [(f"t{number:05}", 1, plan) for number in range(ROWS)]
        connection.executemany("INSERT INTO tenants VALUES (?, ?, ?)", values)


def usage(process: "subprocess.Popen[bytes]") -> tuple[float, float]:
    """Return seconds of CPU and MiB of memory."""
    stat = Path(f"/proc/{process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
    ticks = int(stat[11]) + int(stat[12])
    status = Path(f"/proc/{process.pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return ticks / os.sysconf("SC_CLK_TCK"), int(resident.split()[1]) / 1024


async def all_ready(client: Client, namespace: str, plan: str) -> bool:
    nodes = await client.list(NODES, namespace)
    counted: Counter[bool] = Counter()
    for node in nodes:
        conditions = {
            condition["type"]: condition
            for condition in node.get("status", {}).get("conditions", [])
        }
        is_new = f'"{plan}"' in node["metadata"]["annotations"]["lynq.sh/extra"]
        observed = node.get("status", {}).get("observedUpdateStart")
        is_observed = observed == node["metadata"]["annotations"]["lynq.sh/rollout-update-start"]
        is_ready = conditions.get("Ready", {}).get("status") == "True"
        counted[is_ready and is_new and is_observed] += 1
    return counted[True] == ROWS


async def test_rows_become_ready_nodes(
    client: Client,
    namespace: str,
    crds: None,  # noqa: ARG001 - installed
    kubeconfig: Path,
    tmp_path: Path,
) -> None:
    set_rows(tmp_path / "rows.db", "basic")
    flags = (
        f"--kubeconfig={kubeconfig}",
        f"--sqlite-dir={tmp_path}",
        f"--watch-namespaces={namespace}",
        "--enable-webhooks=false",
        "--health-probe-bind-address=0",
        "--zap-log-level=error",
        *os.environ.get("LYNQ_BENCH_FLAGS", "").split(),
    )
    process = subprocess.Popen([sys.executable, "-m", "lynq", "run", *flags])
    try:
        source = {
            "type": "sqlite",
            "sqlite": {"path": "rows.db", "table": "tenants"},
            "syncInterval": "30s",
            "changes": "Push",
        }
        hub = {
            "source": source,
            "valueMappings": {"uid": "uid", "activate": "active"},
            "extraValueMappings": {"plan": "plan"},
        }
        await client.create(HUBS, {"metadata": {"name": "hub"}, "spec": hub}, namespace)
        form = {
            "hubId": "hub",
            "configMaps": [config_map(), config_map(id="b", nameTemplate="{{ .uid }}-b")],
            "services": [service("web")],
        }
        start, before = time.monotonic(), usage(process)
        await client.create(FORMS, {"metadata": {"name": "web"}, "spec": form}, namespace)
        await eventually(lambda: all_ready(client, namespace, "basic"), within=900, every=2)
        report("rows → ready", start, before, usage(process))

        start, before = time.monotonic(), usage(process)
        set_rows(tmp_path / "rows.db", "pro")
        await eventually(lambda: all_ready(client, namespace, "pro"), within=900, every=2)
        report("all rows changed", start, before, usage(process))

        start, before = time.monotonic(), usage(process)
        await asyncio.sleep(30)
        report("idle for 30 s", start, before, usage(process))
    finally:
        process.terminate()
        process.wait()


def report(
    title: str, start: float, before: tuple[float, float], after: tuple[float, float]
) -> None:
    seconds, cpu = time.monotonic() - start, after[0] - before[0]
    print(  # noqa: T201 - a measurement
        f"\n{title}: {ROWS} nodes × 3 in {seconds:.1f} s ({ROWS / seconds:.0f}/s), "
        f"CPU {cpu:.1f} s ({cpu / ROWS * 1000:.2f} ms a node), {after[1]:.0f} MiB"
    )
