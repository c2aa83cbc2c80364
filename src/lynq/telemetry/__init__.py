"""What the operator tells machines about itself: series for Prometheus, logs, health."""

from lynq.telemetry.address import Address
from lynq.telemetry.authorization import Decision, ReviewFailedError
from lynq.telemetry.certificates import CertificateError, CertificateFiles
from lynq.telemetry.listening import ListenError
from lynq.telemetry.profiling import profile_server
from lynq.telemetry.series import Series
from lynq.telemetry.serving import Protection, health_server, metrics_server

__all__ = [
    "Address",
    "CertificateError",
    "CertificateFiles",
    "Decision",
    "ListenError",
    "Protection",
    "ReviewFailedError",
    "Series",
    "health_server",
    "metrics_server",
    "profile_server",
]
