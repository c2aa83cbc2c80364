"""Serves the admission webhooks to the API server over HTTPS.

Every pod can connect, and Kubernetes gives the API server no client certificate by default. A
caller is **verified** by the secret part of the path, or by a client certificate if the server
demands one. Without either the object alone decides: the answer depends on no cache and no key, and
the operator sends no access review. What would need one is denied, to be tried
again: the secret part is being written. Verified callers have a priority level of their own, so
that no other caller uses up their memory and threads.

A request that cannot be decoded is answered with 400. An internal error is answered with 500 and
rejects the request, because the failurePolicy is Fail.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry

from lynq.api.installation_key import KeyState
from lynq.api.names import GROUP, VERSION
from lynq.api.node_metadata import is_deleting
from lynq.core.form.templates import ValidationInterrupted
from lynq.kube.errors import error_location
from lynq.telemetry import Address
from lynq.webhooks.authorization import Authorize
from lynq.webhooks.certificates.rotation import Certificates
from lynq.webhooks.cluster_view import ClusterView, NoCaches
from lynq.webhooks.configurations import WebhookPaths
from lynq.webhooks.defaulting import Defaults, form_defaults, hub_defaults
from lynq.webhooks.listener import WebhookListener
from lynq.webhooks.metrics import WebhookMetrics
from lynq.webhooks.paths import is_secret_part, static_path
from lynq.webhooks.review import (
    AdmissionDenied,
    AdmissionRequest,
    AdmissionResponse,
    GroupVersionKind,
    ReviewError,
    decode_object,
    decode_request,
    encode_response,
    to_plain_object,
)
from lynq.webhooks.validating import MayContinue, Validation, admit_form, admit_hub, admit_node

_KIB: Final = 1024
_MIB: Final = 1024 * _KIB

MAX_BODY: Final = 2 * (_MIB + 512 * _KIB) + 256 * _KIB
"""Bytes of a review: the old and the new object, each of at most 1.5 MiB in etcd, and the user."""
_MIN_HELD: Final = 16 * _KIB
"""Bytes that every request holds: an empty one has headers and a buffer too."""
_VALIDATION_SECONDS: Final = 5.0
"""From the request to the end of its validation. With the reviews of the author's rights, the
answer is complete before the 10 s for which the API server waits."""
_RETRY_AFTER: Final = 1
"""Seconds after which a request that was too much, or too early, may be sent again."""

Reviewer: TypeAlias = Callable[[AdmissionRequest, ClusterView, MayContinue], Validation]

_PART: Final = "part"
"""The name of the last part of the path in the route."""

# The logger name of controller-runtime, which users search for.
_log = structlog.get_logger("controller-runtime.webhook")


@dataclass(frozen=True, slots=True)
class _Route:
    """The kind and the handler of one path."""

    kind: GroupVersionKind
    review: Reviewer


@dataclass(frozen=True, slots=True)
class _Deadline:
    """The end of a validation, by the monotonic clock."""

    at: float

    @property
    def left(self) -> float:
        """The seconds that are left, at least 0."""
        return max(0.0, self.at - time.monotonic())

    def is_ahead(self) -> bool:
        """Return whether there is time left."""
        return self.left > 0


class _PriorityLevel:
    """What the requests of one kind of caller may use: memory for bodies, and threads."""

    def __init__(self, name: str, *, max_held: int, threads: int) -> None:
        self._left = max_held
        # A pool of its own: the threads of the event loop may all be busy with reads of rows.
        self.threads = ThreadPoolExecutor(threads, f"webhook-{name}")

    @contextmanager
    def hold(self, size: int) -> Iterator[bool]:
        """Hold this many bytes in the block; yields False if they are not left."""
        held = max(size, _MIN_HELD)
        if held > self._left:
            yield False
            return
        self._left -= held
        try:
            yield True
        finally:
            self._left += held

    def stop(self) -> None:
        """Stop the threads."""
        self.threads.shutdown(wait=False, cancel_futures=True)


class WebhookServer:
    """Serves the webhooks; to be entered with `async with`.

    The server listens once it has a certificate; until then `problem` is the reason. A fatal error
    cancels the block, and is raised when the block ends.
    """

    def __init__(
        self,
        address: Address,
        certificates: Certificates,
        view: ClusterView,
        authorize: Authorize,
        *,
        key: Callable[[], KeyState],
        paths: WebhookPaths | None = None,
        verifies_clients: bool = False,
        registry: CollectorRegistry | None = None,
        body_seconds: float = 4.0,
        validation_seconds: float = _VALIDATION_SECONDS,
    ) -> None:
        """Serve at the paths whose secret part `key` determines, and that `paths` writes.

        `verifies_clients`: whether the TLS context demands a client certificate.
        """
        self._certificates = certificates
        self._view = view
        self._no_caches = NoCaches(view.denied_hosts, view.limits)
        self._authorize = authorize
        self._key = key
        self._paths = paths
        self._verifies_clients = verifies_clients
        self._validation_seconds = validation_seconds
        self._verified = _PriorityLevel("verified", max_held=32 * _MIB, threads=4)
        self._unverified = _PriorityLevel("unverified", max_held=8 * _MIB, threads=1)
        self._body_seconds = body_seconds
        self._address = address
        metrics = WebhookMetrics(registry)
        handlers = {
            served: metrics.instrument(path, partial(self._handle, route))
            for path, route in _routes().items()
            for served in (path, f"{path}/{{{_PART}}}")
        }
        self._listener = WebhookListener(address, handlers, max_body=MAX_BODY)
        self._group = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_listening = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Start the certificate rotation and the server."""
        await self._group.__aenter__()
        self._tasks = [
            self._group.create_task(self._certificates.run(), name="webhook certificates"),
            self._group.create_task(self._listen(), name="webhook server"),
        ]
        if self._paths:
            self._tasks.append(self._group.create_task(self._paths.run(), name="webhook paths"))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Put the static paths back, if this is the last replica, and stop the server."""
        try:
            if self._paths:
                await self._paths.release()
        finally:
            await self._stop(kind, error, traceback)

    async def _stop(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        try:
            await self._listener.stop()
        finally:
            self._verified.stop()
            self._unverified.stop()
            # The task group would wrap an exception of the block, so it is not passed on. A
            # cancellation may come from the group itself, which has to see it.
            is_canceled = isinstance(error, asyncio.CancelledError)
            exception = (kind, error, traceback) if is_canceled else (None, None, None)
            await self._group.__aexit__(*exception)

    @property
    def address(self) -> Address:
        """The address that the server listens on."""
        return self._listener.address

    @property
    def problem(self) -> str:
        """Why requests cannot be served yet; "" if they can."""
        if self._is_listening.is_set():
            return ""
        return f"webhooks: {self._certificates.problem or 'not listening yet'}"

    async def listening(self) -> None:
        """Wait until the server listens."""
        await self._is_listening.wait()

    async def _listen(self) -> None:
        tls = await self._certificates.context()
        await self._listener.start(tls)
        self._is_listening.set()
        _log.info("Serving webhook server", bindAddress=str(self._address))

    async def _handle(self, route: _Route, request: web.Request) -> web.Response:
        is_verified = self._verifies_clients or is_secret_part(
            request.match_info.get(_PART, ""), self._key()
        )
        size = MAX_BODY if request.content_length is None else request.content_length
        # A body that announces a larger size is not read.
        if size > MAX_BODY:
            return _too_large()
        if is_verified:
            self._listener.verified(request)
        level = self._verified if is_verified else self._unverified
        with level.hold(size) as has_room:
            if not has_room:
                return _too_many()
            deadline = _Deadline(time.monotonic() + self._validation_seconds)
            body = await self._read(request)
            if isinstance(body, web.Response):
                return body
            return await self._review(route, body, deadline, is_verified=is_verified)

    async def _read(self, request: web.Request) -> bytes | web.Response:
        try:
            async with asyncio.timeout(self._body_seconds):
                return await request.read()
        except TimeoutError:
            return _text_response(408, "timeout while reading the body")
        except web.HTTPRequestEntityTooLarge:
            return _too_large()
        except (ConnectionError, web.RequestPayloadError):
            return _text_response(400, "the body is incomplete")

    async def _review(
        self, route: _Route, body: bytes, deadline: _Deadline, *, is_verified: bool
    ) -> web.Response:
        try:
            request = decode_request(body, route.kind)
            response = await self._validate(route, request, deadline, is_verified=is_verified)
            if response.required_secrets and not response.denial:
                denial = await self._authorized(request, response, is_verified=is_verified)
                response = replace(response, denial=denial)
            return web.Response(
                body=encode_response(request, response), content_type="application/json"
            )
        except ReviewError as error:
            return _text_response(400, str(error))
        except Exception as error:  # noqa: BLE001 - its message could quote values of a form
            _log.error("review failed", error=type(error).__name__, place=error_location(error))
            return _text_response(500, "internal error; see the log of the operator")

    async def _validate(
        self,
        route: _Route,
        request: AdmissionRequest,
        deadline: _Deadline,
        *,
        is_verified: bool,
    ) -> AdmissionResponse:
        view: ClusterView = self._view if is_verified else self._no_caches
        level = self._verified if is_verified else self._unverified
        validate = route.review(request, view, deadline.is_ahead)
        running = asyncio.get_running_loop().run_in_executor(level.threads, validate)
        try:
            # A validation that waits for a thread is canceled; one that runs ends by itself.
            return await asyncio.wait_for(running, deadline.left)
        except (TimeoutError, ValidationInterrupted):
            seconds = self._validation_seconds
            text = f"the validation took longer than {seconds:g} s: try again, or split the form"
            return AdmissionResponse(AdmissionDenied(text))

    async def _authorized(
        self, request: AdmissionRequest, response: AdmissionResponse, *, is_verified: bool
    ) -> AdmissionDenied | None:
        if is_verified:
            return await self._authorize(request, response.required_secrets)
        return AdmissionDenied(
            "the hub refers to Secrets, and the path of the webhook lacks the part by which the "
            "operator knows the API server: the operator writes it within seconds, try again. If "
            "this lasts, the log of the operator has the reason",
            _RETRY_AFTER,
        )


def _too_large() -> web.Response:
    return _text_response(413, f"the body exceeds {MAX_BODY} bytes")


def _too_many() -> web.Response:
    response = _text_response(429, "too many requests at a time: try again")
    response.headers["Retry-After"] = str(_RETRY_AFTER)
    return response


def _text_response(status: int, message: str) -> web.Response:
    return web.Response(status=status, text=f"{message}\n")


def _routes() -> Mapping[str, _Route]:
    return {
        **_route("mutate", "LynqHub", partial(_apply_defaults, hub_defaults)),
        **_route("validate", "LynqHub", admit_hub),
        **_route("mutate", "LynqForm", partial(_apply_defaults, form_defaults)),
        **_route("validate", "LynqForm", admit_form),
        **_route("validate", "LynqNode", admit_node),
    }


def _route(verb: str, kind: str, review: Reviewer) -> dict[str, _Route]:
    return {static_path(verb, kind): _Route(GroupVersionKind(GROUP, VERSION, kind), review)}


def _apply_defaults(
    defaults: Defaults,
    request: AdmissionRequest,
    _view: ClusterView,
    _may_continue: MayContinue,
) -> Validation:
    if request.operation not in ("CREATE", "UPDATE"):
        return AdmissionResponse
    obj = decode_object(request.object)
    # An object that is being deleted is not changed.
    spec: dict[str, Any] = {} if is_deleting(obj) else to_plain_object(obj.spec)
    return lambda: AdmissionResponse(patch=tuple(defaults(spec)))
