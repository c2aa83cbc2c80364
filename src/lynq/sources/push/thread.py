"""Run what blocks in a thread of its own, and get it back whatever happens.

A push channel waits for hours. In the loop's shared executor it would take a seat from everybody
else, and that executor's threads are joined at exit with no way to hurry them. So each channel has
its own thread, and whoever starts one also says how to `stop` it: cut its socket, set its event.
`run_in_thread` comes back only when the thread is gone, so no thread outlives its channel.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable


async def run_in_thread(work: Callable[[], None], *, stop: Callable[[], None], name: str) -> None:
    """Run `work` until it returns or raises; when cancelled, call `stop` and wait for the end.

    `stop` must make `work` end soon, whatever it is doing; what it raises then is of no interest.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[BaseException | None] = loop.create_future()

    def run() -> None:
        failure: BaseException | None = None
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again in the loop
            failure = error
        loop.call_soon_threadsafe(ended.set_result, failure)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        failure = await asyncio.shield(ended)
    finally:
        stop()
        while not ended.done():
            # A second cancellation cannot make the thread end any sooner.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([ended])
        thread.join()
    if failure:
        raise failure


class CancelScope:
    """Rings a bell in the loop's thread, pulled from another.

    A thousand pulls before the loop finds the time to ring are one: a busy server cannot fill the
    loop's queue. The mark is taken off before ringing, so a pull at that moment rings once more.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._ring = ring
        self._pulled = False

    def pull(self) -> None:
        """Have the bell rung soon. May be called from any thread."""
        if not self._pulled:
            self._pulled = True
            self._loop.call_soon_threadsafe(self._fire)

    def _fire(self) -> None:
        self._pulled = False
        self._ring()
