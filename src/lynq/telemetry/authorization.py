"""Who may read the series: the answers of whoever knows, remembered for a short time."""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Final, TypeAlias


class AccessDecision(Enum):
    """What came out of looking at a token."""

    ALLOWED = auto()
    UNAUTHENTICATED = auto()
    """The token is nobody's."""
    FORBIDDEN = auto()
    """The token is somebody's who may not read the series."""


class ReviewFailedError(Exception):
    """Nobody could say; the message may be logged."""


Authorize: TypeAlias = Callable[[str], Awaitable[AccessDecision]]
"""Looks at a bearer token; raises ReviewFailedError."""

_KEPT: Final = {AccessDecision.ALLOWED: 60.0}
_KEPT_OTHERWISE: Final = 10.0
"""Shorter: whoever has just been given the right should not wait for long."""
_MOST_CACHED: Final = 256
_AT_ONCE: Final = 4
_PATIENCE: Final = 10.0


class CachedAuthorizer:
    """Asks once and keeps the answer; of the token itself it keeps a digest only."""

    def __init__(self, ask: Authorize, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[AccessDecision, float]] = OrderedDict()
        # A flood of made-up tokens must not become a flood of reviews at the API server.
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, token: str) -> AccessDecision:
        """Return what the token's holder may do; raises ReviewFailedError."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        if (known := self._remembered(digest)) is not None:
            return known
        try:
            async with asyncio.timeout(_PATIENCE), self._slots:
                # Somebody else may have asked the same while we waited.
                decision = self._remembered(digest) or await self._ask(token)
        except TimeoutError:
            raise ReviewFailedError("no answer about the token in time") from None
        self._remember(digest, decision)
        return decision

    def _remembered(self, digest: bytes) -> AccessDecision | None:
        decision, until = self._known.get(digest, (None, 0.0))
        return decision if self._clock() < until else None

    def _remember(self, digest: bytes, decision: AccessDecision) -> None:
        if self._remembered(digest) is decision:
            return
        until = self._clock() + _KEPT.get(decision, _KEPT_OTHERWISE)
        self._known[digest] = (decision, until)
        self._known.move_to_end(digest)
        while len(self._known) > _MOST_CACHED:
            self._known.popitem(last=False)
