"""The measured work: rows to ready nodes, a form change, removed rows, idle time, push.

Each piece of work is done twice in the same run: by the floor, right before, and by the operator.
 Both are processes of their own, against the same API server, each in a new namespace.
"""

import asyncio
import base64
import json
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Any

from msgspec import field

from background_tasks import run_in_background
from bench.measuring import Measurement, Meter
from bench.shapes import Shape, hub
from databases import Server, in_mariadb
from lynq.api import Condition, Metadata
from lynq.api.wire import Wire
from lynq.cluster import LocalCluster
from lynq.kube import Bookmark, Client, EventType
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES, SECRETS
from operated.environment import FORMS, HUBS, NODES, Object
from waiting import eventually

WITHIN = 1800.0
"""Seconds after which a measurement is given up."""
QUIET = 0.3
"""CPU seconds per second of an API server that has nothing to do but leases and watches."""


class ObservedStatus(Wire, frozen=True):
    """The part of the status of a node that tells whether it is ready."""

    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class ObservedNode(Wire, frozen=True):
    """A node, without its spec."""

    metadata: Metadata = field(default_factory=Metadata)
    status: ObservedStatus = field(default_factory=ObservedStatus)

    @property
    def ready_generation(self) -> int:
        """The generation in which the node is ready; 0 if it is not."""
        generation = self.metadata.generation
        is_ready = any(
            (condition.type, condition.status) == ("Ready", "True")
            for condition in self.status.conditions
        )
        return generation if is_ready and self.status.observed_generation == generation else 0


@dataclass(slots=True)
class NodeWatch:
    """Follows the nodes of a namespace with one watch, whose events the server encodes once."""

    client: Client
    namespace: str
    ready_generations: dict[str, int] = dataclass_field(default_factory=dict)
    """The generation in which each node is ready; 0 if it is not."""

    async def run(self) -> None:
        while True:
            stream = self.client.watch(
                NODES, self.namespace, initial_events=True, into=ObservedNode
            )
            async with aclosing(stream) as events:
                async for event in events:
                    if not isinstance(event, Bookmark):
                        self._observe(event.type, event.object)

    def _observe(self, kind: EventType, node: ObservedNode) -> None:
        if kind is EventType.DELETED:
            self.ready_generations.pop(node.metadata.name, None)
        else:
            self.ready_generations[node.metadata.name] = node.ready_generation

    def are_ready(self, nodes: int, generation: int) -> bool:
        """Return whether there are this many nodes, all ready in this generation or a later one."""
        generations = self.ready_generations
        return len(generations) == nodes and min(generations.values(), default=0) >= generation


class Tenants:
    """A running operator, its hub on MariaDB and its nodes, in one namespace."""

    def __init__(self, bench: "Bench", namespace: str, shape: Shape, rows: int) -> None:
        self._bench = bench
        self.namespace = namespace
        self.table = namespace.replace("-", "_")
        self.shape = shape
        self.rows = rows
        self.watch = NodeWatch(bench.client, namespace)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    async def create_rows(self) -> None:
        columns = "uid VARCHAR(63) PRIMARY KEY, active INT, plan VARCHAR(63)"
        await self.execute(f"CREATE TABLE TABLE ({columns})")
        await self._insert(range(self.rows))

    async def create_more_rows(self, rows: int) -> None:
        """Insert more rows."""
        before, self.rows = self.rows, self.rows + rows
        await self._insert(range(before, self.rows))

    async def _insert(self, numbers: Iterable[int]) -> None:
        rows = ", ".join(f"('t{number:05}', 1, '1')" for number in numbers)
        await self.execute(f"INSERT INTO TABLE VALUES {rows}")

    async def execute(self, statement: str) -> None:
        """Execute a statement, in which the last word TABLE is the name of the table."""
        before, _, after = statement.rpartition("TABLE")
        await in_mariadb(self._bench.database, f"{before}{self.table}{after}")

    async def create_hub(self) -> None:
        bench, server = self._bench, self._bench.database
        password = base64.b64encode(server.password.encode()).decode()
        secret = {"metadata": {"name": "login"}, "data": {"password": password}}
        await bench.client.create(SECRETS, secret, self.namespace)
        source = {
            "type": "mysql",
            "mysql": {
                "host": server.host,
                "port": server.port,
                "username": server.user,
                "passwordRef": {"name": "login", "key": "password"},
                "database": server.database,
                "table": self.table,
            },
            "syncInterval": "5s",
            "changes": "Push",
        }
        spec = {
            "source": source,
            "valueMappings": {"uid": "uid", "activate": "active"},
            "extraValueMappings": {"plan": "plan"},
        }
        await bench.client.create(HUBS, {"metadata": {"name": "hub"}, "spec": spec}, self.namespace)
        await eventually(self._has_read, within=120, every=0.1)

    async def _has_read(self) -> bool:
        hub = await self._bench.client.get(HUBS, "hub", self.namespace)
        return bool(hub.get("status", {}).get("lastSyncTime"))

    async def create_form(self) -> None:
        form = {"metadata": {"name": "web"}, "spec": self.shape.form()}
        await self._bench.client.create(FORMS, form, self.namespace)

    async def change_form(self, **changes: Object) -> None:
        patch = {"spec": self.shape.form(**changes)}
        await self._bench.client.patch(FORMS, "web", patch, self.namespace)

    async def wait_until_ready(self, rows: int, *, generation: int = 1) -> None:
        """Wait until this many nodes are ready in this generation, and there are no others."""
        await eventually(lambda: self.watch.are_ready(rows, generation), within=WITHIN, every=0.02)

    def command(self, kubeconfig: Path, *flags: str) -> list[str]:
        """Return the command line of an operator."""
        command = [sys.executable, "-m", "lynq", "run", f"--kubeconfig={kubeconfig}"]
        command += [f"--watch-namespaces={self.namespace}", "--enable-webhooks=false"]
        return [*command, "--health-probe-bind-address=0", "--zap-log-level=error", *flags]

    def start(self) -> None:
        """Start the operator."""
        self.process = subprocess.Popen(self.command(self._bench.cluster.kubeconfig))

    def stop(self) -> None:
        """Stop the operator and wait for its end."""
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None


@dataclass(slots=True)
class Bench:
    """Runs all measurements against one cluster and one MariaDB server."""

    cluster: LocalCluster
    client: Client
    database: Server

    @property
    def meter(self) -> Meter:
        return Meter(self.cluster)

    async def namespace(self, kind: str) -> str:
        name = f"{kind}-{uuid.uuid4().hex[:8]}"
        await self.client.create(NAMESPACES, {"metadata": {"name": name}})
        # The default ServiceAccount and ConfigMap of the namespace are not part of the work.
        await eventually(lambda: self._has_defaults(name), within=60, every=0.1)
        return name

    async def _has_defaults(self, namespace: str) -> bool:
        return bool((await self.client.list(CONFIG_MAPS, namespace)).items)

    async def floor(
        self, work: str, namespace: str, shape: str, rows: int, *, revision: int = 1
    ) -> Measurement:
        """Let the loader do the work; `revision` tells what it writes from what it wrote before."""
        command = [sys.executable, "-m", "bench.floor", work, f"--namespace={namespace}"]
        command += [f"--kubeconfig={self.cluster.kubeconfig}", f"--shape={shape}", f"--rows={rows}"]
        command += [f"--revision={revision}", f"--hub={await self._hub_uid(namespace)}"]
        with self.meter.measured() as measurement:
            # Observed like the operator's nodes: the API server encodes each event for it, too.
            async with run_in_background(NodeWatch(self.client, namespace).run()):
                loader = await asyncio.create_subprocess_exec(
                    *command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1]
                )
                output, _ = await loader.communicate()
        if loader.returncode:
            raise RuntimeError(f"the loader failed: {work} of {rows} rows")
        await self.settle()
        result = json.loads(output)
        measurement.seconds, measurement.cpu = result["seconds"], result["cpu"]
        return measurement

    async def _hub_uid(self, namespace: str) -> str:
        """Return the uid of the namespace's hub; nodes without an owner would be garbage."""
        try:
            found = await self.client.get(HUBS, "hub", namespace)
        except NotFound:
            found = await self.client.create(HUBS, hub(), namespace)
        return str(found["metadata"]["uid"])

    async def settle(self) -> None:
        """Wait until other controllers have followed: their work is not part of the next one."""

        async def is_quiet() -> bool:
            used = self.meter.server_cpu
            await asyncio.sleep(1)
            return self.meter.server_cpu - used < QUIET

        await eventually(is_quiet, within=WITHIN)

    @asynccontextmanager
    async def tenants(self, shape: Shape, rows: int) -> AsyncIterator[Tenants]:
        """Run an operator whose hub has read its rows and has no form yet."""
        tenants = Tenants(self, await self.namespace("bench"), shape, rows)
        await tenants.create_rows()
        async with run_in_background(tenants.watch.run()):
            try:
                tenants.start()
                await tenants.create_hub()
                yield tenants
            finally:
                tenants.stop()

    async def provision(self, tenants: Tenants) -> Measurement:
        """Measure the time from the form to ready nodes."""
        with self.meter.measured(tenants.pid) as measurement:
            await tenants.create_form()
            await tenants.wait_until_ready(tenants.rows)
        return measurement

    async def change_form(self, tenants: Tenants, generation: int) -> Measurement:
        """Measure the form change to this generation, which changes one object of each node."""
        changed: dict[str, Any] = {"data": {"plan": f"{{{{ .plan }}}} changed to {generation}"}}
        with self.meter.measured(tenants.pid) as measurement:
            await tenants.change_form(settings=changed)
            await tenants.wait_until_ready(tenants.rows, generation=generation)
        await self.settle()
        return measurement

    async def remove(self, tenants: Tenants, rows: int) -> Measurement:
        """Measure the deactivation of the first rows."""
        with self.meter.measured(tenants.pid) as measurement:
            await tenants.execute(f"UPDATE TABLE SET active = 0 WHERE uid < 't{rows:05}'")
            await tenants.wait_until_ready(tenants.rows - rows)
        return measurement

    async def idle(self, tenants: Tenants, seconds: float) -> Measurement:
        """Measure the cost of doing nothing."""
        await asyncio.sleep(min(seconds, 5))
        with self.meter.measured(tenants.pid) as measurement:
            await asyncio.sleep(seconds)
        return measurement

    async def push(self, tenants: Tenants, changes: int) -> list[float]:
        """Return the seconds from sending an UPDATE to the changed ConfigMap, sorted."""
        async with self._changed_plans(tenants) as changed:
            durations = [
                await self._push(tenants, f"push{number}", number % tenants.rows, changed)
                for number in range(changes)
            ]
        return sorted(durations)

    async def push_during_import(self, tenants: Tenants, rows: int) -> list[float]:
        """Return the same for changes of existing rows while the nodes of new rows are created."""
        durations: list[float] = []
        async with self._changed_plans(tenants) as changed:
            existing = tenants.rows
            await tenants.create_more_rows(rows)
            while not tenants.watch.are_ready(tenants.rows, 1):
                number = len(durations)
                plan, row = f"import{number}", number % existing
                durations.append(await self._push(tenants, plan, row, changed))
        return sorted(durations)

    @asynccontextmanager
    async def _changed_plans(self, tenants: Tenants) -> AsyncIterator[dict[str, asyncio.Event]]:
        """Follow the ConfigMaps; the result has an event for each plan that one of them has had."""
        changed: dict[str, asyncio.Event] = {}

        async def watch() -> None:
            stream = self.client.watch(CONFIG_MAPS, tenants.namespace, initial_events=True)
            async with aclosing(stream) as events:
                async for event in events:
                    if not isinstance(event, Bookmark):
                        text = str((event.object.get("data") or {}).get("plan", ""))
                        changed.setdefault(text.partition(" ")[0], asyncio.Event()).set()

        async with run_in_background(watch()):
            yield changed

    async def _push(
        self, tenants: Tenants, plan: str, row: int, changed: dict[str, asyncio.Event]
    ) -> float:
        start = time.monotonic()
        await tenants.execute(f"UPDATE TABLE SET plan = '{plan}' WHERE uid = 't{row:05}'")
        async with asyncio.timeout(60):
            await changed.setdefault(plan, asyncio.Event()).wait()
        duration = time.monotonic() - start
        # Not in step with any interval of the operator.
        await asyncio.sleep(0.1 + 0.037 * (row % 7))
        return duration
