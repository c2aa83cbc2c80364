"""What the operator tells machines about itself: series for Prometheus, logs, health."""

from lynq.telemetry.series import Series

__all__ = ["Series"]
