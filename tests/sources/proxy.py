"""A TCP proxy that does to a connection what networks do: refuse, cut, reset, fall silent."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import Enum

_CHUNK = 1 << 14


class Fault(Enum):
    """What happens to the server's words once enough of them have passed."""

    NONE = "none"
    RESET = "reset"
    CUT = "cut"
    SILENCE = "silence"


class Proxy:
    """Stands between a client and a server; `fault` holds for all connections, from now on."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.fault = Fault.NONE
        self.passing = 0
        """Bytes from the server that still pass before the fault."""
        self.accepted = 0
        """Connections so far."""

    def breaks(self, fault: Fault, *, after: int = 0) -> None:
        self.fault = fault
        self.passing = after

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """Stop to listen, and drop everybody."""
        if self._server:
            self._server.close()
        await self.drop()

    async def drop(self) -> None:
        """Drop everybody who is connected."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            there = await asyncio.open_connection(*self._target)
        except OSError:
            _reset(writer)
            return
        up = asyncio.ensure_future(_pump(reader, there[1]))
        try:
            await self._answer(there[0], writer)
        except asyncio.CancelledError:
            _reset(writer)
        finally:
            up.cancel()
            there[1].close()
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                if self.fault is not Fault.NONE:
                    data = data[: self.passing]
                    self.passing -= len(data)
                writer.write(data)
                await writer.drain()
                if self.fault is not Fault.NONE and not self.passing:
                    break
            else:
                return
        await self._break(writer)

    async def _break(self, writer: asyncio.StreamWriter) -> None:
        if self.fault is Fault.RESET:
            _reset(writer)
        if self.fault is Fault.SILENCE:
            await asyncio.Event().wait()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST in place of FIN."""
    linger = struct.pack("ii", 1, 0)
    sock: socket.socket | None = writer.get_extra_info("socket")
    if sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


@asynccontextmanager
async def proxied(host: str, port: int) -> AsyncIterator[Proxy]:
    """Run a proxy for a block."""
    proxy = Proxy(host, port)
    await proxy.listen()
    try:
        yield proxy
    finally:
        await proxy.refuse()
