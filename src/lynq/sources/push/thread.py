"""Threads and sockets of push channels whose drivers block.

A push channel waits for hours. In the loop's shared executor it would occupy a worker, and that
executor's threads are joined at exit without a way to stop them. So each channel has its own thread
and a `stop` function for it: shut down its socket, or set its event. `run_in_thread` returns only
after the thread has ended, so no thread outlives its channel, except one that a hung file system
blocks.

A thread that is blocked on a socket cannot be cancelled, but its connection can be shut down: the
read returns at once, wherever the driver is. This needs a handle on the socket from before the
driver's login. So the socket is connected here, in the loop, where resolving and connecting can be
cancelled too.
"""

import asyncio
import math
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress

from lynq.sources.network import network_failure, server_addresses
from lynq.sources.push.channel import united
from lynq.sources.resolver import ServerAddress
from lynq.sources.settings import ServerSettings


async def run_in_thread(
    work: Callable[[], None],
    *,
    stop: Callable[[], None],
    name: str,
    grace: float | None = None,
) -> None:
    """Run `work` until it returns or raises; when cancelled, call `stop` and wait for the end.

    `stop` must make `work` end soon, at any point. An exception that `work` raises then is ignored.
    With `grace`, a thread that a file system blocks for longer than these seconds is given up.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[BaseException | None] = loop.create_future()

    def run() -> None:
        failure: BaseException | None = None
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again in the loop
            failure = error
        # The event loop of a thread that was given up may be closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(ended.set_result, failure)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        failure = await asyncio.shield(ended)
    finally:
        stop()
        until = math.inf if grace is None else loop.time() + grace
        while not ended.done() and (remaining := until - loop.time()) > 0:
            # A second cancellation cannot end the thread any sooner.
            with suppress(asyncio.CancelledError):
                await asyncio.wait([ended], timeout=None if grace is None else remaining)
        if ended.done():
            thread.join()
    if failure:
        raise failure


class CoalescedCallback:
    """Runs a callback with the uids of changed rows in the event loop's thread.

    Calls of `schedule`, from another thread, before the loop runs the callback are coalesced into
    one, so a busy server cannot fill the loop's queue.
    """

    def __init__(self, callback: Callable[[frozenset[str] | None], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._callback = callback
        self._lock = threading.Lock()
        self._uids: frozenset[str] | None = frozenset()
        self._scheduled = False

    def schedule(self, uids: frozenset[str] | None = None) -> None:
        """Run the callback soon; without uids, any row may have changed."""
        with self._lock:
            self._uids = united(self._uids, uids)
            was_scheduled, self._scheduled = self._scheduled, True
        if not was_scheduled:
            self._loop.call_soon_threadsafe(self._run)

    def _run(self) -> None:
        with self._lock:
            uids, self._uids = self._uids, frozenset()
            self._scheduled = False
        self._callback(uids)


class CancellableSocket:
    """A connected socket for a driver, with a second handle on the same connection."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        # TLS detaches the descriptor from the socket that it wraps; the duplicate stays usable.
        self._duplicate = connected.dup()

    def cancel(self) -> None:
        """Shut down the connection; a blocked read or write returns. Any thread may call this."""
        with suppress(OSError):
            self._duplicate.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the descriptors after the driver has ended."""
        self._duplicate.close()
        self.socket.close()


@asynccontextmanager
async def open_sockets(
    settings: ServerSettings, count: int
) -> AsyncIterator[list[CancellableSocket]]:
    """Connect to a server `count` times; close the sockets at the end of the block."""
    with ExitStack() as stack:
        sockets = []
        for _ in range(count):
            sockets.append(await _open_socket(settings))
            stack.callback(sockets[-1].close)
        yield sockets


async def _open_socket(settings: ServerSettings) -> CancellableSocket:
    """Connect to the first of the server's addresses that accepts."""
    failure = OSError("no address")
    for address in await server_addresses(settings):
        try:
            return CancellableSocket(await _connect(address))
        except OSError as error:
            failure = error
    raise network_failure(failure, settings.endpoint)


async def _connect(address: ServerAddress) -> socket.socket:
    connection = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        connection.settimeout(0)
        await asyncio.get_running_loop().sock_connect(connection, address.socket_address)
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return connection
