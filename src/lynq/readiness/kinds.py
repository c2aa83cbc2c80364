"""The other kinds of Kubernetes itself that do not go by a Ready condition."""

import json

from lynq.readiness.conditions import NONE, conditions
from lynq.readiness.reading import Fields
from lynq.readiness.verdict import READY, Reason, Verdict, failed, not_ready
from lynq.readiness.words import told, word

_SCALER_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"
_NO_ADDRESS = not_ready(Reason.NO_ADDRESS, "waiting for a load balancer address")


def exists(fields: Fields) -> Verdict:  # noqa: ARG001 - a rule like the others
    """Judge what has nothing to wait for."""
    return READY


def namespace(fields: Fields) -> Verdict:
    """Judge a Namespace."""
    phase = fields.line("status", "phase")
    if phase == "Active":
        return READY
    return not_ready(Reason.NAMESPACE_NOT_ACTIVE, f"namespace is {phase or 'not Active yet'}")


def claim(fields: Fields) -> Verdict:
    """Judge a PersistentVolumeClaim."""
    phase = fields.line("status", "phase") or "Pending"
    if phase == "Bound":
        return READY
    detail = "its volume is gone" if phase == "Lost" else ""
    return not_ready(Reason.CLAIM_NOT_BOUND, told(f"claim is {phase}", detail))


def service(fields: Fields) -> Verdict:
    """Judge a Service: only one with a load balancer has anything to wait for."""
    waits = fields.text("spec", "type") == "LoadBalancer" and not _has_address(fields)
    return _NO_ADDRESS if waits else READY


def ingress(fields: Fields) -> Verdict:
    """Judge an Ingress: not every controller writes an address back, so rules will do."""
    return READY if fields.items("spec", "rules") or _has_address(fields) else _NO_ADDRESS


def autoscaler(fields: Fields) -> Verdict:
    """Judge a HorizontalPodAutoscaler."""
    found = conditions(fields) or conditions(_as_version_2(fields))
    able = found.get("AbleToScale", NONE)
    if able.holds:
        return READY
    if able is NONE:
        return not_ready(Reason.UNABLE_TO_SCALE, "the autoscaler has not looked at its target yet")
    sentence = told("the autoscaler cannot scale its target", able.message)
    return not_ready(word(able.reason, Reason.UNABLE_TO_SCALE), sentence)


def definition(fields: Fields) -> Verdict:
    """Judge a CustomResourceDefinition: ready when its kind can be written."""
    found = conditions(fields)
    if found.get("Established", NONE).holds:
        return READY
    names = found.get("NamesAccepted", NONE)
    if names.status == "False":
        sentence = told("the names of the kind are taken", names.message)
        return failed(word(names.reason, Reason.NAMES_NOT_ACCEPTED), sentence)
    return not_ready(Reason.NOT_ESTABLISHED, "the kind is not served yet")


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
