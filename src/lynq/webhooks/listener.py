"""Listens for webhook requests on a bounded number of connections.

A connection costs memory and a file descriptor before its first request, and every pod can open
one. So connections are accepted one by one here, and not by the event loop: beyond the bound, the
oldest connection that has not sent a verified request is closed. A new connection of the API server
is the youngest, and has sent its request before its turn comes.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from lynq.telemetry import Address, ListenError
from lynq.telemetry.http_server import app_runner, listen_problem

MAX_CONNECTIONS: Final = 256
"""Open connections, handshakes included. An API server has one per request in flight."""
_HANDSHAKE_SECONDS: Final = 5.0
_SHUTDOWN_SECONDS: Final = 1.0
_BACKLOG: Final = 128

_log = structlog.get_logger("controller-runtime.webhook")


@dataclass(eq=False, slots=True)
class _Connection:
    """One accepted connection."""

    protocol: asyncio.BaseProtocol
    handshake: "asyncio.Task[None] | None" = None
    transport: asyncio.BaseTransport | None = None
    is_verified: bool = False

    @property
    def is_closed(self) -> bool:
        if self.transport is None:
            return self.handshake is None or self.handshake.done()
        return self.transport.is_closing()

    def abort(self) -> None:
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()
        elif self.handshake:
            self.handshake.cancel()


class WebhookListener:
    """Serves POST requests by path, with bodies of a bounded size."""

    def __init__(
        self,
        address: Address,
        handlers: Mapping[str, Handler],
        *,
        max_body: int,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self._bind_address = address
        self._max_connections = max_connections
        app = web.Application(client_max_size=max_body)
        app.router.add_routes([web.post(path, handler) for path, handler in handlers.items()])
        self._runner = app_runner(app)
        self._socket: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        # By age: the oldest is first.
        self._connections: dict[asyncio.BaseProtocol, _Connection] = {}

    async def start(self, tls: ssl.SSLContext) -> None:
        """Start listening; raises ListenError."""
        await self._runner.setup()
        try:
            self._socket = _listening_socket(self._bind_address)
        except OSError as error:
            await self._runner.cleanup()
            reason = listen_problem(error)
            raise ListenError(
                f"the webhook server cannot listen on {self._bind_address}: {reason}"
            ) from error
        self._accepting = asyncio.create_task(self._accept(self._socket, tls))

    async def stop(self) -> None:
        """Stop listening; requests in flight have a second to end."""
        if self._accepting:
            self._accepting.cancel()
            await asyncio.wait((self._accepting,))
        if self._socket:
            self._socket.close()
        for connection in self._connections.values():
            if connection.transport is None:
                connection.abort()
        await self._runner.cleanup()

    @property
    def address(self) -> Address:
        """The address in use; it differs from the requested one if that had port 0."""
        if self._socket is None:
            raise RuntimeError("the server does not listen")
        host, port = self._socket.getsockname()[:2]
        return Address(host, port)

    def verified(self, request: web.Request) -> None:
        """Keep the connection of this request: the API server uses it again."""
        if connection := self._connections.get(request.protocol):
            connection.is_verified = True

    async def _accept(self, listening: socket.socket, tls: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                # No file descriptor is left, or the client is gone already.
                _log.warning("connection not accepted", error=os.strerror(error.errno or 0))
                await asyncio.sleep(0.1)
                continue
            if self._make_room():
                self._serve(accepted, tls)
            else:
                accepted.close()

    def _make_room(self) -> bool:
        """Close the oldest connection without a verified request if there are too many."""
        if len(self._connections) < self._max_connections:
            return True
        for connection in [each for each in self._connections.values() if each.is_closed]:
            del self._connections[connection.protocol]
        if len(self._connections) < self._max_connections:
            return True
        for connection in self._connections.values():
            if not connection.is_verified:
                connection.abort()
                del self._connections[connection.protocol]
                return True
        return False

    def _serve(self, accepted: socket.socket, tls: ssl.SSLContext) -> None:
        if self._runner.server is None:
            raise RuntimeError("the server is not set up")
        protocol = self._runner.server()
        connection = _Connection(protocol)
        self._connections[protocol] = connection
        connection.handshake = asyncio.create_task(_shake_hands(connection, accepted, tls))


async def _shake_hands(
    connection: _Connection, accepted: socket.socket, tls: ssl.SSLContext
) -> None:
    loop = asyncio.get_running_loop()
    # The client gave up, sent no TLS, or has no certificate: its own log says so.
    with suppress(OSError, TimeoutError):
        connection.transport, _ = await loop.connect_accepted_socket(
            lambda: connection.protocol,
            accepted,
            ssl=tls,
            ssl_handshake_timeout=_HANDSHAKE_SECONDS,
            ssl_shutdown_timeout=_SHUTDOWN_SECONDS,
        )


def _listening_socket(address: Address) -> socket.socket:
    is_any = not address.host and socket.has_dualstack_ipv6()
    is_ipv6 = is_any or ":" in address.host
    listening = socket.create_server(
        (address.host, address.port),
        family=socket.AF_INET6 if is_ipv6 else socket.AF_INET,
        backlog=_BACKLOG,
        dualstack_ipv6=is_any,
    )
    listening.setblocking(False)  # noqa: FBT003 - the signature of the standard library
    return listening
