"""What the operator tells machines about itself: series for Prometheus, logs, health."""

from lynq.telemetry.address import Address
from lynq.telemetry.authorization import Authorize, Decision, ReviewFailedError
from lynq.telemetry.certificates import CertificateError, CertificateFiles
from lynq.telemetry.listening import ListenError
from lynq.telemetry.profiling import ProfileServer
from lynq.telemetry.series import Series
from lynq.telemetry.serving import HealthServer, MetricsServer, Protection

__all__ = [
    "Address",
    "Authorize",
    "CertificateError",
    "CertificateFiles",
    "Decision",
    "HealthServer",
    "ListenError",
    "MetricsServer",
    "ProfileServer",
    "Protection",
    "ReviewFailedError",
    "Series",
]
