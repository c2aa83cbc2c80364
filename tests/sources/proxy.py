"""A TCP proxy that injects faults: refuse, cut, reset, silence."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import Enum

_CHUNK = 1 << 14


class Fault(Enum):
    """The fault after a number of bytes from the server."""

    NONE = "none"
    RESET = "reset"
    CUT = "cut"
    SILENCE = "silence"


class Proxy:
    """Forwards between a client and a server; the fault applies to all connections."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.fault = Fault.NONE
        self.remaining = 0
        """Bytes from the server that are forwarded before the fault."""
        self.accepted = 0
        """Number of accepted connections."""

    def inject(self, fault: Fault, *, after: int = 0) -> None:
        self.fault = fault
        self.remaining = after

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """Stop listening, and drop all connections."""
        if self._server:
            self._server.close()
        await self.drop()

    async def drop(self) -> None:
        """Drop all connections."""
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
            upstream = await asyncio.open_connection(*self._target)
        except OSError:
            _reset(writer)
            return
        forward = asyncio.ensure_future(_forward(reader, upstream[1]))
        try:
            await self._forward_responses(upstream[0], writer)
        except asyncio.CancelledError:
            _reset(writer)
        finally:
            forward.cancel()
            upstream[1].close()
            writer.close()

    async def _forward_responses(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                if self.fault is not Fault.NONE:
                    data = data[: self.remaining]
                    self.remaining -= len(data)
                writer.write(data)
                await writer.drain()
                if self.fault is not Fault.NONE and not self.remaining:
                    break
            else:
                return
        await self._fail(writer)

    async def _fail(self, writer: asyncio.StreamWriter) -> None:
        if self.fault is Fault.RESET:
            _reset(writer)
        if self.fault is Fault.SILENCE:
            await asyncio.Event().wait()


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST instead of FIN."""
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
