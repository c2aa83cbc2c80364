"""What the kubelet and Prometheus ask over HTTP: are you alive, are you ready, how are you.

Who may read the series: the answers of whoever knows, remembered for a short time.
"""

import asyncio
import gzip
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Final, TypeAlias

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry, Metric

from lynq.telemetry.certificates import CertificateFiles, server_context
from lynq.telemetry.exposition import CONTENT_TYPE, collect_families, render_families
from lynq.telemetry.http_server import Address, HttpServer


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


_log = structlog.get_logger("controller-runtime.metrics")

_REFUSALS: Final = {
    AccessDecision.UNAUTHENTICATED: (401, "no valid bearer token\n"),
    AccessDecision.FORBIDDEN: (403, "this account may not get /metrics\n"),
}


def health_server(address: Address, problems: Callable[[], list[str]]) -> HttpServer:
    """Return the server that answers the kubelet's probes.

    /healthz is answered by the event loop, so an answer is the proof that it is alive. /readyz
    asks `problems` and passes on what it names.
    """

    async def ready(_request: web.Request) -> web.Response:
        if not (named := problems()):
            return web.Response(text="ok")
        return web.Response(status=500, text="".join(f"not ready: {each}\n" for each in named))

    return HttpServer("health", address, {"/healthz": _alive, "/readyz": ready})


async def _alive(_request: web.Request) -> web.Response:
    return web.Response(text="ok")


@dataclass(frozen=True, slots=True)
class Protection:
    """What stands before the series: HTTPS, and a question about the caller's token."""

    authorize: Authorize
    certificate: CertificateFiles | None = None
    """None: one that is made at the start and signed by itself."""


def metrics_server(
    address: Address, registry: CollectorRegistry, protection: Protection | None
) -> HttpServer:
    """Return the server of /metrics; plain and to everybody without a protection."""
    scrapes = _Scrapes(registry, CachedAuthorizer(protection.authorize) if protection else None)
    tls = partial(server_context, protection.certificate) if protection else None
    return HttpServer(
        "metrics", address, {"/metrics": scrapes.answer}, tls=tls, secure=tls is not None
    )


class _Scrapes:
    """Answers those who ask for the series."""

    def __init__(self, registry: CollectorRegistry, authorize: Authorize | None) -> None:
        self._registry = registry
        self._authorize = authorize
        # One at a time: the text of ten thousand nodes has megabytes.
        self._writing = asyncio.Lock()

    async def answer(self, request: web.Request) -> web.Response:
        refusal = await self._refusal(request)
        return refusal or await self._series(request)

    async def _refusal(self, request: web.Request) -> web.Response | None:
        if self._authorize is None:
            return None
        try:
            token = _token(request)
            decision = await self._authorize(token) if token else AccessDecision.UNAUTHENTICATED
        except ReviewFailedError as error:
            _log.warning("token not reviewed", error=str(error))
            return web.Response(status=500, text="the token could not be reviewed\n")
        if decision is AccessDecision.ALLOWED:
            return None
        status, text = _REFUSALS[decision]
        challenge = {"WWW-Authenticate": "Bearer"} if status == 401 else {}  # noqa: PLR2004
        return web.Response(status=status, text=text, headers=challenge)

    async def _series(self, request: web.Request) -> web.Response:
        headers = {"Content-Type": CONTENT_TYPE}
        is_packed = "gzip" in request.headers.get("Accept-Encoding", "")
        if is_packed:
            headers["Content-Encoding"] = "gzip"
        async with self._writing:
            # Collected here, where nothing changes meanwhile; written where it stops nobody.
            families = collect_families(self._registry)
            body = await asyncio.to_thread(_packed if is_packed else render_families, families)
        return web.Response(body=body, headers=headers)


def _packed(families: Iterable[Metric]) -> bytes:
    return gzip.compress(render_families(families), compresslevel=1)


def _token(request: web.Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
