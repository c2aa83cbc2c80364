"""Injects API faults: error responses, lost responses, delays and closed watches."""

import asyncio
import random
from dataclasses import dataclass, field

from lynq.kube import Request, Response, Send
from lynq.kube.errors import (
    ApiError,
    Conflict,
    ConnectionFailed,
    InternalError,
    ServiceUnavailable,
    Status,
    TooManyRequests,
)

_ERRORS: tuple[tuple[type[ApiError], int], ...] = (
    (Conflict, 409),
    (TooManyRequests, 429),
    (InternalError, 500),
    (ServiceUnavailable, 503),
)


def api_error(request: Request, kind: type[ApiError], code: int) -> ApiError:
    """Return the error that the API server would send."""
    status = Status(message="injected fault", reason=kind.__name__, code=code)
    return kind(status, verb=request.verb, path=request.path)


@dataclass(slots=True)
class FaultInjector:
    """Fails or delays random requests and drops responses while active."""

    rng: random.Random
    active: bool = True
    rejected: int = 0
    lost: int = 0
    cuts: int = 0
    writes: list[str] = field(default_factory=list)
    _streams: list[Response] = field(default_factory=list)

    async def __call__(self, request: Request, send: Send) -> Response:
        if request.stream:
            return await self._stream(request, send)
        if request.verb not in ("get", "list") and "/events" not in request.path:
            self.writes.append(f"{request.verb} {request.path}")
        drawn = self.rng.random() if self.active else 1.0
        if drawn < 0.2:
            self.rejected += 1
            raise api_error(request, *self.rng.choice(_ERRORS))
        if drawn < 0.3:
            await send(request)
            self.lost += 1
            raise ConnectionFailed("injected fault: the response was lost")
        if drawn < 0.5:
            await asyncio.sleep(self.rng.uniform(0, 0.2))
        return await send(request)

    async def _stream(self, request: Request, send: Send) -> Response:
        if self.active and self.rng.random() < 0.3:
            raise api_error(request, ServiceUnavailable, 503)
        response = await send(request)
        self._streams.append(response)
        return response

    async def cut_watches(self) -> None:
        """Close random watches while active."""
        while self.active:
            await asyncio.sleep(self.rng.uniform(0.1, 0.5))
            if self._streams:
                self.cuts += 1
                self._streams.pop(self.rng.randrange(len(self._streams))).close()
