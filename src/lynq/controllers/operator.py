"""The three controllers at work: started together, stopped in the order that loses nothing.

Stopping takes three steps: no new reconcile begins and those that run may end; then the events
they recorded are written; then watches and push channels are cut, and the lease is given back.
The next leader is to work within three seconds, whatever this one was in the middle of: so a
reconcile that takes long is cut short, which is as safe as being killed.
"""

import asyncio
from collections.abc import Awaitable, Callable

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

_log = structlog.get_logger(__name__)


class Operator:
    """Runs the controllers over a world whose caches are kept in step; made in a running loop."""

    def __init__(self, world: ControllerContext) -> None:
        self._world = world
        self._recorders: list[Recorder] = []
        self.has_begun = False
        """Whether there is work that has to be ended in order."""
        hubs, forms, nodes = (self._queue(name) for name in ("lynqhub", "lynqform", "lynqnode"))
        self._nodes = NodeController(
            world, nodes, self._teller("lynqnode-controller"), self._teller(FIELD_MANAGER)
        )
        ready, validity = self._nodes.children.are_workloads_ready, FormValidator(world)
        self._hubs = HubController(
            world,
            hubs,
            self._teller("lynqhub-controller"),
            workloads_ready=ready,
            validity=validity,
        )
        self._forms = FormController(
            world,
            forms,
            self._teller("lynqform-controller"),
            workloads_ready=ready,
            validity=validity,
        )
        options = world.options
        self._controllers = [
            self._controller("lynqhub", hubs, self._hubs.reconcile, options.hub_workers),
            self._controller("lynqform", forms, self._forms.reconcile, options.form_workers),
            self._controller("lynqnode", nodes, self._nodes.reconcile, options.node_workers),
        ]

    async def stand_by(self) -> None:
        """Watch what nodes have made, also while somebody else leads; until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._nodes.children.run(), name="children")
            await self._world.synced()
            await self._nodes.prepare()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, or this is cancelled; `stand_by` runs beside it."""
        await self._world.synced()
        async with asyncio.TaskGroup() as background:
            hubs = background.create_task(self._hubs.run(), name="hubs")
            await self._nodes.prepare()
            for each in (self._nodes, self._forms, self._hubs):
                each.attach()
            self._nodes.on_workload_up(self._forms.workload_is_up)
            self._nodes.on_workload_up(self._hubs.workload_is_up)
            self.has_begun = True
            _log.info("controllers started")
            await self._work(stop)
            self._nodes.close()
            hubs.cancel()
        _log.info("controllers stopped")

    async def _work(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as telling:
            for recorder in self._recorders:
                telling.create_task(recorder.run(), name="events")
            async with asyncio.TaskGroup() as working:
                for controller in self._controllers:
                    working.create_task(controller.run(), name=controller.name)
                await stop.wait()
                for controller in self._controllers:
                    controller.stop()
            for recorder in self._recorders:
                recorder.stop()
            telling.create_task(
                asyncio.sleep(self._world.timing.write_landing_delay), name="landing"
            )

    def _queue(self, name: str) -> WorkQueue[ObjectKey]:
        return WorkQueue(metrics=self._world.metrics.queue(name))

    def _teller(self, component: str) -> EventEmitter:
        recorder = Recorder(
            self._world.client,
            component,
            grace=self._world.timing.event_flush_timeout,
            metrics=self._world.metrics.events(),
        )
        self._recorders.append(recorder)
        return EventEmitter(recorder)

    def _controller(
        self,
        name: str,
        queue: WorkQueue[ObjectKey],
        reconcile: Callable[[ObjectKey], Awaitable[Result]],
        workers: int,
    ) -> Controller[ObjectKey]:
        metrics = self._world.metrics.controller(name)
        return Controller(
            name,
            queue,
            reconcile,
            workers=workers,
            grace=self._world.timing.drain_timeout,
            metrics=metrics,
        )
