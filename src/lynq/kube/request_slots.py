"""The slots of requests in flight, shared by all requests of a client.

Slots are handed out in the order of arrival, whatever the request is: no kind of write starves
another. It is quiet when requests, in flight or waiting, have been few for a moment: a gap between
two writes of the same burst is not quiet. Nor is it while responses take long: the controllers of a
cluster follow the operator's writes with many of their own. Requests of low priority, such as
Events, are not counted; their sender waits until it is quiet, for a bounded time.
"""

import asyncio
from contextlib import suppress
from typing import Final

_QUIET_SHARE: Final = 8
"""Requests are few while they are less than this fraction of the limit."""
_QUIET_SECONDS: Final = 0.05
"""How long requests must have been few."""
_BUSY_RESPONSE: Final = 0.025
"""Seconds that a response of a busy API server takes at least."""
_BUSY_TIMES: Final = 4
"""How many times as long as the quickest one it takes: a distant API server is not busy."""
_BUSY_SECONDS: Final = 0.5
"""How long the API server counts as busy after such a response."""


class RequestSlots:
    """At most `limit` requests in flight."""

    def __init__(self, limit: int) -> None:
        self.semaphore = asyncio.Semaphore(limit)
        """Held by each request. One of low priority holds nothing else, so it is not counted."""
        self._few = max(1, limit // _QUIET_SHARE)
        self._requests = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._becoming_quiet: asyncio.TimerHandle | None = None
        self._quickest = float("inf")
        self._busy_until = 0.0

    async def __aenter__(self) -> None:
        """Hold a slot during the block."""
        self._count(1)
        try:
            await self.semaphore.acquire()
        except BaseException:
            self._count(-1)
            raise

    async def __aexit__(self, *_: object) -> None:
        """Release the slot."""
        self.semaphore.release()
        self._count(-1)

    async def wait_until_quiet(self, limit: float) -> bool:
        """Wait until it is quiet, or for `limit` seconds; return whether it is quiet."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._quiet.wait()
        return self._quiet.is_set()

    def record(self, seconds: float) -> None:
        """Record how long the API server took to respond."""
        self._quickest = min(self._quickest, seconds)
        if seconds > max(_BUSY_RESPONSE, _BUSY_TIMES * self._quickest):
            self._busy_until = asyncio.get_running_loop().time() + _BUSY_SECONDS
            self._quiet.clear()
            self._check_later()

    @property
    def is_busy(self) -> bool:
        """Whether a response took long a moment ago."""
        return asyncio.get_running_loop().time() < self._busy_until

    def _count(self, change: int) -> None:
        self._requests += change
        if self._requests >= self._few:
            self._quiet.clear()
            if self._becoming_quiet:
                self._becoming_quiet.cancel()
                self._becoming_quiet = None
        elif not self._quiet.is_set():
            self._check_later()

    def _check_later(self) -> None:
        if self._requests < self._few and not self._becoming_quiet:
            loop = asyncio.get_running_loop()
            quiet_at = max(loop.time() + _QUIET_SECONDS, self._busy_until)
            self._becoming_quiet = loop.call_at(quiet_at, self._become_quiet)

    def _become_quiet(self) -> None:
        self._becoming_quiet = None
        if self.is_busy:
            self._check_later()
        else:
            self._quiet.set()
