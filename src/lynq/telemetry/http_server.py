"""A small HTTP server at one address: started, told apart from others, stopped."""

import os
import socket
import ssl
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Self

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from lynq.telemetry.address import Address

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
