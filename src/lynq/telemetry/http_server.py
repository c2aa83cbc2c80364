"""A small HTTP server."""

import logging
import os
import socket
import ssl
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

import structlog
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.log import server_logger
from aiohttp.typedefs import Handler

from lynq.telemetry.address import Address, ListenError

_SHUTDOWN_TIMEOUT: Final = 1.0
"""Seconds that requests in flight have when the server stops."""


class _ServerLog(logging.LoggerAdapter[logging.Logger]):
    """The log of aiohttp's server.

    A request that is no HTTP is the error of its client, and any number of them may arrive.
    """

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:  # noqa: ANN401
        """Log what the server reports; a malformed request is a detail."""
        is_malformed = isinstance(kwargs.get("exc_info"), HttpProcessingError)
        super().log(logging.DEBUG if is_malformed else level, msg, *args, **kwargs)


def app_runner(app: web.Application, *, handler_cancellation: bool = False) -> web.AppRunner:
    """Return what serves an application, for every server of the project."""
    return web.AppRunner(
        app,
        access_log=None,
        logger=_ServerLog(server_logger),
        shutdown_timeout=_SHUTDOWN_TIMEOUT,
        handler_cancellation=handler_cancellation,
        # Expanding 30 KB of a stranger would take 70 ms of the event loop.
        auto_decompress=False,
    )


class Listener:
    """Serves GET requests by path."""

    def __init__(self, name: str, address: Address, handlers: Mapping[str, Handler]) -> None:
        self._name = name
        self._bind_address = address
        # Never 0, which means "no limit" to aiohttp.
        app = web.Application(client_max_size=1)
        app.router.add_routes([web.get(path, handler) for path, handler in handlers.items()])
        self._runner = app_runner(app)

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        """Start listening; raises ListenError."""
        await self._runner.setup()
        host, port = self._bind_address.host or None, self._bind_address.port
        try:
            await web.TCPSite(self._runner, host, port, ssl_context=tls).start()
        except OSError as error:
            await self._runner.cleanup()
            where = f"the {self._name} server cannot listen on {self._bind_address}"
            raise ListenError(f"{where}: {listen_problem(error)}") from error

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


def listen_problem(error: OSError) -> str:
    """Return why a server cannot listen, without the address."""
    # The event loop's own text repeats the address. The numbers of getaddrinfo are not errno.
    if error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno).lower()
    return (error.strerror or type(error).__name__).lower()
