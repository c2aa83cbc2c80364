"""The operator in the test's own process, crashed at any of its writes.

For the API server it makes no difference whether a process was killed or merely never heard of
again: after the crash nothing passes. So every write can be tried, without starting Python anew.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from cluster.controllers.environment import Environment
from faults.tenants import places_of
from lynq.controllers.manager import Process, ProcessSettings
from lynq.controllers.options import Options
from lynq.kube import Interceptor, Request, Response, Send
from lynq.kube.errors import KubeError

_READS = frozenset({"get", "list", "watch"})


@dataclass(slots=True)
class Crash:
    """Falls upon one write: before the API server hears of it, or before its answer is heard."""

    at: int = 0
    """Which of the writes, counted from 1; 0 is none."""
    heard: bool = False
    """Whether the API server still gets that write."""
    writes: list[str] = field(default_factory=list)
    happened: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, request: Request, send: Send) -> Response:
        if self.happened.is_set():
            raise KubeError("nobody is there any more")
        if request.verb in _READS or "/events" in request.path:
            return await send(request)
        self.writes.append(f"{request.verb} {request.path}")
        if len(self.writes) != self.at:
            return await send(request)
        if self.heard:
            await send(request)
        self.happened.set()
        raise KubeError("nobody is there any more")


def operator_behind(env: Environment, interceptor: Interceptor) -> Process:
    """Return the whole operator, with something between it and the API server."""
    options = Options(sqlite_directory=env.directory, namespaces=places_of(env))
    return Process(ProcessSettings(options=options), env.client.intercepted(interceptor))


@asynccontextmanager
async def crashing(env: Environment, crash: Crash) -> AsyncIterator[None]:
    """Run the whole operator during the block; a crash ends it, and the block goes on."""
    process = operator_behind(env, crash)
    stop = asyncio.Event()
    running = asyncio.create_task(process.run(stop))
    end = asyncio.create_task(_at(crash, running))
    try:
        yield
    finally:
        crash.happened.set()
        running.cancel()
        await asyncio.wait((running, end))


async def _at(crash: Crash, running: "asyncio.Task[None]") -> None:
    await crash.happened.wait()
    running.cancel()
