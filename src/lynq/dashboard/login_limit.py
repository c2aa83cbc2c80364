"""The limits of logins: each asks the API server about a token that anyone may send.

Failed logins are counted by address, so that a flood ends in answers of our own. A valid token is
never counted, but waits, too, while its address is blocked: behind a proxy that all viewers share,
limit requests for `/api/v2/login` at the proxy.
"""

import asyncio
import ipaddress
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lynq.dashboard.guards import RequestRefused
from lynq.dashboard.options import MAX_ADDRESSES, MAX_FAILED_LOGINS, MAX_REVIEWS, DashboardTiming
from lynq.dashboard.viewers import Unauthenticated
from lynq.kube.errors import Unauthorized

_IPV6_NETWORK = 64
"""Bits of the network whose addresses one host can choose from."""


class LoginLimit:
    """The logins under way, and the addresses with failed ones."""

    def __init__(self, timing: DashboardTiming, clock: Callable[[], float]) -> None:
        self._interval = timing.failed_login
        self._clock = clock
        self._reviews = asyncio.Semaphore(MAX_REVIEWS)
        # When all failures of an address are forgotten, if none is added.
        self._forgotten: OrderedDict[str, float] = OrderedDict()

    @asynccontextmanager
    async def login(self, remote: str) -> AsyncIterator[None]:
        """Enclose the review of a token; raises RequestRefused."""
        address = _network(remote)
        async with self._reviews:
            self._check(address)
            try:
                yield
            except (Unauthenticated, Unauthorized):
                self._count(address)
                raise

    def _check(self, address: str) -> None:
        left = self._forgotten.get(address, 0.0) - self._clock()
        if left > (MAX_FAILED_LOGINS - 1) * self._interval:
            raise RequestRefused(429, "Too many logins have failed: try again in a minute.")

    def _count(self, address: str) -> None:
        now = self._clock()
        self._forgotten[address] = max(self._forgotten.get(address, now), now) + self._interval
        self._forgotten.move_to_end(address)
        while len(self._forgotten) > MAX_ADDRESSES:
            self._forgotten.popitem(last=False)


def _network(remote: str) -> str:
    try:
        address = ipaddress.ip_address(remote)
    except ValueError:
        return remote
    if isinstance(address, ipaddress.IPv4Address):
        return remote
    return str(ipaddress.ip_network((int(address), _IPV6_NETWORK), strict=False))
