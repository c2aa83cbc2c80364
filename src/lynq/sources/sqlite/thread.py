"""The threads of SQLite reads, which are given up when a file system does not answer.

A system call on a hung network volume cannot be stopped from outside. So a read never waits for
its thread longer than `GRACE` after its end: the thread is abandoned, closes the file by itself if
the volume ever answers, and the next read has another thread. They are daemon threads: the process
ends without them. A source abandons at most `MAX_ABANDONED` threads that are still blocked.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from lynq.sources.errors import Endpoint, SourceConnectionFailed

GRACE: Final = 0.2
"""Seconds that a thread has to end its work; a statement ends within milliseconds."""

MAX_ABANDONED: Final = 3

T = TypeVar("T")


class WorkerThread:
    """Runs work in order on one daemon thread."""

    def __init__(self, name: str) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run work after all earlier work, whether the future is cancelled or not."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            try:
                settle = partial(outcome.set_result, work())
            except BaseException as error:  # noqa: BLE001 - raised again in the event loop
                settle = partial(outcome.set_exception, error)
            # The loop may have been closed while a file system did not answer.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, outcome, settle)

        self._work.put(run)
        return outcome

    def end(self) -> None:
        """End the thread after all earlier work; do not wait for it."""
        self._work.put(None)

    @property
    def is_alive(self) -> bool:
        """Whether the thread has not ended yet."""
        return self._thread.is_alive()

    def _run(self) -> None:
        while work := self._work.get():
            work()


def _settle(outcome: asyncio.Future[T], settle: Callable[[], None]) -> None:
    if not outcome.cancelled():
        settle()


class WorkerThreads:
    """The threads of one source: one per read, and those that reads have abandoned."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._abandoned: list[WorkerThread] = []

    def start(self) -> WorkerThread:
        """Return a new thread; raises SourceConnectionFailed if too many are blocked."""
        self._abandoned = [thread for thread in self._abandoned if thread.is_alive]
        if len(self._abandoned) >= MAX_ABANDONED:
            raise SourceConnectionFailed(
                f"the file system does not answer: {MAX_ABANDONED} earlier reads are blocked",
                endpoint=self._endpoint,
            )
        return WorkerThread(f"sqlite {self._endpoint.database}")

    def abandon(self, thread: WorkerThread) -> None:
        """Count a thread that is blocked and no longer waited for."""
        self._abandoned.append(thread)
