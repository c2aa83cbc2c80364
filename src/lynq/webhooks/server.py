"""The admission webhooks over HTTPS: five paths, bounded bodies, no work on the event loop.

A question that makes no sense is answered with a 400 and a sentence. A fault of our own is a 500,
which the API server takes for a refusal wherever failurePolicy is Fail.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry

from lynq.api.names import GROUP, VERSION
from lynq.kube.errors import error_location
from lynq.telemetry import Address
from lynq.telemetry.http_server import Listener
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
from lynq.webhooks.validating import ValidationResult, admit_form, admit_hub, admit_node

LARGEST_BODY: Final = 7 * 1024 * 1024
"""Bytes of a review: an object of 3 MiB, the most that an API server takes, before and after."""
_THREADS: Final = 4
"""How many reviews are judged at once."""

Validator: TypeAlias = Callable[[AdmissionRequest, ClusterView], ValidationResult]

# The name that people look for in the log.
_log = structlog.get_logger("controller-runtime.webhook")


@dataclass(frozen=True, slots=True)
class _Route:
    """What is asked at one path."""

    kind: GroupVersionKind
    judge: Validator


class WebhookServer:
    """Answers the API server; to be entered with `async with`.

    It listens as soon as there is a certificate, which can take a while: `problem` says so until
    then. What ends it for good is raised when it is left, and cancels the block before.
    """

    def __init__(
        self,
        address: Address,
        certificates: Certificates,
        known: ClusterView,
        *,
        registry: CollectorRegistry | None = None,
        body_seconds: float = 5.0,
    ) -> None:
        self._certificates = certificates
        self._known = known
        self._body_seconds = body_seconds
        self._wanted = address
        metrics = WebhookMetrics(registry)
        handlers = {
            path: metrics.around(path, partial(self._answer, route))
            for path, route in _routes().items()
        }
        self._listener = Listener("webhook", address, handlers, max_body=LARGEST_BODY)
        # Of its own: the loop's are few, and may all be busy with rows while the API server waits.
        self._threads = ThreadPoolExecutor(_THREADS, "webhook")
        self._group = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_up = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Begin to get ready."""
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
        """Answer no more."""
        for task in self._tasks:
            task.cancel()
        try:
            await self._listener.stop()
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)
            # What the block raises is its own: the group would wrap it. A cancellation may be the
            # group's, which has to see it.
            cancelled = isinstance(error, asyncio.CancelledError)
            told = (kind, error, traceback) if cancelled else (None, None, None)
            await self._group.__aexit__(*told)

    @property
    def address(self) -> Address:
        """Where it really listens, once it is up."""
        return self._listener.address

    @property
    def problem(self) -> str:
        """Why nobody is answered yet; "" if everybody is."""
        if self._is_up.is_set():
            return ""
        return f"webhooks: {self._certificates.problem or 'not listening yet'}"

    async def up(self) -> None:
        """Wait until it answers."""
        await self._is_up.wait()

    async def _listen(self) -> None:
        tls = await self._certificates.context()
        await self._listener.start(tls)
        self._is_up.set()
        _log.info("Serving webhook server", bindAddress=str(self._wanted))

    async def _answer(self, route: _Route, request: web.Request) -> web.Response:
        # One that says so itself is not even begun.
        if (request.content_length or 0) > LARGEST_BODY:
            return _too_large()
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await request.read()
        except TimeoutError:
            return _said(408, "the body took too long to come")
        except web.HTTPRequestEntityTooLarge:
            return _too_large()
        except (ConnectionError, web.RequestPayloadError):
            return _said(400, "the body came only in part")
        return await self._review(route, body)

    async def _review(self, route: _Route, body: bytes) -> web.Response:
        try:
            question = decode_request(body, route.kind)
            judgement = route.judge(question, self._known)
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(self._threads, judgement)
            return web.Response(
                body=encode_response(question, answer), content_type="application/json"
            )
        except ReviewError as error:
            return _said(400, str(error))
        except Exception as error:  # noqa: BLE001 - its words could quote what is in a form
            _log.error("review failed", error=type(error).__name__, place=error_location(error))
            return _said(500, "the review failed; the operator's log says where")


def _too_large() -> web.Response:
    return _said(413, f"a review may have {LARGEST_BODY} bytes")


def _said(status: int, sentence: str) -> web.Response:
    return web.Response(status=status, text=f"{sentence}\n")


def _routes() -> Mapping[str, _Route]:
    return {
        **_route("mutate", "LynqHub", partial(_fill, hub_defaults)),
        **_route("validate", "LynqHub", admit_hub),
        **_route("mutate", "LynqForm", partial(_fill, form_defaults)),
        **_route("validate", "LynqForm", admit_form),
        **_route("validate", "LynqNode", admit_node),
    }


def _route(verb: str, kind: str, judge: Validator) -> dict[str, _Route]:
    path = f"/{verb}-{GROUP.replace('.', '-')}-{VERSION}-{kind.lower()}"
    return {path: _Route(GroupVersionKind(GROUP, VERSION, kind), judge)}


def _fill(defaults: Defaults, question: AdmissionRequest, _known: ClusterView) -> ValidationResult:
    if question.operation not in ("CREATE", "UPDATE"):
        return AdmissionResponse
    obj = decode_object(question.object)
    # What is leaving is left as it is.
    spec: dict[str, Any] = {} if obj.metadata.deletion_timestamp else to_plain_object(obj.spec)
    return lambda: AdmissionResponse(patch=tuple(defaults(spec)))
