"""The event recorder: tells people what happened to an object, and never holds up who reports it.

`record` only sorts the occurrence into its series and puts the series into a queue; a few writers
bring the Event objects in line with their series. So an event that repeats a thousand times while
the API server is slow is one write, and the order of create and patch is kept because a queue never
gives one series to two writers.

Events are a courtesy. When the queue is full, they are dropped and counted; when a write fails, it
is tried a few times; a namespace on its way out refuses them, which is nobody's fault.
"""

import asyncio
from datetime import UTC, datetime
from typing import Any, Final, Literal

import structlog

from lynq.kube.backoff import Backoff
from lynq.kube.client import Client
from lynq.kube.controller import Workers
from lynq.kube.errors import (
    AlreadyExists,
    ConnectionFailed,
    Forbidden,
    InternalError,
    KubeError,
    NotFound,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)
from lynq.kube.event_correlation import Correlator, EventSeries, ObjectReference, Occurrence
from lynq.kube.metrics import EventMetrics, RuntimeMetrics
from lynq.kube.resource import EVENTS
from lynq.kube.workqueue import WorkQueue

_QUEUED: Final = 1000
_WRITERS: Final = 2
_TRIES: Final = 5
DEFAULT_BACKOFF: Final = Backoff(base=1.0, cap=30.0, jitter=0.5)
_MESSAGE_LIMIT: Final = 1024
_ELLIPSIS: Final = "…"

_PASSING: Final = (
    ConnectionFailed,
    InternalError,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)

_log = structlog.get_logger(__name__)


class Recorder:
    """Records events in the name of `component`. Create it inside the running loop."""

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        grace: float = 2.0,
        limit: int = _QUEUED,
        backoff: Backoff = DEFAULT_BACKOFF,
        metrics: EventMetrics | None = None,
    ) -> None:
        self._client = client
        self._component = component
        self._limit = limit
        self._metrics = metrics or RuntimeMetrics.unread().events()
        self._loop = asyncio.get_running_loop()
        self._correlator = Correlator()
        self._queue: WorkQueue[EventSeries] = WorkQueue(backoff=backoff)
        self._writers = Workers(self._queue, self._bring_in_line, grace=grace)

    def record(
        self, about: ObjectReference, level: Literal["Normal", "Warning"], reason: str, message: str
    ) -> None:
        """Note that something happened; returns at once, whatever the API server does."""
        occurrence = Occurrence(about, level, reason, _capped(message))
        series = self._correlator.observe(occurrence, now=self._loop.time(), at=datetime.now(UTC))
        if series is None:
            self._metrics.rate_limited.inc()
        elif len(self._queue) >= self._limit:
            self._metrics.dropped.inc()
        else:
            self._queue.add(series, group=about.namespace)

    async def run(self) -> None:
        """Write what is recorded until `stop` is called, or this is cancelled."""
        try:
            await self._writers.run("event-writer", _WRITERS)
        except TimeoutError:
            self._metrics.dropped.inc(len(self._queue))
            _log.warning("events dropped on stop", waiting=len(self._queue))

    def stop(self) -> None:
        """Take no more events; `run` returns when those recorded are written, or in `grace`."""
        self._writers.stop(drain=True)

    async def _bring_in_line(self, series: EventSeries) -> None:
        try:
            await self._write(series)
        except _PASSING as error:
            self._try_again(series, error)
        except KubeError as error:
            self._give_up(series, error)
        else:
            self._queue.forget(series)
            self._metrics.written.inc()

    async def _write(self, series: EventSeries) -> None:
        if series.stored:
            try:
                await self._patch(series)
            except NotFound:
                # The API server forgets events after an hour.
                await self._create(series)
        else:
            try:
                await self._create(series)
            except AlreadyExists:
                # An earlier try got through, though its answer did not.
                await self._patch(series)
        series.stored = True

    async def _create(self, series: EventSeries) -> None:
        event = _event(series, self._component)
        await self._client.create(EVENTS, event)

    async def _patch(self, series: EventSeries) -> None:
        namespace = _namespace(series.about)
        await self._client.patch(EVENTS, series.name, _news(series), namespace)

    def _try_again(self, series: EventSeries, error: KubeError) -> None:
        if self._queue.failures(series) + 1 < _TRIES:
            self._queue.retry(series)
        else:
            self._give_up(series, error)

    def _give_up(self, series: EventSeries, error: KubeError) -> None:
        self._queue.forget(series)
        if _namespace_is_going(error):
            return
        self._metrics.failed.inc()
        _log.warning("event not written", reason=series.reason, error=str(error))


def _namespace_is_going(error: KubeError) -> bool:
    match error:
        case NotFound():
            return True
        case Forbidden(causes=causes):
            return any(cause.reason == "NamespaceTerminating" for cause in causes)
        case _:
            return False


def _event(series: EventSeries, component: str) -> dict[str, Any]:
    about = series.about
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": series.name, "namespace": _namespace(about)},
        "involvedObject": {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
            "resourceVersion": about.resource_version,
        },
        "type": series.type,
        "reason": series.reason,
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
        "firstTimestamp": _seconds(series.first),
        **_news(series),
    }


def _news(series: EventSeries) -> dict[str, Any]:
    """Return the fields that change when a series grows."""
    return {
        "message": _capped(series.message),
        "count": series.count,
        "lastTimestamp": _seconds(series.last),
    }


def _namespace(about: ObjectReference) -> str:
    """Return where the Event goes: cluster-scoped objects have theirs in `default`."""
    return about.namespace or "default"


def _seconds(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _capped(message: str) -> str:
    # Half a surrogate pair has no bytes; who reports must not stumble over it.
    encoded = message.encode(errors="replace")
    if len(encoded) <= _MESSAGE_LIMIT:
        return encoded.decode()
    # A cut inside a character leaves bytes that are no text; they go too.
    kept = encoded[: _MESSAGE_LIMIT - len(_ELLIPSIS.encode())].decode(errors="ignore")
    return kept + _ELLIPSIS
