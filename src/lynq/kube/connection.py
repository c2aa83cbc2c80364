"""One HTTP/1.1 connection to the API server, with one request at a time.

A request is written in one piece. Its task is woken once: when the response is complete, or when
the headers of a stream have arrived. A connection whose exchange was given up is closed, because
what follows on it is the rest of that exchange.
"""

# ruff: noqa: N818 - named like the other errors of this package

import asyncio
import ssl
from typing import Final, cast

from msgspec import Struct

from lynq.kube.http_response import Head, InvalidResponse, ResponseParser

_OK: Final = 200
_MAX_PENDING: Final = 1024 * 1024
"""Bytes of a stream that are received before the reader takes them."""


class ConnectionLost(Exception):
    """The connection ended before the response."""


class BodyTooLarge(Exception):
    """The body of a response exceeds the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class Exchange(Struct, frozen=True):
    """A request as it is sent, and what its response may be."""

    request: bytes
    max_body: int = 0
    """The largest body in bytes, except of a stream."""
    stream: bool = False
    """Whether the body of a 200 is read while it arrives."""
    tunnel: bool = False
    """Whether the response ends with its headers, as the one of a proxy to CONNECT."""
    timeout: float | None = None
    """Seconds until the response must be complete, or of a stream its headers."""


class Connection(asyncio.Protocol):
    """A connection, open until `is_closed`."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.context = context
        """The TLS context of the pool when the connection was opened, also for plain HTTP."""
        self.idle_since = 0.0
        self.is_closed = False
        self.transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._parser = ResponseParser()
        self._body: list[bytes] = []
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None

    async def send(self, exchange: Exchange) -> Head:
        """Send a request and return status and headers of its response; raises TimeoutError.

        The body follows: by `take_body`, or by `read` if the response `is_streaming`.
        """
        if self.is_closed or self.transport is None:
            raise ConnectionLost("closed")
        self._exchange = exchange
        self._parser = ResponseParser()
        self.take_body()
        self.transport.write(exchange.request)
        await self._wait(exchange.timeout)
        if self._parser.head is None:
            raise ConnectionLost("no response")
        return self._parser.head

    def take_body(self) -> bytes:
        """Return what has been received of the body since the last call."""
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body.clear()
        self._size = 0
        return body

    async def read(self, max_silence: float | None = None) -> bytes:
        """Return the next part of a stream; b"" at its end. Raises TimeoutError after a silence."""
        while not self._body:
            if self._parser.complete:
                return b""
            await self._wait(max_silence)
        if self._size > _MAX_PENDING and self.transport is not None:
            self.transport.resume_reading()
        return self.take_body()

    @property
    def is_streaming(self) -> bool:
        """Whether the response is read while it arrives."""
        head, exchange = self._parser.head, self._exchange
        return exchange is not None and exchange.stream and head is not None and head.status == _OK

    @property
    def is_reusable(self) -> bool:
        """Whether another request can be sent: this one is sent and answered to the last byte."""
        head, transport = self._parser.head, self.transport
        if self.is_closed or transport is None or head is None:
            return False
        return head.keep_alive and self._parser.complete and not transport.get_write_buffer_size()

    def abort(self) -> None:
        """Close the connection at once: the end of TLS would wait for the server."""
        self.is_closed = True
        if self.transport is not None:
            self.transport.abort()

    async def _wait(self, limit: float | None) -> None:
        """Wait for the response, or for the next part of a stream.

        A timer of the connection costs a third of `asyncio.timeout`, which cancels the task.
        """
        if self._error is not None:
            raise self._error
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(limit, self._fail, TimeoutError()) if limit else None
        try:
            await self._waiter
        except BaseException:
            self.abort()
            raise
        finally:
            self._waiter = None
            if timer:
                timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        self._error = error
        self.abort()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport; called by the event loop."""
        # The transports of uvloop are no subclasses of it.
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Parse a part of the response; called by the event loop."""
        exchange, parser = self._exchange, self._parser
        if exchange is None:
            self.abort()  # bytes without a request
            return
        try:
            if part := parser.feed(data):
                self._body.append(part)
                self._size += len(part)
        except InvalidResponse as error:
            self._fail(error)
            return
        if self.is_streaming:
            if self._size > _MAX_PENDING and self.transport is not None:
                self.transport.pause_reading()
            self._wake()
        elif self._size > exchange.max_body and not exchange.tunnel:
            self._fail(BodyTooLarge(exchange.max_body))
        elif parser.complete or (exchange.tunnel and parser.head is not None):
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the exchange; called by the event loop."""
        self.is_closed = True
        self._parser.close()
        if self._parser.complete:
            self._wake()
        else:
            cause = getattr(exc, "strerror", None) or type(exc).__name__ if exc else "closed"
            self._fail(ConnectionLost(cause))
