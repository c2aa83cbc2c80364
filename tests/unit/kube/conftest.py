import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from http_server import Handler, Serve, serve_http


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start servers that end with the test."""
    async with AsyncExitStack() as stack:

        async def start(handler: Handler, *, tls: ssl.SSLContext | None = None) -> str:
            return await stack.enter_async_context(serve_http(handler, tls))

        yield start
