"""A env for hub and form controllers: the test plays the node controller by hand."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from background_tasks import run_in_background
from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.controllers.context import ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.form.controller import FormController
from lynq.controllers.form_validation import FormValidator
from lynq.controllers.hub.controller import HubController
from lynq.controllers.options import Options, Shard
from lynq.controllers.timing import Timing
from lynq.kube import (
    Client,
    Controller,
    Recorder,
    Request,
    Response,
    RuntimeMetrics,
    Send,
    WorkQueue,
)
from lynq.kube.errors import Conflict, KubeError, NotFound
from lynq.kube.resource import EVENTS, resource_of
from lynq.telemetry import OperatorMetrics
from waiting import eventually

HUBS = resource_of(LynqHub.definition)
FORMS = resource_of(LynqForm.definition)
NODES = resource_of(LynqNode.definition)

Object = dict[str, Any]


@dataclass(slots=True)
class RequestRecorder:
    """What the controllers ask of the API server, besides their watches and events."""

    sent: list[Request] = field(default_factory=list)
    refuse: set[tuple[str, str]] = field(default_factory=set)
    """Verbs and ends of paths that get no answer but a failure."""

    async def __call__(self, request: Request, send: Send) -> Response:
        if request.stream or "/events" in request.path:
            return await send(request)
        self.sent.append(request)
        for verb, end in self.refuse:
            if request.verb == verb and request.path.endswith(end):
                raise KubeError("refused by the test")
        return await send(request)

    def count(self, verb: str) -> int:
        return sum(request.verb == verb for request in self.sent)


@dataclass
class Environment:
    """One namespace with its rows, its objects, and the controllers when they run."""

    client: Client
    namespace: str
    directory: Path
    requests: RequestRecorder = field(default_factory=RequestRecorder)
    workloads: dict[str, bool] = field(default_factory=dict)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    journal_mode: str = "WAL"
    """Of the files of rows: written on the loop that the operator reads them on, they need a log
    beside the file, or the one would wait for the other."""
    timing: Timing = field(default_factory=Timing)
    context: ControllerContext = field(init=False)

    @asynccontextmanager
    async def run_controllers(self, shard: Shard | None = None) -> AsyncIterator[ControllerContext]:
        """Run hub and form controllers on caches of their own."""
        self.registry = CollectorRegistry()
        metrics = RuntimeMetrics.unread()
        client = self.client.intercepted(self.requests)
        options = Options(
            sqlite_directory=self.directory,
            namespaces=(self.namespace,),
            shard=shard or Shard(),
            timing=self.timing,
        )
        world = self.context = ControllerContext.of(
            client, options, metrics, OperatorMetrics(self.registry)
        )
        validity = FormValidator(world)
        recorders = [Recorder(client, f"{kind}-controller") for kind in ("lynqhub", "lynqform")]
        hub_queue, form_queue = WorkQueue[ObjectKey](), WorkQueue[ObjectKey]()
        hubs = HubController(
            world,
            hub_queue,
            EventEmitter(recorders[0]),
            workloads_ready=self._ready,
            validity=validity,
        )
        forms = FormController(
            world,
            form_queue,
            EventEmitter(recorders[1]),
            workloads_ready=self._ready,
            validity=validity,
        )
        hubs.attach()
        forms.attach()
        runners = (
            Controller("hub", hub_queue, hubs.reconcile, workers=3),
            Controller("form", form_queue, forms.reconcile, workers=2),
        )
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(run_in_background(world.watch()))
            await world.synced()
            work = [hubs.run(), self._let_nodes_go()]
            work += [recorder.run() for recorder in recorders]
            work += [controller.run() for controller in runners]
            await stack.enter_async_context(run_in_background(*work))
            yield world

    def _ready(self, node: LynqNode) -> bool:
        return self.workloads.get(node.metadata.name, True)

    async def _let_nodes_go(self) -> None:
        """Play the part of the node controller that cleans up: there is nothing to clean."""
        while True:
            for node in self.context.nodes.values():
                if node.metadata.deletion_timestamp and node.metadata.finalizers:
                    await self._without_finalizers(node.metadata.name)
            await asyncio.sleep(0.02)

    async def _without_finalizers(self, name: str) -> None:
        try:
            patch = {"metadata": {"finalizers": None}}
            await self.client.patch(NODES, name, patch, self.namespace)
        except NotFound:
            return

    # Rows

    def set_rows(self, *rows: tuple[str | None, int, str], file: str = "rows.db") -> None:
        """Have exactly these rows: uid, active, plan."""
        with closing(sqlite3.connect(self.directory / file)) as connection, connection:
            connection.execute(f"PRAGMA journal_mode={self.journal_mode}")
            connection.execute("CREATE TABLE IF NOT EXISTS tenants (uid, active, plan)")
            connection.execute("DELETE FROM tenants")
            connection.executemany("INSERT INTO tenants VALUES (?, ?, ?)", rows)

    # Objects

    async def create_hub(self, name: str = "hub", **spec: Any) -> Object:
        """Create a hub on the SQLite file, or on the `source` that is given."""
        source = {
            "type": "sqlite",
            "sqlite": {"path": "rows.db", "table": "tenants"},
            "syncInterval": "1h",
        }
        return await self._create(
            HUBS,
            name,
            {
                "source": source | spec.pop("source", {}),
                "valueMappings": {"uid": "uid", "activate": "active"},
                "extraValueMappings": {"plan": "plan"},
            }
            | spec,
        )

    async def create_form(self, name: str = "web", hub: str = "hub", **spec: Any) -> Object:
        """Create a form with one ConfigMap."""
        return await self._create(FORMS, name, {"hubId": hub, "configMaps": [config_map()]} | spec)

    async def _create(self, resource: Any, name: str, spec: Object) -> Object:
        obj = {"metadata": {"name": name, "namespace": self.namespace}, "spec": spec}
        return await self.client.create(resource, obj)

    async def patch(self, resource: Any, name: str, patch: Object) -> Object:
        """Merge a patch into an object."""
        return await self.client.patch(resource, name, patch, self.namespace)

    async def annotate(self, name: str, **annotations: str | None) -> Object:
        """Put annotations of ours on the hub; `_` stands for a dash."""
        given = {f"lynq.sh/{key.replace('_', '-')}": text for key, text in annotations.items()}
        return await self.patch(HUBS, name, {"metadata": {"annotations": given}})

    async def force_sync(self, name: str = "hub") -> None:
        """Have the rows read now."""
        await self.annotate(name, force_sync=datetime.now(UTC).isoformat())

    async def get(self, resource: Any, name: str) -> Object:
        return await self.client.get(resource, name, self.namespace)

    async def status(self, name: str = "hub") -> Object:
        status: Object = (await self.get(HUBS, name)).get("status", {})
        return status

    async def form_status(self, name: str = "web") -> Object:
        status: Object = (await self.get(FORMS, name)).get("status", {})
        return status

    async def condition(self, aspect: str, name: str = "hub", resource: Any = HUBS) -> Object:
        conditions = (await self.get(resource, name)).get("status", {}).get("conditions", [])
        return next((condition for condition in conditions if condition["type"] == aspect), {})

    async def nodes(self) -> dict[str, Object]:
        nodes = await self.client.list(NODES, self.namespace)
        return {node["metadata"]["name"]: node for node in nodes.items}

    async def node_names(self) -> list[str]:
        return sorted(await self.nodes())

    async def events(self, reason: str) -> list[str]:
        events = await self.client.list(EVENTS, self.namespace)
        return [event["message"] for event in events.items if event["reason"] == reason]

    # Waiting

    async def wait_for_nodes(self, *names: str, within: float = 10.0) -> None:
        """Wait until exactly these nodes are there."""

        async def there() -> bool:
            found = await self.node_names()
            assert found == sorted(names)
            return True

        await eventually(there, within=within, every=0.05)

    async def wait_for_status(self, name: str = "hub", **wanted: Any) -> None:
        """Wait until the hub's status says so."""

        async def so() -> bool:
            status = await self.status(name)
            # A number that is 0 is left out.
            assert {key: status.get(key, 0) for key in wanted} == wanted
            return True

        await eventually(so, every=0.05)

    async def wait_for_condition(self, aspect: str, status: str, name: str = "hub") -> Object:
        async def so() -> Object:
            condition = await self.condition(aspect, name)
            assert condition.get("status") == status, condition
            return condition

        return await eventually(so, every=0.05)

    async def wait_for_event(self, reason: str, *, containing: str = "") -> str:
        async def told() -> str:
            messages = [message for message in await self.events(reason) if containing in message]
            return messages[0] if messages else ""

        return await eventually(told, every=0.05)

    async def wait_for_deletion(self, resource: Any, name: str) -> None:
        """Wait until an object is no more."""

        async def gone() -> bool:
            try:
                await self.get(resource, name)
            except NotFound:
                return True
            return False

        await eventually(gone, within=30, every=0.05)

    async def wait_until_idle(self) -> None:
        """Wait until the controllers have had nothing to send for a while."""
        seen = -1
        while seen != len(self.requests.sent):
            seen = len(self.requests.sent)
            await asyncio.sleep(1.3)

    # The node controller's part

    async def set_nodes_ready(self, names: Iterable[str], *, ready: bool = True) -> None:
        """Have nodes say that they are ready with what was last written."""
        for name in names:
            await self._say_ready(name, ready=ready)

    async def _say_ready(self, name: str, *, ready: bool) -> None:
        while True:
            node = await self.get(NODES, name)
            metadata = node["metadata"]
            condition = {
                "type": "Ready",
                "status": "True" if ready else "False",
                "reason": "Reconciled" if ready else "ResourcesFailed",
                "message": "",
                "lastTransitionTime": datetime.now(UTC).isoformat(),
            }
            written = metadata["annotations"].get("lynq.sh/rollout-update-start", "")
            status = {
                "observedGeneration": metadata["generation"],
                "observedUpdateStart": written,
                "conditions": [condition],
            }
            patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": status}
            try:
                await self.client.patch(NODES, name, patch, self.namespace, subresource="status")
            except Conflict:
                continue
            return


def config_map(text: str = "{{ .plan }}", **parts: Any) -> Object:
    """Return a resource of a form."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": text}}
    return {"id": "settings", "nameTemplate": "{{ .uid }}-settings", "spec": manifest} | parts
