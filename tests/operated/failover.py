"""Runs a leader and a standby whose watch cache is stale when it takes over."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from lynq.controllers.manager import Process, ProcessSettings
from lynq.controllers.options import Options
from lynq.kube import Interceptor, Request, Resource, Response, Send
from operated.environment import Environment
from operated.running_operator import wait_for_node_ready


class WatchBlocker:
    """Interrupts the watches of one kind and blocks new ones."""

    def __init__(self, resource: Resource) -> None:
        self._suffix = f"/{resource.plural}"
        self._unblocked = asyncio.Event()
        self._unblocked.set()
        self._streams: list[Response] = []

    async def __call__(self, request: Request, send: Send) -> Response:
        if not (request.stream and request.path.endswith(self._suffix)):
            return await send(request)
        await self._unblocked.wait()
        response = await send(request)
        self._streams.append(response)
        return response

    def block(self) -> None:
        """Close all open watches and block new ones."""
        self._unblocked.clear()
        for stream in self._streams:
            stream.close()

    def unblock(self) -> None:
        self._unblocked.set()


@dataclass(frozen=True, slots=True)
class Failover:
    """A standby process, and the means to promote it."""

    standby: Process
    stop_leader: Callable[[], Awaitable[None]]
    """Stops the leader; the standby acquires the lease."""


@asynccontextmanager
async def failover(env: Environment, blocker: WatchBlocker, *nodes: str) -> AsyncIterator[Failover]:
    """Run a leader until a hub's nodes are ready, then a standby whose cache has them.

    The blocker intercepts the requests of the standby.
    """
    async with AsyncExitStack() as leading:
        leader = await leading.enter_async_context(candidate(env))
        await leader.context.synced()
        await env.create_hub(sync_interval="1s")
        await env.create_form()
        for name in nodes:
            await wait_for_node_ready(env, name)
        async with candidate(env, blocker) as standby:
            await standby.context.synced()
            yield Failover(standby, leading.aclose)


@asynccontextmanager
async def candidate(env: Environment, *interceptors: Interceptor) -> AsyncIterator[Process]:
    """Run an operator that reconciles while it holds the lease."""
    options = Options(sqlite_directory=env.directory, namespaces=(env.namespace,))
    settings = ProcessSettings(
        options=options, leader_elect=True, leader_election_namespace=env.namespace
    )
    process = Process(settings, env.client.intercepted(*interceptors))
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(process.run(stop))
        yield process
        stop.set()
