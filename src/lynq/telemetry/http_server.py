"""A small HTTP server, and the addresses to listen on in Go's notation."""

import ipaddress
import os
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

_HIGHEST_PORT: Final = 65535
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens; the host "" is all interfaces, the port 0 any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address | None":
        """Parse `:8081`, `127.0.0.1:8081` or `[::]:8443`; return None for `0`, which means off.

        Raises ValueError.
        """
        if text in ("", "0"):
            return None
        host, colon, port = text.rpartition(":")
        if not colon:
            raise ValueError(f"{text!r} is not an address: use :8081, 127.0.0.1:8081, or 0 for off")
        if not (port.isascii() and port.isdecimal() and int(port) <= _HIGHEST_PORT):
            raise ValueError(f"{text!r} is not an address: the port must be a number up to 65535")
        return cls(_host(text, host), int(port))

    def __str__(self) -> str:
        """Return the notation that `parse` accepts."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _host(text: str, host: str) -> str:
    if host.startswith("[") and host.endswith("]"):
        return str(_ipv6(text, host[1:-1]))
    if ":" in host:
        raise ValueError(f"{text!r} is not an address: an IPv6 address is written as [::1]:8081")
    if host and not _NAME.fullmatch(host):
        raise ValueError(f"{text!r} is not an address: {host!r} is not a host")
    return host


def _ipv6(text: str, host: str) -> ipaddress.IPv6Address:
    try:
        return ipaddress.IPv6Address(host)
    except ValueError as error:
        raise ValueError(f"{text!r} is not an address: {error}") from None


_SHUTDOWN_TIMEOUT: Final = 1.0
"""Seconds that requests in flight have when the server stops."""


class ListenError(OSError):
    """An address cannot be listened on."""


class Listener:
    """Serves GET requests by path, or POST requests with bodies of a bounded size."""

    def __init__(
        self,
        name: str,
        address: Address,
        handlers: Mapping[str, Handler],
        *,
        max_body: int | None = None,
    ) -> None:
        self._name = name
        self._bind_address = address
        # Never 0, which means "no limit" to aiohttp.
        app = web.Application(client_max_size=max_body or 1)
        route = web.get if max_body is None else web.post
        app.router.add_routes([route(path, handler) for path, handler in handlers.items()])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_TIMEOUT)

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        """Start listening; raises ListenError."""
        await self._runner.setup()
        host, port = self._bind_address.host or None, self._bind_address.port
        try:
            await web.TCPSite(self._runner, host, port, ssl_context=tls).start()
        except OSError as error:
            await self._runner.cleanup()
            raise ListenError(
                f"the {self._name} server cannot listen on {self._bind_address}: {_reason(error)}"
            ) from error

    async def stop(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    @property
    def address(self) -> Address:
        """The address in use; it differs from the requested one if that had port 0."""
        host, port = self._runner.addresses[0][:2]
        return Address(host, port)


class HttpServer:
    """An HTTP server that listens inside of `async with`; logs like controller-runtime."""

    def __init__(
        self,
        name: str,
        address: Address,
        handlers: Mapping[str, Handler],
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        **fields: object,
    ) -> None:
        self._name = name
        self._bind_address = address
        self._tls = tls
        self._log_fields = fields
        self._listener = Listener(name, address, handlers)
        self._log = structlog.get_logger(f"controller-runtime.{name}")

    async def __aenter__(self) -> Self:
        """Start listening; raises ListenError, and the errors of `tls`."""
        message = f"Starting {self._name} server"
        self._log.info(message, bindAddress=str(self._bind_address), **self._log_fields)
        await self._listener.start(self._tls() if self._tls else None)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop listening."""
        await self._listener.stop()

    @property
    def address(self) -> Address:
        """The address in use."""
        return self._listener.address


def _reason(error: OSError) -> str:
    # The event loop's own text repeats the address. The numbers of getaddrinfo are not errno.
    if error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno).lower()
    return (error.strerror or type(error).__name__).lower()
