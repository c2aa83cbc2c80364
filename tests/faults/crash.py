"""Runs the operator in the test process and crashes it at any of its writes.

To the API server, a killed process and a process whose requests are all dropped look the same.
Dropping requests makes it possible to crash at every write without starting a new process.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from faults.tenants import watched_namespaces
from lynq.controllers.manager import Process, ProcessSettings
from lynq.controllers.options import Options
from lynq.controllers.timing import DEFAULT_TIMING, Timing
from lynq.kube import Interceptor, Request, Response, Send
from lynq.kube.errors import KubeError
from operated.environment import Environment

_READS = frozenset({"get", "list", "watch"})


@dataclass(slots=True)
class Crash:
    """Crashes the operator at one write, before it is sent or before its response is read."""

    at: int = 0
    """The number of the write, counted from 1; 0 means never."""
    path: str = ""
    """The writes that are counted have this in their paths."""
    is_sent: bool = False
    """Whether that write still reaches the API server."""
    writes: list[str] = field(default_factory=list)
    happened: asyncio.Event = field(default_factory=asyncio.Event)
    _last: float = field(default_factory=time.monotonic)
    """When the last request began."""

    def is_quiet(self, seconds: float) -> bool:
        """Return whether the operator has begun no request for some time."""
        return time.monotonic() - self._last > seconds

    async def __call__(self, request: Request, send: Send) -> Response:
        if self.happened.is_set():
            raise KubeError("the operator has crashed")
        self._last = time.monotonic()
        is_counted = "/events" not in request.path and self.path in request.path
        if request.verb in _READS or not is_counted:
            return await send(request)
        self.writes.append(f"{request.verb} {request.path}")
        if len(self.writes) != self.at:
            return await send(request)
        if self.is_sent:
            await send(request)
        self.happened.set()
        raise KubeError("the operator has crashed")


def intercepted_operator(
    env: Environment, interceptor: Interceptor, timing: Timing = DEFAULT_TIMING
) -> Process:
    """Return the whole operator with an interceptor on its API requests."""
    options = Options(
        sqlite_directory=env.directory, namespaces=watched_namespaces(env), timing=timing
    )
    process = Process(ProcessSettings(options=options), env.client.intercepted(interceptor))
    env.context, env.registry = process.context, process.registry
    return process


@asynccontextmanager
async def crashing_operator(
    env: Environment, crash: Crash, timing: Timing = DEFAULT_TIMING
) -> AsyncIterator[Process]:
    """Run the whole operator during the block; a crash stops it, and the block continues."""
    process = intercepted_operator(env, crash, timing)
    stop = asyncio.Event()
    running = asyncio.create_task(process.run(stop))
    end = asyncio.create_task(_cancel_on(crash, running))
    try:
        yield process
    finally:
        crash.happened.set()
        running.cancel()
        await asyncio.wait((running, end))


async def _cancel_on(crash: Crash, running: "asyncio.Task[None]") -> None:
    await crash.happened.wait()
    running.cancel()
