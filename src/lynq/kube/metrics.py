"""The metrics of the runtime, with the names of controller-runtime and client-go.

Dashboards and alerts for a Go operator keep working. Metrics that controller-runtime does not have
(informers, events) have the prefix `lynq_`. Nothing is registered on import: `RuntimeMetrics`
creates its collectors on a given registry, and each part of the runtime gets a handle with bound
labels. The default handle is on an unexposed registry, so that callers need no case distinction.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from lynq.kube.errors import Fenced
from lynq.kube.requests import Interceptor, Request, Response, Send

_NO_RESPONSE: Final = "<error>"
"""client-go's code for a request without a response."""


def count_requests(requests: Counter, server: str) -> Interceptor:
    """Return an interceptor that counts every attempt, including retries and watches.

    It must be the innermost one: attempts that other interceptors reject are not requests.
    """
    host = _host(server)

    @lru_cache(maxsize=256)
    def counter(code: str | int, method: str) -> Counter:
        return requests.labels(str(code), host, method)

    async def count(request: Request, send: Send) -> Response:
        try:
            response = await send(request)
        except Fenced:
            # Not sent.
            raise
        except BaseException:
            counter(_NO_RESPONSE, request.method).inc()
            raise
        counter(response.status, request.method).inc()
        return response

    return count


def _host(server: str) -> str:
    """Return host and port of a URL, without its password."""
    return urlsplit(server).netloc.rpartition("@")[2] or "none"


# client-go: powers of ten from 10 ns to 1,000 s.
_QUEUE_BUCKETS: Final = tuple(10.0**exponent for exponent in range(-8, 4))
# controller-runtime's reconcile_time buckets.
_RECONCILE_BUCKETS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
    *(0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5),
    *(5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
_RESULTS: Final = ("success", "error", "requeue", "requeue_after")


@dataclass(frozen=True, slots=True)
class QueueMetrics:
    """The metrics of one work queue."""

    adds: Counter
    retries: Counter
    queue_duration: Histogram
    work_duration: Histogram
    _depth: Gauge
    _unfinished: Gauge
    _longest: Gauge

    def observe(self, depth: Callable[[], int], running: Callable[[], list[float]]) -> None:
        """Read `depth` and the ages of `running` keys at scrape time."""
        self._depth.set_function(depth)
        self._unfinished.set_function(lambda: sum(running()))
        self._longest.set_function(lambda: max(running(), default=0.0))


@dataclass(frozen=True, slots=True)
class ControllerMetrics:
    """The metrics of one controller."""

    results: dict[str, Counter]
    errors: Counter
    panics: Counter
    time: Histogram
    active: Gauge
    workers: Gauge


@dataclass(frozen=True, slots=True)
class InformerMetrics:
    """The metrics of one informer."""

    lists: dict[str, Counter]
    failures: Counter
    handler_errors: Counter
    synced: Gauge
    _objects: Gauge

    def observe(self, objects: Callable[[], int]) -> None:
        """Read the number of cached `objects` at scrape time."""
        self._objects.set_function(objects)


@dataclass(frozen=True, slots=True)
class EventMetrics:
    """The metrics of the event recorder."""

    written: Counter
    rate_limited: Counter
    dropped: Counter
    failed: Counter


class RuntimeMetrics:
    """All collectors of the runtime, on one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._create_queue_metrics()
        self._create_controller_metrics()
        self._create_informer_metrics()
        self._leading = self._gauge(
            "leader_election_master_status", "1 while this process leads", "name"
        )
        self._events = self._counter(
            "lynq_event_records_total", "Recorded events by outcome", "outcome"
        )
        self._requests = self._counter(
            "rest_client_requests_total", "Requests by response code", "code", "host", "method"
        )

    @classmethod
    def unexposed(cls) -> "RuntimeMetrics":
        """Return collectors on a registry that is not exposed."""
        return cls(CollectorRegistry())

    def queue(self, name: str) -> QueueMetrics:
        """Return the metrics of the work queue `name`."""
        return QueueMetrics(
            adds=self._adds.labels(name),
            retries=self._retries.labels(name),
            queue_duration=self._queue_duration.labels(name),
            work_duration=self._work_duration.labels(name),
            _depth=self._depth.labels(name),
            _unfinished=self._unfinished.labels(name),
            _longest=self._longest.labels(name),
        )

    def controller(self, name: str) -> ControllerMetrics:
        """Return the metrics of the controller `name`."""
        return ControllerMetrics(
            results={result: self._reconciles.labels(name, result) for result in _RESULTS},
            errors=self._errors.labels(name),
            panics=self._panics.labels(name),
            time=self._reconcile_time.labels(name),
            active=self._active.labels(name),
            workers=self._workers.labels(name),
        )

    def informer(self, resource: str) -> InformerMetrics:
        """Return the metrics of the informer of `resource`, such as `deployments.apps`."""
        return InformerMetrics(
            lists={mode: self._lists.labels(resource, mode) for mode in ("streamed", "paged")},
            failures=self._watch_failures.labels(resource),
            handler_errors=self._handler_errors.labels(resource),
            synced=self._synced.labels(resource),
            _objects=self._objects.labels(resource),
        )

    def leading(self, name: str) -> Gauge:
        """Return the gauge of the lease `name`: 1 while this process holds it."""
        return self._leading.labels(name)

    def events(self) -> EventMetrics:
        """Return the metrics of the event recorder."""
        return EventMetrics(
            written=self._events.labels("written"),
            rate_limited=self._events.labels("rate_limited"),
            dropped=self._events.labels("dropped"),
            failed=self._events.labels("failed"),
        )

    def requests(self, server: str) -> Interceptor:
        """Return the interceptor that counts requests to this server."""
        return count_requests(self._requests, server)

    def _create_queue_metrics(self) -> None:
        self._depth = self._gauge("workqueue_depth", "Keys waiting to be processed", "name")
        self._adds = self._counter("workqueue_adds_total", "Keys added to the queue", "name")
        self._retries = self._counter("workqueue_retries_total", "Keys retried", "name")
        self._queue_duration = self._histogram(
            "workqueue_queue_duration_seconds",
            "Time a key waits in the queue",
            _QUEUE_BUCKETS,
            "name",
        )
        self._work_duration = self._histogram(
            "workqueue_work_duration_seconds", "Time a key is processed", _QUEUE_BUCKETS, "name"
        )
        self._unfinished = self._gauge(
            "workqueue_unfinished_work_seconds", "Sum of the ages of keys in process", "name"
        )
        self._longest = self._gauge(
            "workqueue_longest_running_processor_seconds",
            "Age of the oldest key in process",
            "name",
        )

    def _create_controller_metrics(self) -> None:
        self._reconciles = self._counter(
            "controller_runtime_reconcile_total", "Reconciles by result", "controller", "result"
        )
        self._errors = self._counter(
            "controller_runtime_reconcile_errors_total", "Reconciles that failed", "controller"
        )
        self._panics = self._counter(
            "controller_runtime_reconcile_panics_total",
            "Reconciles that failed by an unexpected exception",
            "controller",
        )
        self._reconcile_time = self._histogram(
            "controller_runtime_reconcile_time_seconds",
            "Duration of a reconcile",
            _RECONCILE_BUCKETS,
            "controller",
        )
        self._workers = self._gauge(
            "controller_runtime_max_concurrent_reconciles", "Workers", "controller"
        )
        self._active = self._gauge(
            "controller_runtime_active_workers", "Workers that currently reconcile", "controller"
        )

    def _create_informer_metrics(self) -> None:
        self._objects = self._gauge("lynq_informer_objects", "Objects cached", "resource")
        self._synced = self._gauge(
            "lynq_informer_synced", "1 once the first complete list is cached", "resource"
        )
        self._lists = self._counter(
            "lynq_informer_lists_total", "Complete lists by mode", "resource", "mode"
        )
        self._watch_failures = self._counter(
            "lynq_informer_failures_total", "Lists and watches that failed", "resource"
        )
        self._handler_errors = self._counter(
            "lynq_informer_handler_errors_total", "Exceptions of change handlers", "resource"
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self._registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self._registry)

    def _histogram(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(name, text, labels, buckets=buckets, registry=self._registry)
