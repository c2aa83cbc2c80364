"""One request, answered or failed for good: retries around interceptors around the fence.

From the outside in, for every request:

1. retries: `retrying` decides; a refused credential is renewed once;
2. a place among the requests in flight (watches need none), given back while waiting to retry;
3. the interceptors, first one outermost, around every attempt;
4. the fence: nothing that can wait lies between its yes and the wire but the connection itself.

Whether a failed attempt may be sent again, and after how long.

The question is always: can the first attempt have been carried out?

| what happened | who may go again |
|---|---|
| the connection was never made | everyone: nothing was sent |
| 429 | everyone: the API server says that it did not look at the request |
| connection lost on the way, 503, 504, 500 with Retry-After | repeatable requests |
| no answer in time | nobody: a server that is too slow is not helped by asking twice |

Repeatable are reads, dry runs, server-side applies (the same intent twice is the same state) and
deletes of one uid (the second finds nothing to do). Whatever asks for a resourceVersion is not: the
first attempt may have moved it, and the second would report a conflict with ourselves, by which a
lease holder believes to have lost. Nor are creates (the second answers AlreadyExists for our own
object) and patches (a JSON patch adds twice).
"""

import asyncio
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import msgspec

from lynq.kube import errors
from lynq.kube.config import ClusterConfig
from lynq.kube.credentials import Credential, Credentials
from lynq.kube.errors import (
    ApiError,
    ConnectionFailed,
    InternalError,
    KubeError,
    ServiceUnavailable,
    TimedOut,
    Timeout,
    TooManyRequests,
)
from lynq.kube.requests import Fence, Interceptor, Request, Response, Send
from lynq.kube.session import ClientOptions, Session


def attempt_delay(
    error: KubeError, request: Request, failures: int, options: ClientOptions
) -> float | None:
    """Return the seconds to wait before the next attempt, or None when there is none.

    `failures` counts the attempts that failed, this one included.
    """
    if failures >= options.attempts or not _may_repeat(error, request):
        return None
    delay = options.backoff.delay(failures - 1)
    asked = error.retry_after if isinstance(error, ApiError) else None
    if asked is None:
        return delay
    # The server's wish is a minimum; the jitter on top keeps clients from coming back as one.
    return asked + delay if asked <= options.patience else None


def _may_repeat(error: KubeError, request: Request) -> bool:
    match error:
        case TooManyRequests():
            return True
        case ConnectionFailed(sent=False):
            return True
        case TimedOut():
            return False
        case ConnectionFailed() | ServiceUnavailable() | Timeout():
            return request.repeatable
        case InternalError(retry_after=float()):
            return request.repeatable
        case _:
            return False


_BAD_REQUEST: Final = 400
_STATUS: Final = msgspec.json.Decoder(errors.Status)


@dataclass(frozen=True, slots=True)
class Transport:
    """The way to the API server; copies with other hooks share connections and limits."""

    session: Session
    credentials: Credentials
    options: ClientOptions
    slots: asyncio.Semaphore
    interceptors: tuple[Interceptor, ...] = ()
    fence: Fence | None = None

    @classmethod
    def to(
        cls,
        config: ClusterConfig,
        options: ClientOptions,
        interceptors: tuple[Interceptor, ...] = (),
        fence: Fence | None = None,
    ) -> "Transport":
        """Make the transport to a cluster; `session` is still to be opened."""
        return cls(
            Session(config, options),
            config.credentials,
            options,
            asyncio.Semaphore(options.max_in_flight),
            interceptors,
            fence,
        )

    def fenced(self, fence: Fence | None) -> "Transport":
        """Return a transport whose writes ask this fence."""
        return replace(self, fence=fence)

    def with_slots_of_its_own(self) -> "Transport":
        """Return a transport whose requests do not wait for others to be answered."""
        return replace(self, slots=asyncio.Semaphore(self.options.max_in_flight))

    def intercepted(self, *interceptors: Interceptor) -> "Transport":
        """Return a transport with more interceptors, inside those it has."""
        return replace(self, interceptors=(*self.interceptors, *interceptors))

    async def send(self, request: Request) -> Response:
        """Send it, again where that is safe; a status of 400 and above is raised as an error."""
        credential = await self.credentials.current()
        renewed = False
        failures = 0
        while True:
            try:
                return await self._attempt(request, credential)
            except errors.Unauthorized:
                if renewed:
                    raise
                refused, renewed = credential, True
                credential = await self.credentials.renew(refused)
                if credential == refused:
                    raise
            except errors.KubeError as error:
                failures += 1
                delay = attempt_delay(error, request, failures, self.options)
                if delay is None:
                    raise
                await asyncio.sleep(delay)
                credential = await self.credentials.current()

    async def _attempt(self, request: Request, credential: Credential) -> Response:
        send: Send = partial(self._pass_fence, credential=credential)
        for interceptor in reversed(self.interceptors):
            send = _around(send, interceptor)
        async with nullcontext() if request.stream else self.slots:
            response = await send(request)
        if response.status >= _BAD_REQUEST:
            raise _error(request, response)
        return response

    async def _pass_fence(self, request: Request, *, credential: Credential) -> Response:
        if request.writes and self.fence is not None:
            self.fence()
        return await self.session.send(request, credential)


def _around(send: Send, interceptor: Interceptor) -> Send:
    return lambda request: interceptor(request, send)


def _error(request: Request, response: Response) -> errors.ApiError:
    status = errors.plain_status(response.status, response.body[:1000].decode(errors="replace"))
    with suppress(msgspec.DecodeError, RecursionError):
        found = _STATUS.decode(response.body)
        # Extension servers leave parts out; a proxy's JSON is no Status at all.
        if found.reason or found.message:
            status = msgspec.structs.replace(
                found, code=response.status, reason=found.reason or status.reason
            )
    return errors.from_status(
        status, verb=request.verb, path=request.path, retry_after=_retry_after(response)
    )


def _retry_after(response: Response) -> float | None:
    # The API server sends seconds; a proxy's date is left to our own back-off.
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None
