"""Opens connections to the API server, directly or by a proxy, and keeps idle ones for reuse.

The last connection that became idle is used first, so that those which a burst has opened end
soon: an idle one is closed after some seconds, before a load balancer on the way forgets it.
"""

# ruff: noqa: N818 - named like the other errors of this package

import asyncio
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import SplitResult, unquote, urlsplit
from weakref import WeakSet

from lynq.kube.connection import Connection, ConnectionLost, Exchange
from lynq.kube.http_response import InvalidResponse
from lynq.tls.context import client_context

_CLOSE_SECONDS: Final = 0.2
"""Seconds that the sockets of a closed pool may still be open."""
_PORTS: Final = {"https": 443, "http": 80}
_OK: Final = 200


class CannotConnect(Exception):
    """No connection could be opened; nothing was sent."""


class UntrustedCertificate(CannotConnect):
    """The certificate of the API server is not trusted."""


@dataclass(frozen=True, slots=True)
class HostPort:
    """A host and a port, and whether TLS is spoken there."""

    host: str
    port: int
    tls: bool

    @classmethod
    def of(cls, url: SplitResult) -> Self:
        """Return the address in a URL."""
        return cls(url.hostname or "", url.port or _PORTS[url.scheme], url.scheme == "https")

    def __str__(self) -> str:
        """Return host and port, as in a request."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class ConnectionPool:
    """The connections to one server."""

    def __init__(
        self,
        server: str,
        *,
        proxy: str | None = None,
        server_name: str | None = None,
        connect_timeout: float,
        idle_seconds: float = 15.0,
    ) -> None:
        url = urlsplit(server)
        self.server = HostPort.of(url)
        self.host = url.netloc.rpartition("@")[2]
        """The Host header: as in the URL, so without a default port."""
        self._idle_seconds = idle_seconds
        self._server_name = server_name
        self._connect_timeout = connect_timeout
        self._proxy = urlsplit(proxy) if proxy else None
        # The CA of a cluster says nothing about a proxy, nor does its client certificate.
        self._proxy_context = client_context(None) if self._has_proxy_with_tls else None
        self._idle: list[Connection] = []
        self._connections: WeakSet[Connection] = WeakSet()
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._expiry: asyncio.TimerHandle | None = None

    @property
    def open_sockets(self) -> int:
        """The number of sockets that are open, also those of connections that were given up."""
        return sum(opened.fileno() >= 0 for opened in self._sockets)

    @property
    def proxy_authorization(self) -> str:
        """The Proxy-Authorization header; "" without a proxy or its password."""
        return basic_authorization(self._proxy) if self._proxy else ""

    @property
    def _has_proxy_with_tls(self) -> bool:
        return self._proxy is not None and self._proxy.scheme == "https"

    @property
    def forwards(self) -> bool:
        """Whether a proxy forwards the requests themselves, as it does without TLS."""
        return self._proxy is not None and not self.server.tls

    async def acquire(self, context: ssl.SSLContext) -> Connection:
        """Return an idle connection with this TLS context, or a new one.

        Raises CannotConnect; TimeoutError cannot occur.
        """
        while self._idle:
            connection = self._idle.pop()
            if connection.context is context and not connection.is_closed:
                return connection
            connection.abort()
        try:
            async with asyncio.timeout(self._connect_timeout):
                return await self._open(context)
        except TimeoutError:
            raise CannotConnect("cannot connect in time") from None

    def release(self, connection: Connection) -> None:
        """Keep a connection whose response is complete, or close it."""
        if not connection.is_reusable:
            connection.abort()
            return
        connection.idle_since = time.monotonic()
        self._idle.append(connection)
        if self._expiry is None:
            self._expire_after(self._idle_seconds)

    async def close(self) -> None:
        """Close all connections and wait a moment for their sockets.

        Those that were given up, for example during the handshake, close in later turns of the
        event loop, which may be the last ones.
        """
        if self._expiry:
            self._expiry.cancel()
        self._idle.clear()
        for connection in list(self._connections):
            connection.abort()
        deadline = time.monotonic() + _CLOSE_SECONDS
        while self.open_sockets and time.monotonic() < deadline:
            await asyncio.sleep(0.005)

    def _expire(self) -> None:
        """Close the connections that have been idle for long; the oldest is the first."""
        since = time.monotonic() - self._idle_seconds
        while self._idle and self._idle[0].idle_since <= since:
            self._idle.pop(0).abort()
        self._expiry = None
        if self._idle:
            self._expire_after(self._idle[0].idle_since - since)

    def _expire_after(self, seconds: float) -> None:
        self._expiry = asyncio.get_running_loop().call_later(seconds, self._expire)

    async def _open(self, context: ssl.SSLContext) -> Connection:
        connection = Connection(context)
        self._connections.add(connection)
        if self._proxy is None:
            await self._connect(connection, self.server, connection.context, self._server_name)
            return connection
        await self._connect_to_proxy(connection, HostPort.of(self._proxy))
        if self.server.tls:
            await self._tunnel(connection)
        return connection

    async def _connect_to_proxy(self, connection: Connection, address: HostPort) -> None:
        try:
            await self._connect(connection, address, self._proxy_context)
        except UntrustedCertificate as error:
            raise CannotConnect(
                f"the certificate of the proxy is not trusted ({error});"
                " its CA must be one of the system, or in $SSL_CERT_FILE"
            ) from error

    async def _connect(
        self,
        connection: Connection,
        address: HostPort,
        context: ssl.SSLContext | None,
        server_name: str | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        with _connecting(f"cannot connect to {address}"):
            await loop.create_connection(
                lambda: connection,
                sock=await self._connected_socket(address),
                ssl=context if address.tls else None,
                server_hostname=(server_name or address.host) if address.tls else None,
            )

    async def _connected_socket(self, address: HostPort) -> socket.socket:
        """Return a socket that is connected to the first address that answers."""
        loop = asyncio.get_running_loop()
        addresses = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        failure = OSError("no address")
        for family, kind, protocol, _, resolved in addresses:
            opened = _new_socket(family, kind, protocol)
            self._sockets.add(opened)
            try:
                # Time is left for the others: of two addresses, one may be unreachable.
                async with asyncio.timeout(self._connect_timeout / len(addresses)):
                    await loop.sock_connect(opened, resolved)
            except OSError as error:
                opened.close()
                failure = error
            except BaseException:
                opened.close()
                raise
            else:
                return opened
        raise failure

    async def _tunnel(self, connection: Connection) -> None:
        """Let the proxy connect to the server, and speak TLS with the server."""
        headers = [f"CONNECT {self.server} HTTP/1.1", f"Host: {self.server}"]
        if self.proxy_authorization:
            headers.append(f"Proxy-Authorization: {self.proxy_authorization}")
        request = "\r\n".join([*headers, "", ""]).encode()
        try:
            head = await connection.send(Exchange(request, tunnel=True))
        except (ConnectionLost, InvalidResponse) as error:
            raise CannotConnect(f"the proxy did not respond: {error}") from None
        if head.status != _OK or connection.transport is None:
            connection.abort()
            raise CannotConnect(f"the proxy responded {head.status}")
        with _connecting(f"cannot connect to {self.server} by the proxy"):
            transport = await asyncio.get_running_loop().start_tls(
                connection.transport,
                connection,
                connection.context,
                server_hostname=self._server_name or self.server.host,
            )
        if transport is None:
            raise CannotConnect("the proxy closed the connection")
        connection.transport = transport


def basic_authorization(url: SplitResult) -> str:
    """Return the Authorization header for the user in a URL; "" without one."""
    if url.username is None:
        return ""
    login = f"{unquote(url.username)}:{unquote(url.password or '')}"
    return f"Basic {b64encode(login.encode()).decode()}"


@contextmanager
def _connecting(what: str) -> Iterator[None]:
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise UntrustedCertificate(error.verify_message or str(error)) from error
    except TimeoutError:
        raise
    except OSError as error:
        raise CannotConnect(f"{what}: {error}") from error


def _new_socket(family: int, kind: int, protocol: int) -> socket.socket:
    """Create a socket with keep-alive, which detects a dead peer within a minute.

    Without it, a watch on a dead connection looks like a quiet cluster.
    """
    opened = socket.socket(family, kind, protocol)
    opened.setblocking(False)  # noqa: FBT003 - its signature
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, seconds in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):  # not on all platforms
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds)
    return opened
