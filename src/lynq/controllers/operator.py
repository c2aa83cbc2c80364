"""The three controllers at work: started together, stopped in the order that loses nothing.

Stopping takes three steps: no new reconcile begins and those that run may end; then the events
they recorded are written; then watches and push channels are cut. All of it is done in under five
seconds, whatever the API server does.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from lynq.api.metadata import ObjectKey
from lynq.api.names import FIELD_MANAGER
from lynq.controllers.form import FormController
from lynq.controllers.hub import HubController
from lynq.controllers.node import NodeController
from lynq.controllers.telling import Teller
from lynq.controllers.validity import Validity
from lynq.controllers.world import World
from lynq.kube import Controller, Queue, Recorder, Result

_DRAIN: Final = 3.0
"""Seconds that running reconciles have to end."""
_FLUSH: Final = 1.0
"""Seconds that recorded events have to be written."""

_log = structlog.get_logger(__name__)


class Operator:
    """Runs the controllers over a world whose caches are kept in step."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._recorders: list[Recorder] = []
        self._controllers: list[Controller[ObjectKey]] = []
        self.has_begun = False
        """Whether there is work that has to be ended in order."""

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, or this is cancelled."""
        world = self._world
        await world.synced()
        queues = {name: self._queue(name) for name in ("lynqhub", "lynqform", "lynqnode")}
        nodes = NodeController(
            world,
            queues["lynqnode"],
            self._teller("lynqnode-controller"),
            self._teller(FIELD_MANAGER),
        )
        validity = Validity(world)
        hubs = HubController(
            world,
            queues["lynqhub"],
            self._teller("lynqhub-controller"),
            workloads_ready=nodes.children.are_workloads_ready,
            validity=validity,
        )
        forms = FormController(
            world,
            queues["lynqform"],
            self._teller("lynqform-controller"),
            workloads_ready=nodes.children.are_workloads_ready,
            validity=validity,
        )
        async with asyncio.TaskGroup() as background:
            cut = [
                background.create_task(nodes.children.run(), name="children"),
                background.create_task(hubs.run(), name="hubs"),
            ]
            # Begun before anybody asks them for anything.
            await asyncio.sleep(0)
            await nodes.prepare()
            for each in (nodes, forms, hubs):
                each.attach()
            options = world.options
            self._control("lynqhub", queues["lynqhub"], hubs.reconcile, options.hub_workers)
            self._control("lynqform", queues["lynqform"], forms.reconcile, options.form_workers)
            self._control("lynqnode", queues["lynqnode"], nodes.reconcile, options.node_workers)
            self.has_begun = True
            _log.info("controllers started")
            await self._work(stop)
            for task in cut:
                task.cancel()
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

    def _queue(self, name: str) -> Queue[ObjectKey]:
        return Queue(metrics=self._world.metrics.queue(name))

    def _teller(self, component: str) -> Teller:
        recorder = Recorder(
            self._world.client, component, grace=_FLUSH, metrics=self._world.metrics.events()
        )
        self._recorders.append(recorder)
        return Teller(recorder)

    def _control(
        self,
        name: str,
        queue: Queue[ObjectKey],
        reconcile: Callable[[ObjectKey], Awaitable[Result]],
        workers: int,
    ) -> None:
        metrics = self._world.metrics.controller(name)
        self._controllers.append(
            Controller(name, queue, reconcile, workers=workers, grace=_DRAIN, metrics=metrics)
        )
