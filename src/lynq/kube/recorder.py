"""The event recorder: records Kubernetes Events without blocking the caller.

`record` correlates an occurrence with its series and adds the series to a queue; writers create and
patch the Events. An event that repeats a thousand times while the API server is slow is one write.
A queue never hands one series to two writers, so its create precedes its patches.

Events are best effort, and objects come first: Events are sent when other requests have become few,
each after `max_delay` at the latest. Warnings have a queue and writers of their own, and do not
wait. Neither does any Event while the queues are half full, or after `stop`. If they are full, the
oldest ones are dropped and counted, Warnings last. A failed write is retried a few times. A
namespace that is being deleted rejects Events, which is not an error.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

import structlog

from lynq.api.text import one_line
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

_QUEUE_LIMIT: Final = 2000
_WRITERS: Final = 2
"""Number of concurrent writes of Normal Events, and of Warnings."""
_STOP_CHECK: Final = 0.1
"""Seconds between two checks whether an Event that waits must be written because of `stop`."""
_ATTEMPTS: Final = 5
DEFAULT_BACKOFF: Final = Backoff(base=1.0, cap=30.0, jitter=0.5)
_MESSAGE_LIMIT: Final = 1024
_ELLIPSIS: Final = "…"

_TRANSIENT: Final = (
    ConnectionFailed,
    InternalError,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Lane:
    """The Events of one type, and the writers of their own."""

    queue: WorkQueue[EventSeries]
    writers: Workers[EventSeries]

    @classmethod
    def of(
        cls, sync: Callable[[EventSeries], Awaitable[None]], *, backoff: Backoff, grace: float
    ) -> "_Lane":
        queue: WorkQueue[EventSeries] = WorkQueue(backoff=backoff)
        return cls(queue, Workers(queue, sync, grace=grace))


class Recorder:
    """Records Events of `component`. Create it inside of the running loop."""

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        grace: float = 2.0,
        limit: int = _QUEUE_LIMIT,
        max_delay: float = 30.0,
        backoff: Backoff = DEFAULT_BACKOFF,
        metrics: EventMetrics | None = None,
    ) -> None:
        self._client = client.with_low_priority()
        self._component = component
        self._limit = limit
        self._max_delay = max_delay
        self._metrics = metrics or RuntimeMetrics.unexposed().events()
        self._loop = asyncio.get_running_loop()
        self._correlator = Correlator()
        self._normal = _Lane.of(self._sync_when_quiet, backoff=backoff, grace=grace)
        self._warnings = _Lane.of(self._sync, backoff=backoff, grace=grace)
        self._is_stopping = False

    def record(
        self,
        obj: ObjectReference,
        event_type: Literal["Normal", "Warning"],
        reason: str,
        message: str,
    ) -> None:
        """Record an event of an object; returns at once."""
        occurrence = Occurrence(obj, event_type, reason, _truncated(message))
        now = self._loop.time()
        series = self._correlator.observe(occurrence, now=now, at=datetime.now(UTC))
        if series is None:
            self._metrics.rate_limited.inc()
            return
        if series.waiting_since is None:
            series.waiting_since = now
        # Normal Events are written in order: one that waits is older than all behind it.
        group = obj.namespace if series.type == "Warning" else ""
        self._queue(series).add(series, group=group)
        is_full = self._waiting > self._limit
        if is_full and (self._normal.queue.drop() or self._warnings.queue.drop()):
            self._metrics.dropped.inc()

    async def run(self) -> None:
        """Write recorded Events until `stop` or cancellation."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._run(self._normal))
            group.create_task(self._run(self._warnings))

    async def _run(self, lane: _Lane) -> None:
        try:
            await lane.writers.run("event-writer", _WRITERS)
        except TimeoutError:
            waiting = len(lane.queue)
            self._metrics.dropped.inc(waiting)
            _log.warning("events dropped on stop", waiting=waiting)

    def stop(self) -> None:
        """Accept no more events; `run` returns after the queues are written, or after `grace`."""
        self._is_stopping = True
        self._normal.writers.stop(drain=True)
        self._warnings.writers.stop(drain=True)

    @property
    def _waiting(self) -> int:
        return len(self._normal.queue) + len(self._warnings.queue)

    def _queue(self, series: EventSeries) -> WorkQueue[EventSeries]:
        return (self._warnings if series.type == "Warning" else self._normal).queue

    async def _sync_when_quiet(self, series: EventSeries) -> None:
        due = (series.waiting_since or 0.0) + self._max_delay
        while not self._is_stopping and self._waiting <= self._limit // 2:
            remaining = min(due - self._loop.time(), _STOP_CHECK)
            if remaining <= 0 or await self._client.wait_until_quiet(remaining):
                break
        await self._sync(series)

    async def _sync(self, series: EventSeries) -> None:
        waiting_since, series.waiting_since = series.waiting_since, None
        try:
            await self._write(series)
        except _TRANSIENT as error:
            series.waiting_since = waiting_since
            self._retry(series, error)
        except KubeError as error:
            self._give_up(series, error)
        else:
            self._queue(series).forget(series)
            self._metrics.written.inc()

    async def _write(self, series: EventSeries) -> None:
        if series.stored:
            try:
                await self._patch(series)
            except NotFound:
                # The API server deletes Events after an hour.
                await self._create(series)
        else:
            try:
                await self._create(series)
            except AlreadyExists:
                # An earlier attempt succeeded, but its response was lost.
                await self._patch(series)
        series.stored = True

    async def _create(self, series: EventSeries) -> None:
        await self._client.create(EVENTS, _event(series, self._component))

    async def _patch(self, series: EventSeries) -> None:
        namespace = _namespace(series.object)
        await self._client.patch(EVENTS, series.name, _changing_fields(series), namespace)

    def _retry(self, series: EventSeries, error: KubeError) -> None:
        queue = self._queue(series)
        if queue.failures(series) + 1 < _ATTEMPTS:
            queue.retry(series)
        else:
            self._give_up(series, error)

    def _give_up(self, series: EventSeries, error: KubeError) -> None:
        self._queue(series).forget(series)
        if _is_namespace_deleted(error):
            return
        self._metrics.failed.inc()
        _log.warning("event not written", reason=series.reason, error=str(error))


def _is_namespace_deleted(error: KubeError) -> bool:
    match error:
        case NotFound():
            return True
        case Forbidden(causes=causes):
            return any(cause.reason == "NamespaceTerminating" for cause in causes)
        case _:
            return False


def _event(series: EventSeries, component: str) -> dict[str, Any]:
    obj = series.object
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": series.name, "namespace": _namespace(obj)},
        "involvedObject": {
            "apiVersion": obj.api_version,
            "kind": obj.kind,
            "namespace": obj.namespace,
            "name": obj.name,
            "uid": obj.uid,
            "resourceVersion": obj.resource_version,
        },
        "type": series.type,
        "reason": series.reason,
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
        "firstTimestamp": _timestamp(series.first),
        **_changing_fields(series),
    }


def _changing_fields(series: EventSeries) -> dict[str, Any]:
    """Return the fields that change with each occurrence."""
    return {
        "message": _truncated(series.message),
        "count": series.count,
        "lastTimestamp": _timestamp(series.last),
    }


def _namespace(obj: ObjectReference) -> str:
    """Return the namespace of the Event; for cluster-scoped objects it is `default`."""
    return obj.namespace or "default"


def _timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _truncated(message: str) -> str:
    line = one_line(message, _MESSAGE_LIMIT)
    encoded = line.encode()
    if len(encoded) <= _MESSAGE_LIMIT:
        return line
    # A cut inside of a character leaves invalid bytes, which are dropped.
    kept = encoded[: _MESSAGE_LIMIT - len(_ELLIPSIS.encode())].decode(errors="ignore")
    return kept + _ELLIPSIS
