"""What the kubelet and Prometheus ask over HTTP: are you alive, are you ready, how are you."""

import asyncio
import gzip
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry, Metric

from lynq.telemetry.address import Address
from lynq.telemetry.authorization import Authorize, Decision, Remembering, ReviewFailedError
from lynq.telemetry.certificates import CertificateFiles, server_context
from lynq.telemetry.exposition import CONTENT_TYPE, collected, written
from lynq.telemetry.listening import Listener

_log = structlog.get_logger("controller-runtime.health")
# The name that people look for in the log.
_metrics_log = structlog.get_logger("controller-runtime.metrics")

_REFUSALS: Final = {
    Decision.UNAUTHENTICATED: (401, "no valid bearer token\n"),
    Decision.FORBIDDEN: (403, "this account may not get /metrics\n"),
}


class HealthServer:
    """Answers the kubelet's probes; to be entered with `async with`.

    /healthz is answered by the event loop, so an answer is the proof that it is alive. /readyz
    asks `problems` and passes on what it names.
    """

    def __init__(self, address: Address, problems: Callable[[], list[str]]) -> None:
        self._problems = problems
        self._wanted = address
        self._listener = Listener(
            "health", address, {"/healthz": _alive, "/readyz": self._answer_ready}
        )

    async def __aenter__(self) -> Self:
        """Begin to answer; raises ListenError."""
        _log.info("Starting health server", bindAddress=str(self._wanted))
        await self._listener.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Answer no more."""
        await self._listener.stop()

    @property
    def address(self) -> Address:
        """Where it really listens."""
        return self._listener.address

    async def _answer_ready(self, _request: web.Request) -> web.Response:
        problems = self._problems()
        if not problems:
            return web.Response(text="ok")
        return web.Response(status=500, text="".join(f"not ready: {each}\n" for each in problems))


async def _alive(_request: web.Request) -> web.Response:
    return web.Response(text="ok")


@dataclass(frozen=True, slots=True)
class Protection:
    """What stands before the series: HTTPS, and a question about the caller's token."""

    authorize: Authorize
    certificate: CertificateFiles | None = None
    """None: one that is made at the start and signed by itself."""


class MetricsServer:
    """Serves /metrics; plain and to everybody without a protection. Entered with `async with`."""

    def __init__(
        self, address: Address, registry: CollectorRegistry, protection: Protection | None
    ) -> None:
        self._registry = registry
        self._protection = protection
        self._authorize = Remembering(protection.authorize) if protection else None
        self._wanted = address
        self._listener = Listener("metrics", address, {"/metrics": self._answer})
        # One at a time: the text of ten thousand nodes has megabytes.
        self._writing = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Begin to answer; raises ListenError or CertificateError."""
        secure = self._protection is not None
        _metrics_log.info("Starting metrics server", bindAddress=str(self._wanted), secure=secure)
        tls = server_context(self._protection.certificate) if self._protection else None
        await self._listener.start(tls)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Answer no more."""
        await self._listener.stop()

    @property
    def address(self) -> Address:
        """Where it really listens."""
        return self._listener.address

    async def _answer(self, request: web.Request) -> web.Response:
        refusal = await self._refusal(request)
        return refusal or await self._series(request)

    async def _refusal(self, request: web.Request) -> web.Response | None:
        if self._authorize is None:
            return None
        try:
            token = _token(request)
            decision = await self._authorize(token) if token else Decision.UNAUTHENTICATED
        except ReviewFailedError as error:
            _metrics_log.warning("token not reviewed", error=str(error))
            return web.Response(status=500, text="the token could not be reviewed\n")
        if decision is Decision.ALLOWED:
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
            families = collected(self._registry)
            body = await asyncio.to_thread(_packed if is_packed else written, families)
        return web.Response(body=body, headers=headers)


def _packed(families: Iterable[Metric]) -> bytes:
    return gzip.compress(written(families), compresslevel=1)


def _token(request: web.Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
