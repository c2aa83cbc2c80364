"""Renders slow manifests (keys, certificates) in background threads.

The threads are daemons: a process that stops does not wait for a key. The generation of a key
releases the interpreter lock, so that the event loop is not blocked.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final, TypeAlias

from lynq.api.metadata import ObjectKey
from lynq.core.node.render import Rendered

_THREADS: Final = 2

PendingRender: TypeAlias = "Future[Rendered]"
"""The render of one object; its exception is a RenderError if it fails."""


class RenderPool:
    """Threads that render one object at a time; they start with the first one."""

    def __init__(self, requeue: Callable[[ObjectKey], None]) -> None:
        self._requeue = requeue
        self._queue: SimpleQueue[tuple[PendingRender, Callable[[], Rendered]]] = SimpleQueue()
        self._threads: list[Thread] = []

    def submit(self, node: ObjectKey, render: Callable[[], Rendered]) -> PendingRender:
        """Render an object of a node in the background; the node is requeued when it is done."""
        pending: PendingRender = Future()
        loop = asyncio.get_running_loop()

        def requeue(_: PendingRender) -> None:
            # The loop may be closed by then.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._requeue, node)

        pending.add_done_callback(requeue)
        self._queue.put((pending, render))
        if len(self._threads) < _THREADS:
            thread = Thread(target=self._run, name="keys", daemon=True)
            self._threads.append(thread)
            thread.start()
        return pending

    def close(self) -> None:
        """Cancel the renders that have not started."""
        with suppress(Empty):
            while True:
                pending, _ = self._queue.get_nowait()
                pending.cancel()

    def _run(self) -> None:
        while True:
            pending, render = self._queue.get()
            if not pending.set_running_or_notify_cancel():
                continue
            try:
                pending.set_result(render())
            except Exception as error:  # noqa: BLE001 - raised by the reader of the result
                pending.set_exception(error)
