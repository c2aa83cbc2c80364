"""The test environment of hub and form controllers; the test acts as the node controller."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from background_tasks import run_in_background
from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.installation_key import Keyless
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
from waiting import eventually, settled, stays

HUBS = resource_of(LynqHub.definition)
FORMS = resource_of(LynqForm.definition)
NODES = resource_of(LynqNode.definition)

Object = dict[str, Any]

QUICK = Timing(
    status_write_interval=0.2,
    event_max_delay=5.0,
    workload_recheck=timedelta(seconds=0.2),
    min_read_interval=timedelta(seconds=0.2),
    hub_finalizer_batch=0.05,
    write_landing_delay=0.05,
)
"""The pauses of an operator that every test would wait for, shortened."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class RequestRecorder:
    """Records API requests of the controllers except watches; can fail some of them."""

    sent: list[Request] = field(default_factory=list)
    """All requests but those of Events, which are sent when there is time for them."""
    events: list[Request] = field(default_factory=list)
    failing: set[tuple[str, str]] = field(default_factory=set)
    """Verbs and path suffixes of requests that fail."""
    in_flight: int = 0
    """Number of requests without a response."""

    async def __call__(self, request: Request, send: Send) -> Response:
        if request.stream:
            return await send(request)
        if "/events" in request.path:
            self.events.append(request)
            return await send(request)
        self.sent.append(request)
        for verb, suffix in self.failing:
            if request.verb == verb and request.path.endswith(suffix):
                raise KubeError("failed by the test")
        self.in_flight += 1
        try:
            return await send(request)
        finally:
            self.in_flight -= 1

    def count(self, verb: str) -> int:
        return sum(request.verb == verb for request in self.sent)


@dataclass
class Environment:
    """One namespace with its rows, its objects and, while they run, the controllers."""

    client: Client
    namespace: str
    directory: Path
    requests: RequestRecorder = field(default_factory=RequestRecorder)
    workloads: dict[str, bool] = field(default_factory=dict)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    journal_mode: str = "WAL"
    """The journal mode of the SQLite files. Without a write-ahead log, a write on the event loop
    would wait for a read on the same loop."""
    timing: Timing = QUICK
    clock: Callable[[], datetime] = _utc_now
    """The time of the API server and of the operator."""
    context: ControllerContext = field(init=False)
    """Of the controllers that run or ran last, as is `registry`."""

    @asynccontextmanager
    async def run_controllers(self, shard: Shard | None = None) -> AsyncIterator[ControllerContext]:
        """Run hub and form controllers with their own caches."""
        self.registry = CollectorRegistry()
        metrics = RuntimeMetrics(self.registry)
        client = self.client.intercepted(self.requests)
        options = Options(
            sqlite_directory=self.directory,
            namespaces=(self.namespace,),
            shard=shard or Shard(),
            timing=self.timing,
        )
        context = ControllerContext.of(client, options, metrics, OperatorMetrics(self.registry))
        context = self.context = replace(context, clock=self.clock)
        # No process loads a key.
        context.current_key.change(Keyless("the tests run no loader"))
        validator = FormValidator(context)
        recorders = [Recorder(client, f"{kind}-controller") for kind in ("lynqhub", "lynqform")]
        hub_queue = WorkQueue[ObjectKey](metrics=metrics.queue("hub"))
        form_queue = WorkQueue[ObjectKey](metrics=metrics.queue("form"))
        hubs = HubController(
            context,
            hub_queue,
            EventEmitter(recorders[0]),
            workloads_ready=self._ready,
            validator=validator,
            # No controller reconciles the nodes.
            backlog=lambda _: 0,
        )
        forms = FormController(
            context,
            form_queue,
            EventEmitter(recorders[1]),
            workloads_ready=self._ready,
            validator=validator,
        )
        hubs.attach()
        forms.attach()
        controllers = (
            Controller(
                "hub", hub_queue, hubs.reconcile, workers=3, metrics=metrics.controller("hub")
            ),
            Controller(
                "form", form_queue, forms.reconcile, workers=2, metrics=metrics.controller("form")
            ),
        )
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(run_in_background(context.run_caches()))
            await context.synced()
            work = [hubs.run(), self._finalize_nodes()]
            work += [recorder.run() for recorder in recorders]
            work += [controller.run() for controller in controllers]
            await stack.enter_async_context(run_in_background(*work))
            yield context

    def _ready(self, node: LynqNode) -> bool:
        return self.workloads.get(node.metadata.name, True)

    async def _finalize_nodes(self) -> None:
        """Release deleted nodes as the node controller would; they have no objects here."""
        while True:
            for node in self.context.nodes.values():
                if node.metadata.deletion_timestamp and node.metadata.finalizers:
                    await self._remove_finalizers(node.metadata.name)
            await asyncio.sleep(0.02)

    async def _remove_finalizers(self, name: str) -> None:
        try:
            patch = {"metadata": {"finalizers": None}}
            await self.client.patch(NODES, name, patch, self.namespace)
        except NotFound:
            return

    # Rows

    def set_rows(self, *rows: tuple[str | None, object, str], file: str = "rows.db") -> None:
        """Replace all rows of the table; the columns are uid, active and plan."""
        with closing(sqlite3.connect(self.directory / file)) as connection, connection:
            connection.execute(f"PRAGMA journal_mode={self.journal_mode}")
            connection.execute("CREATE TABLE IF NOT EXISTS tenants (uid, active, plan)")
            connection.execute("DELETE FROM tenants")
            connection.executemany("INSERT INTO tenants VALUES (?, ?, ?)", rows)

    # Objects

    async def create_hub(
        self,
        name: str = "hub",
        *,
        sync_interval: str = "1h",
        confirm_after: str = "0s",
        **spec: Any,
    ) -> Object:
        """Create a hub that reads the SQLite file, or the given `source`.

        Unless a test is about these, its rows are read when the test forces it, and a vanished row
        deletes at once.
        """
        source = {
            "type": "sqlite",
            "sqlite": {"path": "rows.db", "table": "tenants"},
            "syncInterval": sync_interval,
        }
        return await self._create(
            HUBS,
            name,
            {
                "source": source | spec.pop("source", {}),
                "valueMappings": {"uid": "uid", "activate": "active"},
                "extraValueMappings": {"plan": "plan"},
                "deletionGuard": {"confirmAfter": confirm_after} | spec.pop("deletionGuard", {}),
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
        """Apply a merge patch to an object."""
        return await self.client.patch(resource, name, patch, self.namespace)

    async def annotate(self, name: str, **annotations: str | None) -> Object:
        """Set lynq.sh annotations of the hub; `_` in a name stands for a dash."""
        values = {f"lynq.sh/{key.replace('_', '-')}": text for key, text in annotations.items()}
        return await self.patch(HUBS, name, {"metadata": {"annotations": values}})

    async def force_sync(self, name: str = "hub") -> None:
        """Make the hub read its rows now."""
        await self.annotate(name, force_sync=self.clock().isoformat())

    async def get(self, resource: Any, name: str) -> Object:
        return await self.client.get(resource, name, self.namespace)

    async def status(self, name: str = "hub") -> Object:
        status: Object = (await self.get(HUBS, name)).get("status", {})
        return status

    async def form_status(self, name: str = "web") -> Object:
        status: Object = (await self.get(FORMS, name)).get("status", {})
        return status

    async def condition(
        self, condition_type: str, name: str = "hub", resource: Any = HUBS
    ) -> Object:
        conditions = (await self.get(resource, name)).get("status", {}).get("conditions", [])
        return next(
            (condition for condition in conditions if condition["type"] == condition_type), {}
        )

    async def nodes(self) -> dict[str, Object]:
        nodes = await self.client.list(NODES, self.namespace)
        return {node["metadata"]["name"]: node for node in nodes.items}

    async def node_names(self) -> list[str]:
        return sorted(await self.nodes())

    async def events(self, reason: str) -> list[str]:
        events = await self.client.list(EVENTS, self.namespace)
        return [event["message"] for event in events.items if event["reason"] == reason]

    # Waiting

    async def wait_for_nodes(self, *names: str, within: float = 20.0) -> None:
        """Wait until exactly these nodes exist."""
        await eventually(lambda: self._has_nodes(names), within=within, every=0.05)

    async def nodes_stay(self, *names: str, seconds: float) -> None:
        """Check that exactly these nodes exist during the next seconds."""
        await stays(lambda: self._has_nodes(names), seconds=seconds, every=0.1)

    async def _has_nodes(self, names: tuple[str, ...]) -> bool:
        existing = await self.node_names()
        assert existing == sorted(names)
        return True

    async def wait_for_status(self, name: str = "hub", **expected: Any) -> None:
        """Wait until the hub status has these fields."""

        async def matches() -> bool:
            status = await self.status(name)
            # The status omits counts of 0.
            assert {key: status.get(key, 0) for key in expected} == expected
            return True

        await eventually(matches, every=0.05)

    async def wait_for_condition(
        self, condition_type: str, status: str, name: str = "hub"
    ) -> Object:
        """Wait until a condition of the hub has this status; return the condition."""

        async def matches() -> Object:
            condition = await self.condition(condition_type, name)
            assert condition.get("status") == status, condition
            return condition

        return await eventually(matches, every=0.05)

    async def wait_for_event(self, reason: str, *, containing: str = "") -> str:
        """Wait until an event with this reason and text was emitted; return its message."""

        async def emitted() -> str:
            messages = [message for message in await self.events(reason) if containing in message]
            return messages[0] if messages else ""

        return await eventually(emitted, every=0.05)

    async def wait_for_deletion(self, resource: Any, name: str) -> None:
        """Wait until an object does not exist."""

        async def deleted() -> bool:
            try:
                await self.get(resource, name)
            except NotFound:
                return True
            return False

        await eventually(deleted, within=30, every=0.05)

    async def wait_until_idle(self) -> None:
        """Wait until the controllers have had no work and no request for some time.

        It is longer than the interval between two status writes of a hub or form.
        """
        await settled(
            lambda: (len(self.requests.sent), object() if self._is_working() else None),
            seconds=self.timing.status_write_interval + 0.5,
            within=60,
        )

    def _is_working(self) -> bool:
        """Return whether requests have no response, or objects wait for their reconcile.

        A reconcile may also wait for the first list of a kind, which is no recorded request.
        """
        if self.requests.in_flight or not self.context.has_synced:
            return True
        is_reconciling = any(self._samples("controller_runtime_active_workers"))
        is_listing = not all(self._samples("lynq_informer_synced"))
        return any(self._samples("workqueue_depth")) or (is_reconciling and is_listing)

    def _samples(self, name: str) -> list[float]:
        metrics = self.registry.restricted_registry([name]).collect()
        return [sample.value for metric in metrics for sample in metric.samples]

    # Acting as the node controller

    async def set_nodes_ready(self, names: Iterable[str], *, ready: bool = True) -> None:
        """Set the Ready condition of nodes for their current generation."""
        for name in names:
            await self._set_ready(name, ready=ready)

    async def _set_ready(self, name: str, *, ready: bool) -> None:
        while True:
            node = await self.get(NODES, name)
            metadata = node["metadata"]
            condition = {
                "type": "Ready",
                "status": "True" if ready else "False",
                "reason": "Reconciled" if ready else "ResourcesFailed",
                "message": "",
                "lastTransitionTime": self.clock().isoformat(),
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
    """Return a form entry for a ConfigMap."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": text}}
    return {"id": "settings", "nameTemplate": "{{ .uid }}-settings", "spec": manifest} | parts
