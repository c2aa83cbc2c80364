"""Observability of the operator: metrics for Prometheus, logs, health checks, profiles."""

from lynq.telemetry.endpoints import (
    AccessDecision,
    Protection,
    ReviewFailedError,
    health_server,
    metrics_server,
)
from lynq.telemetry.http_server import Address, ListenError
from lynq.telemetry.metrics import OperatorMetrics
from lynq.telemetry.profiling import profile_server

__all__ = [
    "AccessDecision",
    "Address",
    "ListenError",
    "OperatorMetrics",
    "Protection",
    "ReviewFailedError",
    "health_server",
    "metrics_server",
    "profile_server",
]
