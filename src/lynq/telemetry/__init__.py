"""Observability of the operator: metrics for Prometheus, logs, health checks, profiles.

The facade exports what a process without servers needs. The servers are in `endpoints` and
`profiling`, whose import of aiohttp takes 10 MiB.
"""

from lynq.telemetry.address import Address, ListenError, is_loopback
from lynq.telemetry.authorization import AccessDecision, Protection, ReviewFailedError
from lynq.telemetry.metrics import OperatorMetrics

__all__ = [
    "AccessDecision",
    "Address",
    "ListenError",
    "OperatorMetrics",
    "Protection",
    "ReviewFailedError",
    "is_loopback",
]
