"""Open a TCP connection for a thread that will block on it, with a way to cut it.

A thread that waits in a socket cannot be cancelled, but its connection can be shut down under it:
the read returns at once, wherever the driver is. That works only if we own the socket before the
driver does, so it is dialed here, in the loop, where resolving and connecting can be cancelled too.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any

from lynq.sources.network import network_failure
from lynq.sources.settings import MySQLSettings

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
