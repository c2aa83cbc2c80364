"""The controller runner: workers that take keys from a queue and reconcile them.

One reconcile that fails must not take the others with it: its exception ends here, is counted and
logged, and the key is tried again after its back-off. What the cluster or the network answers is
expected and is logged in one line; anything else is a bug (what Go would call a panic), counted
as such and logged with the place it came from.

Workers that share a queue: each a loop in one task that takes a key, works and gives it back.

They live in a task group, so `run` returns when the last of them has ended and not before.

Stopping has two steps: the queue is closed, so that idle workers end at once and busy ones end
with their key; who is still busy after the grace period is cancelled.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

from lynq.kube.errors import KubeError, error_location, error_text
from lynq.kube.metrics import ControllerMetrics, RuntimeMetrics
from lynq.kube.workqueue import QueueClosed, QueuePriority, WorkQueue

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


_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Result:
    """How a reconcile ended well: done, or to be done again in `requeue_after` seconds.

    Zero asks for another go soon: it is backed off like a failure, since whoever asks for it
    again and again would otherwise spin.
    """

    requeue_after: float | None = None


class Controller(Generic[K]):
    """A named reconcile function with its queue and workers."""

    def __init__(
        self,
        name: str,
        queue: WorkQueue[K],
        reconcile: Callable[[K], Awaitable[Result]],
        *,
        workers: int = 1,
        grace: float = 5.0,
        metrics: ControllerMetrics | None = None,
    ) -> None:
        self.name = name
        self._queue = queue
        self._reconcile = reconcile
        self._count = workers
        self._grace = grace
        self._workers = Workers(queue, self._process, grace=grace)
        self._metrics = metrics or RuntimeMetrics.unread().controller(name)

    async def run(self) -> None:
        """Work until `stop` is called (or this is cancelled); returns when no worker is left."""
        self._metrics.workers.set(self._count)
        try:
            await self._workers.run(f"{self.name}-worker", self._count)
        except TimeoutError:
            _log.warning("reconciles cancelled on stop", controller=self.name, grace=self._grace)

    def stop(self) -> None:
        """Begin no more reconciles; those that run have the grace period to end."""
        self._workers.stop()

    async def _process(self, key: K) -> None:
        with self._metrics.active.track_inprogress(), self._metrics.time.time():
            try:
                result = await self._reconcile(key)
            except asyncio.CancelledError as error:
                if _is_being_cancelled():
                    raise
                # Something that the reconcile awaited was cancelled, not this worker.
                self._failed(key, error)
            except Exception as error:  # noqa: BLE001 - containing it is this module's job
                self._failed(key, error)
            else:
                self._succeeded(key, result)

    def _succeeded(self, key: K, result: Result) -> None:
        if result.requeue_after is None:
            self._queue.forget(key)
            self._metrics.results["success"].inc()
        elif result.requeue_after > 0:
            self._queue.forget(key)
            self._queue.add_after(key, result.requeue_after, priority=QueuePriority.PERIODIC)
            self._metrics.results["requeue_after"].inc()
        else:
            self._queue.retry(key)
            self._metrics.results["requeue"].inc()

    def _failed(self, key: K, error: BaseException) -> None:
        self._metrics.results["error"].inc()
        self._metrics.errors.inc()
        log = _log.bind(
            controller=self.name,
            key=str(key),
            failures=self._queue.failures(key) + 1,
            error=error_text(error),
        )
        if isinstance(error, KubeError | OSError):
            log.warning("reconcile failed")
        else:
            self._metrics.panics.inc()
            log.error("reconcile failed unexpectedly", traceback=error_location(error))
        self._queue.retry(key)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
