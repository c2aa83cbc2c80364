"""Workers that share a queue: each a loop in one task that takes a key, works and gives it back.

They live in a task group, so `run` returns when the last of them has ended and not before.

Stopping has two steps: the queue is closed, so that idle workers end at once and busy ones end
with their key; who is still busy after the grace period is cancelled.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from typing import Generic, TypeVar

from lynq.kube.workqueue import QueueClosed, WorkQueue

K = TypeVar("K", bound=Hashable)


class Workers(Generic[K]):
    """Tasks that call `work` with every key of a queue, which never gives one key to two."""

    def __init__(
        self, queue: WorkQueue[K], work: Callable[[K], Awaitable[None]], *, grace: float
    ) -> None:
        self._queue = queue
        self._work = work
        self._grace = grace
        self._deadline = asyncio.timeout(None)
        self._running = False

    async def run(self, name: str, count: int) -> None:
        """Work until `stop` is called; raises TimeoutError if some were busy beyond the grace."""
        self._running = True
        try:
            async with self._deadline, asyncio.TaskGroup() as group:
                for number in range(count):
                    group.create_task(self._take_keys(), name=f"{name}-{number}")
        finally:
            self._running = False

    def stop(self, *, drain: bool = False) -> None:
        """Let no more keys in, nor out unless they are to be drained; the grace period begins."""
        self._queue.close(drain=drain)
        if self._running and self._deadline.when() is None:
            self._deadline.reschedule(asyncio.get_running_loop().time() + self._grace)

    async def _take_keys(self) -> None:
        with suppress(QueueClosed):
            while True:
                key = await self._queue.get()
                try:
                    await self._work(key)
                finally:
                    self._queue.done(key)
                # Work that finds nothing to do never waits for anything. Without this, a sweep
                # over ten thousand keys would hold up watches and the lease.
                await asyncio.sleep(0)
