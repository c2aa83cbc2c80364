"""One operator that leads, and the next, whose caches lag behind when its turn comes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from cluster.controllers.environment import Environment
from cluster.controllers.running_operator import wait_for_node_ready
from lynq.controllers.manager import Process, ProcessSettings
from lynq.controllers.options import Options
from lynq.kube import Interceptor, Request, Resource, Response, Send


class WatchBlocker:
    """Cuts the watch of a kind, and lets no other one begin."""

    def __init__(self, resource: Resource) -> None:
        self._end = f"/{resource.plural}"
        self._clear = asyncio.Event()
        self._clear.set()
        self._streams: list[Response] = []

    async def __call__(self, request: Request, send: Send) -> Response:
        if not (request.stream and request.path.endswith(self._end)):
            return await send(request)
        await self._clear.wait()
        response = await send(request)
        self._streams.append(response)
        return response

    def fall(self) -> None:
        self._clear.clear()
        for stream in self._streams:
            stream.close()

    def lift(self) -> None:
        self._clear.set()


@dataclass(frozen=True, slots=True)
class Failover:
    """Who comes next, and how to make it so."""

    heir: Process
    happens: Callable[[], Awaitable[None]]
    """Lets the leader end; the heir takes the lease."""


@asynccontextmanager
async def failover(env: Environment, fog: WatchBlocker, *nodes: str) -> AsyncIterator[Failover]:
    """Have a leader make a hub's nodes, and an heir beside it that knows them.

    The heir is the one that the fog is for.
    """
    async with AsyncExitStack() as reign:
        leader = await reign.enter_async_context(candidate(env))
        await leader.world.synced()
        await env.create_hub(source={"syncInterval": "1s"})
        await env.create_form()
        for name in nodes:
            await wait_for_node_ready(env, name)
        async with candidate(env, fog) as heir:
            await heir.world.synced()
            yield Failover(heir, reign.aclose)


@asynccontextmanager
async def candidate(env: Environment, *hooks: Interceptor) -> AsyncIterator[Process]:
    """Run an operator that works when it has the lease."""
    options = Options(sqlite_directory=env.directory, namespaces=(env.namespace,))
    settings = ProcessSettings(
        options=options, leader_elect=True, leader_election_namespace=env.namespace
    )
    process = Process(settings, env.client.intercepted(*hooks))
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(process.run(stop))
        yield process
        stop.set()
