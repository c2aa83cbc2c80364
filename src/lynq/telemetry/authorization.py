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

_Decisions: TypeAlias = OrderedDict[bytes, tuple[AccessDecision, float]]

_ALLOWED_TTL: Final = 60.0
_DENIED_TTL: Final = 10.0
"""Shorter, so that a newly granted permission takes effect soon."""
_CACHE_SIZE: Final = 256
_CONCURRENT_REVIEWS: Final = 3
"""Of tokens that have not been allowed yet; those that have been wait only for each other."""
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
        # A flood of invalid tokens must not become a flood of reviews at the API server, nor evict
        # or delay the token of a scraper.
        self._allowed: _Decisions = OrderedDict()
        self._denied: _Decisions = OrderedDict()
        self._slots = asyncio.Semaphore(_CONCURRENT_REVIEWS)
        self._known = asyncio.Semaphore()

    async def __call__(self, token: str) -> AccessDecision:
        """Return the decision on a token; raises ReviewFailedError."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        if (cached := self._cached(digest)) is not None:
            return cached
        try:
            slots = self._known if digest in self._allowed else self._slots
            async with asyncio.timeout(_REVIEW_TIMEOUT), slots:
                # A concurrent request may have reviewed the same token meanwhile.
                decision = self._cached(digest) or await self._review(token)
        except TimeoutError:
            raise ReviewFailedError("the review of the token timed out") from None
        self._cache(digest, decision)
        return decision

    def _cached(self, digest: bytes) -> AccessDecision | None:
        now = self._clock()
        for decisions in (self._allowed, self._denied):
            decision, expiry = decisions.get(digest, (None, 0.0))
            if now < expiry:
                return decision
        return None

    def _cache(self, digest: bytes, decision: AccessDecision) -> None:
        if self._cached(digest) is decision:
            return
        is_allowed = decision is AccessDecision.ALLOWED
        self._allowed.pop(digest, None)
        self._denied.pop(digest, None)
        decisions = self._allowed if is_allowed else self._denied
        ttl = _ALLOWED_TTL if is_allowed else _DENIED_TTL
        decisions[digest] = (decision, self._clock() + ttl)
        while len(decisions) > _CACHE_SIZE:
            decisions.popitem(last=False)
