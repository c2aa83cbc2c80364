"""Several requests at once, each awaited, whatever becomes of the others.

What runs beside the reconciles: reads of rows and push channels, all in one task group.

A worker never waits for a database: three that hang would otherwise keep all other hubs waiting.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 32
"""How many of many are on their way at most."""


async def gather_or_cancel(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return all results in their order; if one fails, the others are cancelled and it is raised.

    It is raised as itself and not as a group: a reconcile has one way to fail at a time.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as failures:
        raise _first(failures) from None
    return [task.result() for task in tasks]


async def for_each_parallel(items: Sequence[T], write: Callable[[T], Awaitable[None]]) -> None:
    """Write all items, begun in their order; what one raises ends all, and is raised as it is."""
    remaining = iter(items)

    async def worker() -> None:
        for item in remaining:
            await write(item)

    await gather_or_cancel(worker() for _ in range(min(AT_ONCE, len(items))))


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class BackgroundJob:
    """Something that runs until it ends or is cancelled."""

    def __init__(self, work: Work, name: str) -> None:
        self._work = work
        self._name = name
        self._task: asyncio.Task[None] | None = None
        self._cancelled = False

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Run it in a group, unless it was cancelled before."""
        if not self._cancelled:
            self._task = group.create_task(self._work(), name=self._name)

    def cancel(self) -> None:
        """End it; its group waits for that."""
        self._cancelled = True
        if self._task:
            self._task.cancel()


class BackgroundJobs:
    """The jobs of all hubs. What is started before `run` begins with it."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[BackgroundJob] = asyncio.Queue()

    def start(self, work: Work, *, name: str) -> BackgroundJob:
        """Have work done; it must contain its own failures."""
        job = BackgroundJob(work, name)
        self._waiting.put_nowait(job)
        return job

    async def run(self) -> None:
        """Run jobs until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                job = await self._waiting.get()
                job.begin(group)
