"""What runs beside the reconciles: reads of rows and push channels, all in one task group.

A worker never waits for a database: three that hang would otherwise keep all other hubs waiting.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

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
