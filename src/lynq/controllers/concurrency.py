"""Concurrent requests of one reconcile, and background jobs that outlive it.

Reads of rows and push subscriptions are background jobs: a worker never waits for a database, or
three databases that hang would block all hubs.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, Final, Generic, TypeAlias, TypeVar

T = TypeVar("T")

MAX_PARALLEL: Final = 32
"""Number of items that `for_each_parallel` processes at the same time."""
_LIMIT_CHECK: Final = 0.02
"""Seconds between two checks of the limit while no item ends."""


class SharedRead(Generic[T]):
    """A read whose result is valid for all callers that need nothing older than their own time."""

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._read = read
        self._lock = asyncio.Lock()
        self._last: tuple[float, T] | None = None
        """When the last read began, and its result."""

    async def result(self, since: float | None = None) -> T:
        """Return the result of a read that began after `since`, a time of the event loop; now."""
        clock = asyncio.get_running_loop().time
        since = clock() if since is None else since
        async with self._lock:
            if self._last is None or self._last[0] <= since:
                began = clock()
                self._last = began, await self._read()
            return self._last[1]


async def gather_or_cancel(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return all results in order; the first failure cancels the rest and is raised.

    The failure is raised as itself and not as an exception group.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in work]
    except BaseExceptionGroup as failures:
        raise _first(failures) from None
    return [task.result() for task in tasks]


async def run_beside(
    work: Coroutine[Any, Any, T], delay: Callable[[], float], action: Callable[[], Awaitable[None]]
) -> T:
    """Return the result of `work`; run `action` beside it once `delay()` is 0 or less.

    The delay is in seconds, and computed again after they have passed. A failure of either is
    raised, after the other has ended.
    """
    task = asyncio.create_task(work)
    try:
        while not task.done() and (seconds := delay()) > 0:
            await asyncio.wait((task,), timeout=seconds)
        if not task.done():
            await action()
        return await task
    finally:
        task.cancel()
        # Its failure is retrieved, too: asyncio would log it.
        await asyncio.gather(task, return_exceptions=True)


async def for_each_parallel(
    items: Iterable[T],
    process: Callable[[T], Awaitable[None]],
    limit: Callable[[], int] = lambda: MAX_PARALLEL,
) -> None:
    """Process all items, started in order; the first failure cancels the rest and is raised.

    At most `limit` items are processed at the same time. The limit is asked for again after each
    item, and from time to time, because it may be 0. An item is taken when it is started.
    """
    remaining = iter(items)
    exhausted = asyncio.Event()
    running = 0

    async def process_one(group: asyncio.TaskGroup, item: T) -> None:
        nonlocal running
        await process(item)
        running -= 1
        start(group)

    def start(group: asyncio.TaskGroup) -> None:
        nonlocal running
        while running < limit():
            try:
                item = next(remaining)
            except StopIteration:
                exhausted.set()
                return
            running += 1
            group.create_task(process_one(group, item))

    try:
        async with asyncio.TaskGroup() as group:
            start(group)
            while not exhausted.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LIMIT_CHECK):
                        await exhausted.wait()
                start(group)
    except BaseExceptionGroup as failures:
        raise _first(failures) from None


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class BackgroundJob:
    """A task that runs until it ends or is canceled."""

    def __init__(self, work: Work, name: str) -> None:
        self._work = work
        self._name = name
        self._task: asyncio.Task[None] | None = None
        self._canceled = False

    def start(self, group: asyncio.TaskGroup) -> None:
        """Run the job in a task group, unless it is canceled already."""
        if not self._canceled:
            self._task = group.create_task(self._work(), name=self._name)

    def cancel(self) -> None:
        """Cancel the job; its task group waits for its end."""
        self._canceled = True
        if self._task:
            self._task.cancel()


class BackgroundJobs:
    """The background jobs of all hubs. Jobs that are started before `run` wait for it."""

    def __init__(self) -> None:
        self._pending: asyncio.Queue[BackgroundJob] = asyncio.Queue()

    def start(self, work: Work, *, name: str) -> BackgroundJob:
        """Start a background job. It must handle its own exceptions."""
        job = BackgroundJob(work, name)
        self._pending.put_nowait(job)
        return job

    async def run(self) -> None:
        """Run jobs until canceled."""
        async with asyncio.TaskGroup() as group:
            while True:
                job = await self._pending.get()
                job.start(group)
