"""The metrics of the webhooks, under the names of controller-runtime."""

import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

# The default buckets of the Go client; those of the Python client differ.
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.Response]]


class WebhookMetrics:
    """Requests by path; without a registry they are not exposed."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._requests = Counter(
            "controller_runtime_webhook_requests_total",
            "Admission requests by HTTP status",
            ("webhook", "code"),
            registry=registry,
        )
        self._latency = Histogram(
            "controller_runtime_webhook_latency_seconds",
            "Latency of admission requests",
            ("webhook",),
            buckets=_BUCKETS,
            registry=registry,
        )
        self._in_flight = Gauge(
            "controller_runtime_webhook_requests_in_flight",
            "Admission requests in flight",
            ("webhook",),
            registry=registry,
        )

    def instrument(self, path: str, handler: Handler) -> Handler:
        """Return the handler with metrics."""
        latency, in_flight = self._latency.labels(path), self._in_flight.labels(path)
        # Initialized with 0, so that rate() includes the first failure.
        for code in ("200", "500"):
            self._requests.labels(path, code)

        async def measured(request: web.Request) -> web.Response:
            start = time.monotonic()
            with in_flight.track_inprogress():
                response = await handler(request)
            # Not reached if the client disconnects before the response.
            latency.observe(time.monotonic() - start)
            self._requests.labels(path, str(response.status)).inc()
            return response

        return measured
