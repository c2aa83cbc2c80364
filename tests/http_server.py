"""An HTTP server on loopback with the handler of a test, to simulate faulty servers."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from aiohttp import web

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Serve(Protocol):
    """Starts a server and returns its URL."""

    async def __call__(self, handler: Handler, *, tls: ssl.SSLContext | None = None) -> str: ...


@asynccontextmanager
async def serve_http(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Run a server and yield its URL."""
    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        host, port = runner.addresses[0][:2]
        yield f"{'https' if tls else 'http'}://{host}:{port}"
    finally:
        await runner.cleanup()
