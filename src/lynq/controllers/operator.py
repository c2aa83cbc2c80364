"""Runs the hub, form and node controllers together, and stops them in order.

The stop has three steps. First no new reconcile starts, and running ones may finish. Then their
recorded events are sent. Then watches and push subscriptions are closed, and the lease is released.
The next leader has to reconcile within three seconds, so a reconcile that takes longer is canceled,
which is as safe as a killed process.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from lynq.api.metadata import ObjectKey
from lynq.api.names import FIELD_MANAGER
from lynq.controllers.context import ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.form.controller import FormController
from lynq.controllers.form_validation import FormValidator
from lynq.controllers.hub.controller import HubController
from lynq.controllers.node.controller import NodeController
from lynq.kube import Controller, Recorder, Result, WorkQueue

_SPARE_NODE_WORKERS: Final = 4
"""Number of reconciles per node worker that may wait for slow writes without a worker."""

_log = structlog.get_logger(__name__)


class Operator:
    """Runs the controllers; has to be created in a running event loop."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._recorders: list[Recorder] = []
        self.has_started = False
        """Whether the controllers run, so that a stop has to drain them."""
        hubs, forms, nodes = (self._queue(name) for name in ("lynqhub", "lynqform", "lynqnode"))
        self._nodes = NodeController(
            context, nodes, self._emitter("lynqnode-controller"), self._emitter(FIELD_MANAGER)
        )
        workloads_ready = self._nodes.children.are_workloads_ready
        validator = FormValidator(context)
        self._hubs = HubController(
            context,
            hubs,
            self._emitter("lynqhub-controller"),
            workloads_ready=workloads_ready,
            validator=validator,
            backlog=self._nodes.backlog,
        )
        self._forms = FormController(
            context,
            forms,
            self._emitter("lynqform-controller"),
            workloads_ready=workloads_ready,
            validator=validator,
        )
        options = context.options
        self._controllers = [
            self._controller("lynqhub", hubs, self._hubs.reconcile, options.hub_workers),
            self._controller("lynqform", forms, self._forms.reconcile, options.form_workers),
        ]
        node_controller = self._controller(
            "lynqnode",
            nodes,
            self._nodes.reconcile,
            options.node_workers,
            spare_workers=_SPARE_NODE_WORKERS * options.node_workers,
        )
        self._nodes.on_slow_write(node_controller.release_worker)
        self._controllers.append(node_controller)

    async def stand_by(self) -> None:
        """Watch the objects of nodes until canceled, also without the lease."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._nodes.children.run(), name="children")
            await self._context.synced()
            await self._nodes.prepare()

    async def run(self, stop: asyncio.Event) -> None:
        """Reconcile until `stop` is set or the task is canceled; `stand_by` runs concurrently."""
        await self._context.synced()
        async with asyncio.TaskGroup() as background:
            hubs = background.create_task(self._hubs.run(), name="hubs")
            await self._nodes.prepare()
            for controller in (self._nodes, self._forms, self._hubs):
                controller.attach()
            self._nodes.on_workload_ready(self._forms.workload_became_ready)
            self._nodes.on_workload_ready(self._hubs.workload_became_ready)
            self.has_started = True
            _log.info("controllers started")
            await self._reconcile(stop)
            self._nodes.close()
            hubs.cancel()
        _log.info("controllers stopped")

    async def _reconcile(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as recording:
            for recorder in self._recorders:
                recording.create_task(recorder.run(), name="events")
            async with asyncio.TaskGroup() as reconciling:
                for controller in self._controllers:
                    reconciling.create_task(controller.run(), name=controller.name)
                await stop.wait()
                for controller in self._controllers:
                    controller.stop()
            for recorder in self._recorders:
                recorder.stop()
            recording.create_task(
                asyncio.sleep(self._context.timing.write_landing_delay), name="landing"
            )

    def _queue(self, name: str) -> WorkQueue[ObjectKey]:
        return WorkQueue(metrics=self._context.runtime_metrics.queue(name))

    def _emitter(self, component: str) -> EventEmitter:
        recorder = Recorder(
            self._context.client,
            component,
            grace=self._context.timing.event_flush_timeout,
            max_delay=self._context.timing.event_max_delay,
            metrics=self._context.runtime_metrics.events(),
        )
        self._recorders.append(recorder)
        return EventEmitter(recorder)

    def _controller(
        self,
        name: str,
        queue: WorkQueue[ObjectKey],
        reconcile: Callable[[ObjectKey], Awaitable[Result]],
        workers: int,
        *,
        spare_workers: int = 0,
    ) -> Controller[ObjectKey]:
        metrics = self._context.runtime_metrics.controller(name)
        return Controller(
            name,
            queue,
            reconcile,
            workers=workers,
            spare_workers=spare_workers,
            grace=self._context.timing.drain_timeout,
            metrics=metrics,
        )
