"""The other kinds of Kubernetes itself that do not go by a Ready condition."""

import json

from lynq.core.readiness.conditions import NONE, conditions
from lynq.core.readiness.fields import Fields
from lynq.core.readiness.verdict import READY, Readiness, ReadinessReason, failed, not_ready
from lynq.core.readiness.words import with_detail, word

_SCALER_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"
_NO_ADDRESS = not_ready(ReadinessReason.NO_ADDRESS, "waiting for a load balancer address")


def exists(fields: Fields) -> Readiness:  # noqa: ARG001 - a rule like the others
    """Judge what has nothing to wait for."""
    return READY


def namespace(fields: Fields) -> Readiness:
    """Judge a Namespace."""
    phase = fields.line("status", "phase")
    if phase == "Active":
        return READY
    return not_ready(
        ReadinessReason.NAMESPACE_NOT_ACTIVE, f"namespace is {phase or 'not Active yet'}"
    )


def claim(fields: Fields) -> Readiness:
    """Judge a PersistentVolumeClaim."""
    phase = fields.line("status", "phase") or "Pending"
    if phase == "Bound":
        return READY
    detail = "its volume is gone" if phase == "Lost" else ""
    return not_ready(ReadinessReason.CLAIM_NOT_BOUND, with_detail(f"claim is {phase}", detail))


def service(fields: Fields) -> Readiness:
    """Judge a Service: only one with a load balancer has anything to wait for."""
    waits = fields.text("spec", "type") == "LoadBalancer" and not _has_address(fields)
    return _NO_ADDRESS if waits else READY


def ingress(fields: Fields) -> Readiness:
    """Judge an Ingress: not every controller writes an address back, so rules will do."""
    return READY if fields.items("spec", "rules") or _has_address(fields) else _NO_ADDRESS


def autoscaler(fields: Fields) -> Readiness:
    """Judge a HorizontalPodAutoscaler."""
    found = conditions(fields) or conditions(_as_version_2(fields))
    able = found.get("AbleToScale", NONE)
    if able.holds:
        return READY
    if able is NONE:
        return not_ready(
            ReadinessReason.UNABLE_TO_SCALE, "the autoscaler has not looked at its target yet"
        )
    sentence = with_detail("the autoscaler cannot scale its target", able.message)
    return not_ready(word(able.reason, ReadinessReason.UNABLE_TO_SCALE), sentence)


def definition(fields: Fields) -> Readiness:
    """Judge a CustomResourceDefinition: ready when its kind can be written."""
    found = conditions(fields)
    if found.get("Established", NONE).holds:
        return READY
    names = found.get("NamesAccepted", NONE)
    if names.status == "False":
        sentence = with_detail("the names of the kind are taken", names.message)
        return failed(word(names.reason, ReadinessReason.NAMES_NOT_ACCEPTED), sentence)
    return not_ready(ReadinessReason.NOT_ESTABLISHED, "the kind is not served yet")


def _has_address(fields: Fields) -> bool:
    return bool(fields.items("status", "loadBalancer", "ingress"))


def _as_version_2(fields: Fields) -> Fields:
    """Return an autoscaler of autoscaling/v1 with its conditions where later versions have them.

    The API server puts them into an annotation, because version 1 has no field for them.
    """
    try:
        found = json.loads(fields.text("metadata", "annotations", _SCALER_CONDITIONS) or "[]")
    except (ValueError, RecursionError):
        found = []
    return Fields({"status": {"conditions": found}})
