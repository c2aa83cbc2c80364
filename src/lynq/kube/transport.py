"""Sends a request with retries, interceptors and the fence.

From the outside in, for every request:

1. retries; a rejected credential is renewed once;
2. a slot among the requests in flight (not for watches), released while waiting for a retry;
   requests of low priority are not counted (`request_slots`);
3. the interceptors, the first one outermost, around every attempt;
4. the fence: after its check, only the connection itself can delay the request.

A retry depends on whether the first attempt may have been executed:

| failure | retried |
|---|---|
| connection not established | all requests: nothing was sent |
| 429 | all requests: the API server did not process the request |
| connection lost, 503, 504, 500 with Retry-After | repeatable requests |
| no response in time | none: a retry does not help a slow API server |

Repeatable are reads, dry runs, server-side applies (idempotent) and deletes with a uid. Requests
with a resourceVersion are not: the first attempt may have changed it, and the second would report a
conflict with our own write, from which a lease holder would conclude that it lost the lease.
Creates are not (the second would report AlreadyExists for our own object), nor are patches (a JSON
patch can add twice).
"""

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import msgspec

from lynq.api.nesting import depth_checked
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
from lynq.kube.request_slots import RequestSlots
from lynq.kube.requests import Fence, Interceptor, Request, Response, Send
from lynq.kube.session import ClientOptions, Session


def attempt_delay(
    error: KubeError, request: Request, failures: int, options: ClientOptions
) -> float | None:
    """Return the seconds until the next attempt, or None if the request is not retried.

    `failures` counts the failed attempts, including this one.
    """
    if failures >= options.attempts or not _may_retry(error, request):
        return None
    delay = options.backoff.delay(failures - 1)
    retry_after = error.retry_after if isinstance(error, ApiError) else None
    if retry_after is None:
        return delay
    # Retry-After is a minimum; the jitter on top spreads the clients.
    return retry_after + delay if retry_after <= options.max_retry_after else None


def _may_retry(error: KubeError, request: Request) -> bool:
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


_REDIRECT: Final = 300
_BAD_REQUEST: Final = 400
_STATUS: Final = msgspec.json.Decoder(errors.Status)


@dataclass(frozen=True, slots=True)
class Transport:
    """A connection to the API server; copies with other hooks share its connections and limits."""

    session: Session
    credentials: Credentials
    options: ClientOptions
    slots: RequestSlots
    interceptors: tuple[Interceptor, ...] = ()
    fence: Fence | None = None
    has_low_priority: bool = False

    @classmethod
    def to(
        cls,
        config: ClusterConfig,
        options: ClientOptions,
        interceptors: tuple[Interceptor, ...] = (),
        fence: Fence | None = None,
    ) -> "Transport":
        """Return the transport to a cluster; `session` must be opened."""
        return cls(
            Session(config, options),
            config.credentials,
            options,
            RequestSlots(options.max_in_flight),
            interceptors,
            fence,
        )

    def fenced(self, fence: Fence | None) -> "Transport":
        """Return a transport whose writes check this fence."""
        return replace(self, fence=fence)

    def with_own_slots(self) -> "Transport":
        """Return a transport whose requests do not wait for the slots of others."""
        return replace(self, slots=RequestSlots(self.options.max_in_flight))

    def with_low_priority(self) -> "Transport":
        """Return a transport whose requests are not counted by `RequestSlots.wait_until_quiet`."""
        return replace(self, has_low_priority=True)

    def intercepted(self, *interceptors: Interceptor) -> "Transport":
        """Return a transport with additional interceptors, inside of the existing ones."""
        return replace(self, interceptors=(*self.interceptors, *interceptors))

    async def send(self, request: Request) -> Response:
        """Send a request, with retries where safe; raises a status of 300 and above as an error."""
        credential = await self.credentials.current()
        renewed = False
        failures = 0
        while True:
            try:
                return await self._attempt(request, credential)
            except errors.Unauthorized:
                if renewed:
                    raise
                rejected, renewed = credential, True
                credential = await self.credentials.renew(rejected)
                if credential == rejected:
                    raise
            except errors.KubeError as error:
                failures += 1
                delay = attempt_delay(error, request, failures, self.options)
                if delay is None:
                    raise
                await asyncio.sleep(delay)
                credential = await self.credentials.current()

    async def _attempt(self, request: Request, credential: Credential) -> Response:
        send: Send = partial(self._send_fenced, credential=credential)
        for interceptor in reversed(self.interceptors):
            send = _around(send, interceptor)
        async with self._slot(request):
            started = asyncio.get_running_loop().time()
            response = await send(request)
            if not request.stream:
                self.slots.record(asyncio.get_running_loop().time() - started)
        if response.status >= _REDIRECT:
            raise _error(request, response)
        return response

    def _slot(self, request: Request) -> AbstractAsyncContextManager[None]:
        if request.stream:
            return nullcontext()
        return self.slots.semaphore if self.has_low_priority else self.slots

    async def _send_fenced(self, request: Request, *, credential: Credential) -> Response:
        if request.writes and self.fence is not None:
            self.fence()
        return await self.session.send(request, credential)


def _around(send: Send, interceptor: Interceptor) -> Send:
    return lambda request: interceptor(request, send)


def _error(request: Request, response: Response) -> errors.ApiError:
    status = errors.plain_status(response.status, response.body[:1000].decode(errors="replace"))
    with suppress(msgspec.DecodeError):
        decoded = _STATUS.decode(depth_checked(response.body))
        # Extension servers omit fields; the JSON of a proxy, or of a redirect, is not a Status.
        if (decoded.reason or decoded.message) and response.status >= _BAD_REQUEST:
            status = msgspec.structs.replace(
                decoded, code=response.status, reason=decoded.reason or status.reason
            )
    return errors.from_status(
        status, verb=request.verb, path=request.path, retry_after=_retry_after(response)
    )


def _retry_after(response: Response) -> float | None:
    # The API server sends seconds; the date of a proxy is ignored.
    value = response.headers.get("retry-after", "")
    return float(value) if value.isdecimal() else None
