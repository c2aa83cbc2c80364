"""The slots of requests in flight, shared by all requests of a client.

Slots are handed out in the order of arrival, whatever the request is: no kind of write starves
another. Requests of low priority, such as Events, take what is left over. They start after other
requests, in flight or waiting, have been few for a moment: a gap between two writes of the same
burst is not quiet. A busy operator is never quiet, so each of them starts after a bounded wait in
any case.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

_QUIET_SHARE: Final = 8
"""Requests are few while they are less than this fraction of the limit."""
_QUIET_SECONDS: Final = 0.05
"""How long requests must have been few."""


class RequestSlots:
    """At most `limit` requests in flight; one of low priority is delayed by `patience` at most."""

    def __init__(self, limit: int, *, patience: float = 5.0) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._few = max(1, limit // _QUIET_SHARE)
        self._patience = patience
        self._requests = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._becoming_quiet: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Hold a slot during the block."""
        self._count(1)
        try:
            async with self._slots:
                yield
        finally:
            self._count(-1)

    @asynccontextmanager
    async def hold_if_quiet(self) -> AsyncIterator[None]:
        """Hold a slot during the block, which starts when other requests have become few."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await self._quiet.wait()
        async with self._slots:
            yield

    def _count(self, change: int) -> None:
        self._requests += change
        if self._requests >= self._few:
            self._quiet.clear()
            if self._becoming_quiet:
                self._becoming_quiet.cancel()
                self._becoming_quiet = None
        elif not (self._quiet.is_set() or self._becoming_quiet):
            loop = asyncio.get_running_loop()
            self._becoming_quiet = loop.call_later(_QUIET_SECONDS, self._become_quiet)

    def _become_quiet(self) -> None:
        self._becoming_quiet = None
        self._quiet.set()
