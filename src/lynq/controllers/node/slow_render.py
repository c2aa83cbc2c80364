"""Renders what takes seconds, keys and certificates, where nobody waits for it.

The threads are daemons: a process that is to end does not wait for a key that nobody will write.
Whoever makes a key holds no lock of the interpreter, so the event loop goes on beside it.
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
"""An object that is being rendered, or was; a RenderError if it could not be."""


class RenderPool:
    """Threads that render one object after the other; started when there is a first one."""

    def __init__(self, wake: Callable[[ObjectKey], None]) -> None:
        self._wake = wake
        self._waiting: SimpleQueue[tuple[PendingRender, Callable[[], Rendered]]] = SimpleQueue()
        self._threads: list[Thread] = []

    def submit(self, node: ObjectKey, render: Callable[[], Rendered]) -> PendingRender:
        """Have an object of a node rendered; the node is woken then, on the loop."""
        making: PendingRender = Future()
        loop = asyncio.get_running_loop()

        def tell(_: PendingRender) -> None:
            with suppress(RuntimeError):
                # The loop may be closed by then.
                loop.call_soon_threadsafe(self._wake, node)

        making.add_done_callback(tell)
        self._waiting.put((making, render))
        if len(self._threads) < _THREADS:
            thread = Thread(target=self._work, name="keys", daemon=True)
            self._threads.append(thread)
            thread.start()
        return making

    def close(self) -> None:
        """Begin no more of what is waiting."""
        with suppress(Empty):
            while True:
                making, _ = self._waiting.get_nowait()
                making.cancel()

    def _work(self) -> None:
        while True:
            making, render = self._waiting.get()
            if not making.set_running_or_notify_cancel():
                continue
            try:
                making.set_result(render())
            except Exception as error:  # noqa: BLE001 - raised where the result is asked for
                making.set_exception(error)
