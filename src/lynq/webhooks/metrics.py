"""The series of the webhooks, under the names that controller-runtime gave them."""

import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

# The default of Go's client, which differs from that of Python's.
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.Response]]


class WebhookMetrics:
    """What was asked at each path; without a registry nobody reads it."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._requests = Counter(
            "controller_runtime_webhook_requests_total",
            "Reviews by HTTP status",
            ("webhook", "code"),
            registry=registry,
        )
        self._latency = Histogram(
            "controller_runtime_webhook_latency_seconds",
            "Time until a review was answered",
            ("webhook",),
            buckets=_BUCKETS,
            registry=registry,
        )
        self._in_flight = Gauge(
            "controller_runtime_webhook_requests_in_flight",
            "Reviews that wait for their answer right now",
            ("webhook",),
            registry=registry,
        )

    def around(self, path: str, handler: Handler) -> Handler:
        """Return a handler that answers as this one does, and is measured."""
        latency, in_flight = self._latency.labels(path), self._in_flight.labels(path)
        # There from the start, so that the rate of the first failure can be told.
        for code in ("200", "500"):
            self._requests.labels(path, code)

        async def measured(request: web.Request) -> web.Response:
            began = time.monotonic()
            with in_flight.track_inprogress():
                response = await handler(request)
            # Not reached by those who hang up, who were answered nothing.
            latency.observe(time.monotonic() - began)
            self._requests.labels(path, str(response.status)).inc()
            return response

        return measured
