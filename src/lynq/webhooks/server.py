"""Serves the admission webhooks to the API server over HTTPS.

A request that cannot be decoded is answered with 400. An internal error is answered with 500 and
rejects the request, because the failurePolicy is Fail.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry

from lynq.api.names import GROUP, VERSION
from lynq.api.node_metadata import is_deleting
from lynq.kube.errors import error_location
from lynq.telemetry import Address
from lynq.telemetry.http_server import Listener
from lynq.webhooks.authorization import Authorize
from lynq.webhooks.certificates.rotation import Certificates
from lynq.webhooks.cluster_view import ClusterView
from lynq.webhooks.defaulting import Defaults, form_defaults, hub_defaults
from lynq.webhooks.metrics import WebhookMetrics
from lynq.webhooks.review import (
    AdmissionRequest,
    AdmissionResponse,
    GroupVersionKind,
    ReviewError,
    decode_object,
    decode_request,
    encode_response,
    to_plain_object,
)
from lynq.webhooks.validating import Validation, admit_form, admit_hub, admit_node

MAX_BODY: Final = 7 * 1024 * 1024
"""Bytes of a review: the old and the new object, each of at most 3 MiB in the API server."""
_THREADS: Final = 4
"""Number of reviews that are validated at the same time."""

Reviewer: TypeAlias = Callable[[AdmissionRequest, ClusterView], Validation]

# The logger name of controller-runtime, which users search for.
_log = structlog.get_logger("controller-runtime.webhook")


@dataclass(frozen=True, slots=True)
class _Route:
    """The kind and the handler of one path."""

    kind: GroupVersionKind
    review: Reviewer


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
        registry: CollectorRegistry | None = None,
        body_seconds: float = 5.0,
    ) -> None:
        self._certificates = certificates
        self._view = view
        self._authorize = authorize
        self._body_seconds = body_seconds
        self._address = address
        metrics = WebhookMetrics(registry)
        handlers = {
            path: metrics.instrument(path, partial(self._handle, route))
            for path, route in _routes().items()
        }
        self._listener = Listener("webhook", address, handlers, max_body=MAX_BODY)
        # A pool of its own: the threads of the event loop may all be busy with reads of rows.
        self._threads = ThreadPoolExecutor(_THREADS, "webhook")
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
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the server."""
        for task in self._tasks:
            task.cancel()
        try:
            await self._listener.stop()
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)
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
        # A body that announces a larger size is not read.
        if (request.content_length or 0) > MAX_BODY:
            return _too_large()
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await request.read()
        except TimeoutError:
            return _text_response(408, "timeout while reading the body")
        except web.HTTPRequestEntityTooLarge:
            return _too_large()
        except (ConnectionError, web.RequestPayloadError):
            return _text_response(400, "the body is incomplete")
        return await self._review(route, body)

    async def _review(self, route: _Route, body: bytes) -> web.Response:
        try:
            request = decode_request(body, route.kind)
            validate = route.review(request, self._view)
            loop = asyncio.get_running_loop()
            response = await loop.run_in_executor(self._threads, validate)
            if response.required_secrets and not response.denial:
                denial = await self._authorize(request, response.required_secrets)
                response = replace(response, denial=denial)
            return web.Response(
                body=encode_response(request, response), content_type="application/json"
            )
        except ReviewError as error:
            return _text_response(400, str(error))
        except Exception as error:  # noqa: BLE001 - its message could quote values of a form
            _log.error("review failed", error=type(error).__name__, place=error_location(error))
            return _text_response(500, "internal error; see the log of the operator")


def _too_large() -> web.Response:
    return _text_response(413, f"the body exceeds {MAX_BODY} bytes")


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
    path = f"/{verb}-{GROUP.replace('.', '-')}-{VERSION}-{kind.lower()}"
    return {path: _Route(GroupVersionKind(GROUP, VERSION, kind), review)}


def _apply_defaults(
    defaults: Defaults, request: AdmissionRequest, _view: ClusterView
) -> Validation:
    if request.operation not in ("CREATE", "UPDATE"):
        return AdmissionResponse
    obj = decode_object(request.object)
    # An object that is being deleted is not changed.
    spec: dict[str, Any] = {} if is_deleting(obj) else to_plain_object(obj.spec)
    return lambda: AdmissionResponse(patch=tuple(defaults(spec)))
