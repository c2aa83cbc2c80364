"""The controller: workers that take keys from a queue and reconcile them.

An exception of a reconcile is contained here: it is counted and logged, and the key is requeued
with back-off. Errors of the API server and the network are expected and logged in one line. Any
other exception is a bug (a panic in Go), counted as such and logged with its traceback.

A reconcile that waits for long can give up its worker (`release_worker`): it goes on, and a spare
worker takes the next key. The number of spare workers bounds the number of such reconciles.

The workers of a queue run in one task group, so `run` returns after the last of them has ended. A
stop has two steps. The queue is closed: idle workers end at once, busy workers end after their
current key. Workers that are still busy after the grace period are cancelled.
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

_log = structlog.get_logger(__name__)


class Workers(Generic[K]):
    """Tasks that process the keys of a queue; a key is never processed by two at once."""

    def __init__(
        self, queue: WorkQueue[K], process: Callable[[K], Awaitable[None]], *, grace: float
    ) -> None:
        self._queue = queue
        self._process = process
        self._grace = grace
        self._deadline = asyncio.timeout(None)
        self._running = False
        self._slots = asyncio.Semaphore(0)
        self._slot_holders: set[K] = set()

    async def run(self, name: str, count: int, *, spare: int = 0) -> None:
        """Process `count` keys at once until `stop`.

        Up to `spare` keys whose slots were released are processed besides them. Raises TimeoutError
        if the grace period did not suffice.
        """
        self._running = True
        self._slots = asyncio.Semaphore(count)
        try:
            async with self._deadline, asyncio.TaskGroup() as group:
                for number in range(count + spare):
                    group.create_task(self._process_keys(), name=f"{name}-{number}")
        finally:
            self._running = False

    def stop(self, *, drain: bool = False) -> None:
        """Close the queue and start the grace period; with `drain`, ready keys are processed."""
        self._queue.close(drain=drain)
        if self._running and self._deadline.when() is None:
            self._deadline.reschedule(asyncio.get_running_loop().time() + self._grace)

    def release(self, key: K) -> None:
        """Let another key be processed in the slot of `key`, if it holds one."""
        if key in self._slot_holders:
            self._slot_holders.discard(key)
            self._slots.release()

    async def _process_keys(self) -> None:
        with suppress(QueueClosed):
            while True:
                key = await self._next_key()
                try:
                    await self._process(key)
                finally:
                    self._queue.done(key)
                    self.release(key)
                # A reconcile without changes never awaits. Without this, a sweep over ten thousand
                # keys would delay watches and the lease.
                await asyncio.sleep(0)

    async def _next_key(self) -> K:
        """Wait for a slot and a key, which holds the slot."""
        await self._slots.acquire()
        try:
            key = await self._queue.get()
        except BaseException:
            self._slots.release()
            raise
        self._slot_holders.add(key)
        return key


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a successful reconcile; with `requeue_after`, repeat it in that many seconds.

    Zero requeues with back-off, like a failure, so that it cannot become a busy loop.
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
        spare_workers: int = 0,
        grace: float = 5.0,
        metrics: ControllerMetrics | None = None,
    ) -> None:
        self.name = name
        self._queue = queue
        self._reconcile = reconcile
        self._count = workers
        self._spare = spare_workers
        self._grace = grace
        self._workers = Workers(queue, self._process, grace=grace)
        self._metrics = metrics or RuntimeMetrics.unexposed().controller(name)

    async def run(self) -> None:
        """Reconcile until `stop` or cancellation; returns after the last worker has ended."""
        self._metrics.workers.set(self._count)
        try:
            await self._workers.run(f"{self.name}-worker", self._count, spare=self._spare)
        except TimeoutError:
            _log.warning("reconciles cancelled on stop", controller=self.name, grace=self._grace)

    def stop(self) -> None:
        """Start no more reconciles; running ones have the grace period to end."""
        self._workers.stop()

    def release_worker(self, key: K) -> None:
        """Give the worker of a running reconcile to the next key; the reconcile goes on."""
        self._workers.release(key)

    async def _process(self, key: K) -> None:
        with self._metrics.active.track_inprogress(), self._metrics.time.time():
            try:
                result = await self._reconcile(key)
            except asyncio.CancelledError as error:
                if _is_being_cancelled():
                    raise
                # An awaitable of the reconcile was cancelled, not this worker.
                self._failed(key, error)
            except Exception as error:  # noqa: BLE001 - contained here, see the module
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
