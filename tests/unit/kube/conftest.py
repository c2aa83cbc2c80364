import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from serving import Handler, Serve, serving


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start servers that end with the test."""
    async with AsyncExitStack() as stack:

        async def start(handler: Handler, *, tls: ssl.SSLContext | None = None) -> str:
            return await stack.enter_async_context(serving(handler, tls))

        yield start
