"""A small HTTP server at one address: started, told apart from others, stopped.

Addresses to listen on, written as Go operators write them.
"""

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
    """Where a server listens; the host "" is every interface, the port 0 any that is free."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address | None":
        """Read `:8081`, `127.0.0.1:8081` or `[::]:8443`; None for `0`, which is off.

        Raises ValueError.
        """
        if text in ("", "0"):
            return None
        host, colon, port = text.rpartition(":")
        if not colon:
            raise ValueError(f"{text!r} is no address: write :8081, 127.0.0.1:8081, or 0 for off")
        if not (port.isascii() and port.isdecimal() and int(port) <= _HIGHEST_PORT):
            raise ValueError(f"{text!r} is no address: its port is no number up to 65535")
        return cls(_host(text, host), int(port))

    def __str__(self) -> str:
        """Write it as it is read."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _host(text: str, host: str) -> str:
    if host.startswith("[") and host.endswith("]"):
        return str(_version_6(text, host[1:-1]))
    if ":" in host:
        raise ValueError(f"{text!r} is no address: an IPv6 address is written as [::1]:8081")
    if host and not _NAME.fullmatch(host):
        raise ValueError(f"{text!r} is no address: {host!r} is no host")
    return host


def _version_6(text: str, host: str) -> ipaddress.IPv6Address:
    try:
        return ipaddress.IPv6Address(host)
    except ValueError as error:
        raise ValueError(f"{text!r} is no address: {error}") from None


_GRACE: Final = 1.0
"""Seconds that answers under way have when the server stops."""


class ListenError(OSError):
    """An address cannot be listened on."""


class Listener:
    """Serves GET requests by path, or POST requests with bodies of a bounded size."""

    def __init__(
        self,
        what: str,
        address: Address,
        handlers: Mapping[str, Handler],
        *,
        largest_post: int | None = None,
    ) -> None:
        self._what = what
        self._wanted = address
        # Never 0, which is aiohttp's word for "no limit".
        app = web.Application(client_max_size=largest_post or 1)
        route = web.get if largest_post is None else web.post
        app.router.add_routes([route(path, handler) for path, handler in handlers.items()])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_GRACE)

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        """Begin to answer; raises ListenError."""
        await self._runner.setup()
        host, port = self._wanted.host or None, self._wanted.port
        try:
            await web.TCPSite(self._runner, host, port, ssl_context=tls).start()
        except OSError as error:
            await self._runner.cleanup()
            raise ListenError(
                f"the {self._what} server cannot listen on {self._wanted}: {_why(error)}"
            ) from error

    async def stop(self) -> None:
        """Answer no more."""
        await self._runner.cleanup()

    @property
    def address(self) -> Address:
        """Where it really listens, which differs from what was wanted if that was port 0."""
        host, port = self._runner.addresses[0][:2]
        return Address(host, port)


class HttpServer:
    """Listens while it is entered with `async with`, and says so under the name people look for."""

    def __init__(
        self,
        what: str,
        address: Address,
        handlers: Mapping[str, Handler],
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        **facts: object,
    ) -> None:
        self._what = what
        self._wanted = address
        self._tls = tls
        self._facts = facts
        self._listener = Listener(what, address, handlers)
        self._log = structlog.get_logger(f"controller-runtime.{what}")

    async def __aenter__(self) -> Self:
        """Begin to answer; raises ListenError, and what `tls` raises."""
        say = self._log.info
        say(f"Starting {self._what} server", bindAddress=str(self._wanted), **self._facts)
        await self._listener.start(self._tls() if self._tls else None)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Answer no more."""
        await self._listener.stop()

    @property
    def address(self) -> Address:
        """Where it really listens."""
        return self._listener.address


def _why(error: OSError) -> str:
    # The event loop's own sentence names the address once more; a name that was not found has a
    # number that only its own sentence explains.
    if error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno).lower()
    return (error.strerror or type(error).__name__).lower()
