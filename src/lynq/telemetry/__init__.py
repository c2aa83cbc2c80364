"""What the operator tells machines about itself: series for Prometheus, logs, health."""

from lynq.telemetry.address import Address
from lynq.telemetry.authorization import AccessDecision, ReviewFailedError
from lynq.telemetry.certificates import CertificateError, CertificateFiles
from lynq.telemetry.endpoints import Protection, health_server, metrics_server
from lynq.telemetry.http_server import ListenError
from lynq.telemetry.metrics import OperatorMetrics
from lynq.telemetry.profiling import profile_server

__all__ = [
    "AccessDecision",
    "Address",
    "CertificateError",
    "CertificateFiles",
    "ListenError",
    "OperatorMetrics",
    "Protection",
    "ReviewFailedError",
    "health_server",
    "metrics_server",
    "profile_server",
]
