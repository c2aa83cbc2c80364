"""What the kubelet and Prometheus ask over HTTP: are you alive, are you ready, how are you."""

import asyncio
import gzip
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry, Metric

from lynq.telemetry.address import Address
from lynq.telemetry.authorization import (
    AccessDecision,
    Authorize,
    CachedAuthorizer,
    ReviewFailedError,
)
from lynq.telemetry.certificates import CertificateFiles, server_context
from lynq.telemetry.exposition import CONTENT_TYPE, collect_families, render_families
from lynq.telemetry.http_server import HttpServer

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
