"""Builders for objects as the API server returns them, reduced to the relevant fields."""

from typing import Any

from lynq.core.readiness.verdict import Readiness, ReadinessState

Object = dict[str, Any]

READY = Readiness(ReadinessState.READY, "Ready", "")


def not_ready(reason: str, message: str) -> Readiness:
    return Readiness(ReadinessState.NOT_READY, reason, message)


def failed(reason: str, message: str) -> Readiness:
    return Readiness(ReadinessState.FAILED, reason, message)


def new_object(
    api_version: str,
    kind: str,
    *,
    spec: Object | None = None,
    generation: int | None = None,
    **status: Any,
) -> Object:
    """Return an object; the fields of its status are keyword arguments."""
    metadata = {"name": "it"} if generation is None else {"name": "it", "generation": generation}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata,
        "spec": spec or {},
        "status": status,
    }


def condition(name: str, status: str, reason: str = "", message: str = "", **more: Any) -> Object:
    return {"type": name, "status": status, "reason": reason, "message": message, **more}
