"""Run what blocks in a thread of its own, and get it back whatever happens.

A push channel waits for hours. In the loop's shared executor it would take a seat from everybody
else, and that executor's threads are joined at exit with no way to hurry them. So each channel has
its own thread, and whoever starts one also says how to `stop` it: cut its socket, set its event.
`run_in_thread` comes back only when the thread is gone, so no thread outlives its channel.

Open a TCP connection for a thread that will block on it, with a way to cut it.

A thread that waits in a socket cannot be cancelled, but its connection can be shut down under it:
the read returns at once, wherever the driver is. That works only if we own the socket before the
driver does, so it is dialed here, in the loop, where resolving and connecting can be cancelled too.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any

from lynq.sources.network import network_failure
from lynq.sources.settings import MySQLSettings


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


# What getaddrinfo answers: family, kind, protocol, canonical name, socket address.
Address = tuple[int, int, int, str, Any]


class CancellableSocket:
    """A connected socket for a driver, and our own handle on the same connection."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        # TLS takes the descriptor out of the socket it wraps; a duplicate stays with us.
        self._leash = connected.dup()

    def cut(self) -> None:
        """End the connection under whoever reads or writes it, from any thread."""
        with suppress(OSError):
            self._leash.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give back the descriptors, when nobody uses the socket any more."""
        self._leash.close()
        self.socket.close()


@asynccontextmanager
async def open_sockets(
    settings: MySQLSettings, count: int
) -> AsyncIterator[list[CancellableSocket]]:
    """Connect to a server `count` times, and close what is left of the lines at the end."""
    with ExitStack() as stack:
        lines = []
        for _ in range(count):
            lines.append(await _open_socket(settings))
            stack.callback(lines[-1].close)
        yield lines


async def _open_socket(settings: MySQLSettings) -> CancellableSocket:
    """Connect to the first of the server's addresses that answers."""
    loop = asyncio.get_running_loop()
    failure = OSError("no address")
    try:
        addresses = await loop.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise network_failure(error, settings.place) from None
    for address in addresses:
        try:
            return CancellableSocket(await _connect(address))
        except OSError as error:
            failure = error
    raise network_failure(failure, settings.place)


async def _connect(address: Address) -> socket.socket:
    family, kind, protocol, _, where = address
    connection = socket.socket(family, kind, protocol)
    try:
        connection.settimeout(0)
        await asyncio.get_running_loop().sock_connect(connection, where)
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return connection
