"""Objects as the API server sends them, cut down to what a case is about."""

from typing import Any

from lynq.core.readiness.verdict import Readiness, ReadinessState

Object = dict[str, Any]

READY = Readiness(ReadinessState.READY, "Ready", "")


def not_ready(reason: str, message: str) -> Readiness:
    return Readiness(ReadinessState.NOT_READY, reason, message)


def failed(reason: str, message: str) -> Readiness:
    return Readiness(ReadinessState.FAILED, reason, message)


def make(
    api_version: str,
    kind: str,
    *,
    spec: Object | None = None,
    generation: int | None = None,
    **status: Any,
) -> Object:
    """An object; its status by keyword."""
    metadata = {"name": "it"} if generation is None else {"name": "it", "generation": generation}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata,
        "spec": spec or {},
        "status": status,
    }


def condition(this: str, status: str, reason: str = "", message: str = "", **more: Any) -> Object:
    return {"type": this, "status": status, "reason": reason, "message": message, **more}
