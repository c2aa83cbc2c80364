"""Delays between tests and their servers, for `make races`.

With a seed in LYNQ_TEST_DELAYS, API servers and databases are reached through proxies that hold
bytes back at random, on each connection by itself. So a watch event arrives long before or after
the response to the request that caused it, and a notification long after its commit. No code of
the operator is replaced.
"""

import asyncio
import os
import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import yaml

SEED = "LYNQ_TEST_DELAYS"
_SHARE = 0.05
"""The share of chunks that are held back."""
_LONGEST = 1.0
"""Seconds."""
_CHUNK = 1 << 16


@dataclass(slots=True)
class _Proxy:
    """Forwards between clients and one server, on a thread: a test may block its event loop."""

    host: str
    port: int
    random: random.Random
    listening: "Future[int]" = field(default_factory=Future)
    """The port of the proxy."""
    _loop: asyncio.AbstractEventLoop | None = None
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    def run(self) -> None:
        """Accept connections until `stop`."""
        asyncio.run(self._serve())

    def stop(self) -> None:
        """Close all connections."""
        if self._loop:
            self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._accept, self.host, 0)
        self.listening.set_result(server.sockets[0].getsockname()[1])
        await self._stopped.wait()
        server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_server, to_server = await asyncio.open_connection(self.host, self.port)
        except OSError:
            writer.transport.abort()
            return
        try:
            await asyncio.gather(
                self._forward(reader, to_server), self._forward(from_server, writer)
            )
        except asyncio.CancelledError:
            to_server.transport.abort()
            writer.transport.abort()
            raise

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                if self.random.random() < _SHARE:
                    await asyncio.sleep(self.random.uniform(0, _LONGEST))
                writer.write(data)
                await writer.drain()
        writer.close()


@contextmanager
def delayed(host: str, port: int) -> Iterator[int]:
    """Yield the port at which a server is reached: that of a proxy, or without a seed its own."""
    seed = int(os.environ.get(SEED, "0"))
    if not seed:
        yield port
        return
    proxy = _Proxy(host, port, random.Random(seed))
    thread = threading.Thread(target=proxy.run, name=f"delays of {port}", daemon=True)
    thread.start()
    try:
        yield proxy.listening.result()
    finally:
        proxy.stop()
        thread.join()


@contextmanager
def delayed_kubeconfig(kubeconfig: Path) -> Iterator[Path]:
    """Yield a kubeconfig that reaches the same API server with delays, or without a seed itself."""
    config = yaml.safe_load(kubeconfig.read_text())
    [cluster] = config["clusters"]
    server = urlsplit(cluster["cluster"]["server"])
    assert server.hostname
    assert server.port
    with delayed(server.hostname, server.port) as port:
        if port == server.port:
            yield kubeconfig
            return
        cluster["cluster"]["server"] = f"https://{server.hostname}:{port}"
        copy = kubeconfig.with_name("kubeconfig-with-delays")
        copy.write_text(yaml.safe_dump(config))
        yield copy
