"""Resolves host names of database servers in threads that no other host waits for.

A name server that does not answer blocks `getaddrinfo` for up to half a minute, and a blocked call
cannot be cancelled. The event loop's own lookups share a few threads: four silent zones would stop
the lookups of all hubs. Here every host has at most one lookup in progress, in a thread of its own,
and all callers for the host share its result. Callers that give up leave the thread behind; it ends
when the system's resolver does. The number of threads is bounded by `MAX_LOOKUPS`.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

MAX_LOOKUPS: Final = 256
"""Lookups in progress, over all hosts; further hosts fail at once."""

GetAddrInfo = Callable[..., Sequence[tuple[Any, Any, int, str, Any]]]


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """One address of a server."""

    family: int
    ip: str
    socket_address: tuple[Any, ...]
    """The address as `socket.connect` expects it."""

    def with_port(self, port: int) -> "ServerAddress":
        """Return the address with a port."""
        return ServerAddress(self.family, self.ip, (self.ip, port, *self.socket_address[2:]))


class TooManyLookups(OSError):  # noqa: N818 - see lynq.sources.errors
    """Too many host names are being resolved."""


class Resolver:
    """Resolves host names; safe to use from any event loop."""

    def __init__(
        self, getaddrinfo: GetAddrInfo = socket.getaddrinfo, *, max_lookups: int = MAX_LOOKUPS
    ) -> None:
        self._getaddrinfo = getaddrinfo
        self._max_lookups = max_lookups
        self._lock = threading.Lock()
        self._lookups: dict[str, Future[tuple[ServerAddress, ...]]] = {}

    async def resolve(self, host: str, port: int) -> tuple[ServerAddress, ...]:
        """Return the addresses of a host in the order of the system's resolver.

        Raises OSError: `socket.gaierror` for an unknown name, TooManyLookups at the limit. The
        caller sets the time limit; a cancelled call does not wait for the thread.
        """
        try:
            addresses = self._addresses(host, socket.AI_NUMERICHOST)
        except OSError:
            addresses = await asyncio.wrap_future(self._lookup(host))
        return tuple(address.with_port(port) for address in addresses)

    def _lookup(self, host: str) -> Future[tuple[ServerAddress, ...]]:
        with self._lock:
            if running := self._lookups.get(host):
                return running
            if len(self._lookups) >= self._max_lookups:
                raise TooManyLookups(f"{self._max_lookups} lookups are in progress")
            lookup: Future[tuple[ServerAddress, ...]] = Future()
            # A running future ignores the cancellation of one of its callers.
            lookup.set_running_or_notify_cancel()
            self._lookups[host] = lookup
        thread = threading.Thread(
            target=self._run, args=(host, lookup), name=f"lookup of {host}", daemon=True
        )
        thread.start()
        return lookup

    def _run(self, host: str, lookup: Future[tuple[ServerAddress, ...]]) -> None:
        try:
            addresses = self._addresses(host)
        except BaseException as error:  # noqa: BLE001 - raised again in the event loop
            self._end(host)
            lookup.set_exception(error)
        else:
            self._end(host)
            lookup.set_result(addresses)

    def _end(self, host: str) -> None:
        with self._lock:
            del self._lookups[host]

    def _addresses(self, host: str, flags: int = 0) -> tuple[ServerAddress, ...]:
        try:
            results = self._getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
        except UnicodeError:
            # A label that is empty or too long cannot be encoded.
            raise socket.gaierror(socket.EAI_NONAME, "not a host name") from None
        return tuple(
            ServerAddress(family, address[0], address) for family, _, _, _, address in results
        )


resolve: Final = Resolver().resolve
"""The lookup of all sources: the limit counts for the whole process."""
