"""The HTTP endpoints of the operator: /healthz, /readyz and the authorized /metrics."""

import asyncio
import gzip
import ssl
from collections.abc import Callable, Iterable
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
    Protection,
    ReviewFailedError,
)
from lynq.telemetry.exposition import CONTENT_TYPE, collect_families, render_families
from lynq.telemetry.http_server import HttpServer
from lynq.tls.context import (
    CertificateFiles,
    self_signed_server_context,
    server_context_from_files,
)

_log = structlog.get_logger("controller-runtime.metrics")

_DENIALS: Final = {
    AccessDecision.UNAUTHENTICATED: (401, "no valid bearer token\n"),
    AccessDecision.FORBIDDEN: (403, "this account may not get /metrics\n"),
}


def health_server(address: Address, problems: Callable[[], list[str]]) -> HttpServer:
    """Return the server of the kubelet's probes.

    /healthz responds from the event loop: a response proves that the loop runs. /readyz responds
    with the result of `problems`.
    """

    async def ready(_request: web.Request) -> web.Response:
        if not (reasons := problems()):
            return web.Response(text="ok")
        return web.Response(
            status=500, text="".join(f"not ready: {reason}\n" for reason in reasons)
        )

    return HttpServer("health", address, {"/healthz": _healthy, "/readyz": ready})


async def _healthy(_request: web.Request) -> web.Response:
    return web.Response(text="ok")


def metrics_server(
    address: Address, registry: CollectorRegistry, protection: Protection | None
) -> HttpServer:
    """Return the server of /metrics; without a protection it is plain HTTP for everyone."""
    authorize = CachedAuthorizer(protection.authorize) if protection else None
    endpoint = _MetricsEndpoint(registry, authorize)
    tls = partial(_server_context, protection.certificate) if protection else None
    return HttpServer(
        "metrics", address, {"/metrics": endpoint.respond}, tls=tls, secure=tls is not None
    )


def _server_context(files: CertificateFiles | None) -> ssl.SSLContext:
    return server_context_from_files(files) if files else self_signed_server_context()


class _MetricsEndpoint:
    """Handles scrapes."""

    def __init__(self, registry: CollectorRegistry, authorize: Authorize | None) -> None:
        self._registry = registry
        self._authorize = authorize
        # One scrape at a time: the text of ten thousand nodes takes megabytes.
        self._scrape = asyncio.Lock()

    async def respond(self, request: web.Request) -> web.Response:
        denial = await self._denial(request)
        return denial or await self._metrics(request)

    async def _denial(self, request: web.Request) -> web.Response | None:
        if self._authorize is None:
            return None
        try:
            token = _bearer_token(request)
            decision = await self._authorize(token) if token else AccessDecision.UNAUTHENTICATED
        except ReviewFailedError as error:
            _log.warning("token not reviewed", error=str(error))
            return web.Response(status=500, text="the token could not be reviewed\n")
        if decision is AccessDecision.ALLOWED:
            return None
        status, text = _DENIALS[decision]
        challenge = {"WWW-Authenticate": "Bearer"} if status == 401 else {}  # noqa: PLR2004
        return web.Response(status=status, text=text, headers=challenge)

    async def _metrics(self, request: web.Request) -> web.Response:
        headers = {"Content-Type": CONTENT_TYPE}
        compressed = "gzip" in request.headers.get("Accept-Encoding", "")
        if compressed:
            headers["Content-Encoding"] = "gzip"
        async with self._scrape:
            # Collected in the event loop, where no metric changes meanwhile; rendered in a thread.
            families = collect_families(self._registry)
            render = _render_compressed if compressed else render_families
            body = await asyncio.to_thread(render, families)
        return web.Response(body=body, headers=headers)


def _render_compressed(families: Iterable[Metric]) -> bytes:
    return gzip.compress(render_families(families), compresslevel=1)


def _bearer_token(request: web.Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
