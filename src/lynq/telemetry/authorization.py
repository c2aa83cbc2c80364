"""Authorization of requests for /metrics: decisions on bearer tokens, and their cache."""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from lynq.tls.context import CertificateFiles


class AccessDecision(Enum):
    """The result of the review of a bearer token."""

    ALLOWED = auto()
    UNAUTHENTICATED = auto()
    """The token is not valid."""
    FORBIDDEN = auto()
    """The token is valid, and its user may not read the metrics."""


class ReviewFailedError(Exception):
    """The token could not be reviewed; the message may be logged."""


Authorize: TypeAlias = Callable[[str], Awaitable[AccessDecision]]
"""Reviews a bearer token; raises ReviewFailedError."""

_ALLOWED_TTL: Final = 60.0
_DENIED_TTL: Final = 10.0
"""Shorter, so that a newly granted permission takes effect soon."""
_CACHE_SIZE: Final = 256
_CONCURRENT_REVIEWS: Final = 4
_REVIEW_TIMEOUT: Final = 10.0


@dataclass(frozen=True, slots=True)
class Protection:
    """Serves /metrics over HTTPS, and only to authorized tokens."""

    authorize: Authorize
    certificate: CertificateFiles | None = None
    """None: a self-signed certificate that is created at the start."""


class CachedAuthorizer:
    """Caches the decisions on tokens; only a digest of a token is kept."""

    def __init__(self, review: Authorize, clock: Callable[[], float] = time.monotonic) -> None:
        self._review = review
        self._clock = clock
        self._decisions: OrderedDict[bytes, tuple[AccessDecision, float]] = OrderedDict()
        # A flood of invalid tokens must not become a flood of reviews at the API server.
        self._slots = asyncio.Semaphore(_CONCURRENT_REVIEWS)

    async def __call__(self, token: str) -> AccessDecision:
        """Return the decision on a token; raises ReviewFailedError."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        if (cached := self._cached(digest)) is not None:
            return cached
        try:
            async with asyncio.timeout(_REVIEW_TIMEOUT), self._slots:
                # A concurrent request may have reviewed the same token meanwhile.
                decision = self._cached(digest) or await self._review(token)
        except TimeoutError:
            raise ReviewFailedError("the review of the token timed out") from None
        self._cache(digest, decision)
        return decision

    def _cached(self, digest: bytes) -> AccessDecision | None:
        decision, expiry = self._decisions.get(digest, (None, 0.0))
        return decision if self._clock() < expiry else None

    def _cache(self, digest: bytes, decision: AccessDecision) -> None:
        if self._cached(digest) is decision:
            return
        ttl = _ALLOWED_TTL if decision is AccessDecision.ALLOWED else _DENIED_TTL
        self._decisions[digest] = (decision, self._clock() + ttl)
        self._decisions.move_to_end(digest)
        while len(self._decisions) > _CACHE_SIZE:
            self._decisions.popitem(last=False)
