"""A hub with many nodes whose states are written without an operator, and a server to show them."""

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measuring import memory_mib
from lynq.dashboard.node_entry import NodeEntry
from lynq.dashboard.projection import NODES
from lynq.kube import Client
from operated.environment import Environment
from ports import free_port
from waiting import eventually

HUB = "tenants"
FORMS = ("api", "web")
CAUSES = 210
"""Different causes of failed nodes: more than the start page shows."""
_IN_FLIGHT = 50
_TIME = "2026-01-01T12:00:00Z"


def uid_of(number: int) -> str:
    """Return the uid of a node's row; a row has a node in each form."""
    return f"tenant-{number // len(FORMS):05}"


def name_of(number: int) -> str:
    """Return the name of a node."""
    return f"{uid_of(number)}-{FORMS[number % len(FORMS)]}"


def manifest(number: int, namespace: str) -> dict[str, Any]:
    """Return a node: of four, one failed, one is ready, and two have no status yet."""
    uid = uid_of(number)
    resource_id = _resource_id(number)
    spec = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1}}
    node = {
        "metadata": {
            "name": name_of(number),
            "namespace": namespace,
            "labels": {"lynq.sh/hub": HUB, "lynq.sh/uid": uid},
        },
        "spec": {
            "uid": uid,
            "templateRef": FORMS[number % len(FORMS)],
            "deployments": [{"id": resource_id, "nameTemplate": "{{ .uid }}", "spec": spec}],
        },
    }
    return node | ({"status": _status(number, namespace)} if number % 4 < 2 else {})


def _resource_id(number: int) -> str:
    return f"part-{number // 4 if number // 4 < CAUSES else 0:03}"


def _status(number: int, namespace: str) -> dict[str, Any]:
    name, is_failed = name_of(number), number % 4 == 0
    message = f"Deployment {name}: 0 of 1 replicas are available, no progress for 600 s"
    problem = {"state": "Failed", "reason": "ProgressDeadlineExceeded", "message": message}
    resource = {
        "id": _resource_id(number),
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": name,
        "namespace": namespace,
    }
    ready = {
        "type": "Ready",
        "status": "False" if is_failed else "True",
        "reason": "ResourcesFailed" if is_failed else "Reconciled",
        "message": "",
        "lastTransitionTime": _TIME,
    }
    return {
        "observedGeneration": 1,
        "desiredResources": 1,
        "readyResources": int(not is_failed),
        "failedResources": int(is_failed),
        "conditions": [ready],
        "resources": [resource | (problem if is_failed else {"state": "Ready"})],
    }


async def create_many(env: Environment, count: int) -> None:
    """Create a hub, two forms and `count` nodes with their status."""
    await env.create_hub(HUB)
    for form in FORMS:
        await env.create_form(form, HUB)
    numbers = iter(range(count))

    async def create() -> None:
        for number in numbers:
            node = manifest(number, env.namespace)
            await env.client.create(NODES, node)
            if status := node.get("status"):
                await env.client.patch(
                    NODES,
                    name_of(number),
                    {"status": status},
                    env.namespace,
                    subresource="status",
                )

    await asyncio.gather(*(create() for _ in range(_IN_FLIGHT)))


async def pause(client: Client, number: int, namespace: str) -> None:
    """Change one node: pause it."""
    patch = {"metadata": {"annotations": {"lynq.sh/paused": "true"}}}
    await client.patch(NODES, name_of(number), patch, namespace)


def entry_bytes(entries: Iterable[NodeEntry]) -> float:
    """Return the bytes per entry; a part that entries share counts once."""
    entries = list(entries)
    parts = [getattr(entry, name) for entry in entries for name in entry.__struct_fields__]
    sizes = {id(part): sys.getsizeof(part) for part in (*entries, *parts)}
    return sum(sizes.values()) / len(entries)


@dataclass(frozen=True, slots=True)
class DashboardProcess:
    """A running `lynq dashboard`."""

    pid: int
    port: int

    @property
    def memory(self) -> float:
        """Resident MiB."""
        return memory_mib(self.pid)

    async def fetch(self, path: str) -> tuple[float, Any]:
        """Return the seconds of a request, and its JSON."""
        return await asyncio.to_thread(self._fetch, path)

    def _fetch(self, path: str) -> tuple[float, Any]:
        started = time.perf_counter()
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as response:
            body = response.read()
        return time.perf_counter() - started, json.loads(body)


@asynccontextmanager
async def running_process(kubeconfig: Path) -> AsyncIterator[DashboardProcess]:
    """Run the dashboard as a process, with the rights of the kubeconfig."""
    port = free_port()
    command = [sys.executable, "-m", "lynq", "dashboard", "--kubeconfig", str(kubeconfig)]
    process = subprocess.Popen(
        [*command, "--bind-address", f"127.0.0.1:{port}"], stdout=subprocess.DEVNULL
    )
    server = DashboardProcess(process.pid, port)

    async def is_ready() -> bool:
        try:
            return bool((await server.fetch("/readyz"))[1]["status"] == "ready")
        except OSError:
            return False

    try:
        await eventually(is_ready, within=60, every=0.05)
        yield server
    finally:
        process.terminate()
        process.wait()
