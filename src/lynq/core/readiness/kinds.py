"""The other kinds of Kubernetes itself that do not go by a Ready condition.

Any other kind, by the conventions that most controllers keep (kstatus).

- `status.observedGeneration`, where there is one, has caught up.
- `Stalled` says that the controller has given up, `Reconciling` that it has not finished.
- `Ready` says the rest; a kind without it may have `Available` instead.
- A kind without any conditions is ready as soon as it exists.

Conditions of other controllers, as far as readiness goes by them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from lynq.core.readiness.fields import Fields, with_detail, word
from lynq.core.readiness.verdict import (
    NOT_OBSERVED,
    READY,
    Readiness,
    ReadinessReason,
    failed,
    not_ready,
)


@dataclass(frozen=True, slots=True)
class ObjectCondition:
    """One condition of an object."""

    type: str
    status: str
    reason: str
    message: str
    """On one line and cut."""
    observed_generation: int
    """0 where the controller does not tell, as most do not."""

    @property
    def holds(self) -> bool:
        """Whether it is so."""
        return self.status == "True"

    def is_about(self, generation: int) -> bool:
        """Tell whether it speaks about this generation, as far as it says."""
        return self.observed_generation == 0 or self.observed_generation >= generation


NONE = ObjectCondition("", "", "", "", 0)
"""What an absent condition amounts to: it does not hold, and says nothing."""


def conditions(fields: Fields) -> Mapping[str, ObjectCondition]:
    """Return the conditions in the object's status by type; of two of one type the first."""
    found: dict[str, ObjectCondition] = {}
    for item in fields.items("status", "conditions"):
        if this := item.line("type"):
            found.setdefault(this, _condition(this, item))
    return found


def _condition(this: str, item: Fields) -> ObjectCondition:
    return ObjectCondition(
        this,
        item.line("status"),
        item.line("reason"),
        item.line("message"),
        item.number("observedGeneration"),
    )


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


_TYPES_SHOWN = 5


def custom(fields: Fields) -> Readiness:
    """Judge an object of a kind that we know nothing about."""
    generation = fields.number("metadata", "generation")
    if fields.number("status", "observedGeneration", default=generation) < generation:
        return NOT_OBSERVED
    found = conditions(fields)
    if not found:
        return READY
    current = {this: seen for this, seen in found.items() if seen.is_about(generation)}
    return _unfinished(current) or _summary(found, current)


def _unfinished(current: Mapping[str, ObjectCondition]) -> Readiness | None:
    stalled = current.get("Stalled", NONE)
    if stalled.holds:
        return failed(
            word(stalled.reason, ReadinessReason.STALLED), with_detail("stalled", stalled.message)
        )
    busy = current.get("Reconciling", NONE)
    if busy.holds:
        sentence = with_detail("its controller is still at work", busy.message)
        return not_ready(word(busy.reason, ReadinessReason.RECONCILING), sentence)
    return None


def _summary(
    found: Mapping[str, ObjectCondition], current: Mapping[str, ObjectCondition]
) -> Readiness:
    summary = found.get("Ready") or found.get("Available")
    if summary is None:
        return _speechless(found)
    if summary.type not in current:
        message = f"its condition {summary.type} is about an earlier generation"
        return not_ready(ReadinessReason.GENERATION_NOT_OBSERVED, message)
    if summary.holds:
        return READY
    sentence = with_detail(f"{summary.type} is {summary.status or 'Unknown'}", summary.message)
    return not_ready(word(summary.reason, ReadinessReason.NOT_READY), sentence)


def _speechless(found: Mapping[str, ObjectCondition]) -> Readiness:
    types = ", ".join(list(found)[:_TYPES_SHOWN])
    return not_ready(
        ReadinessReason.CONDITION_MISSING,
        "there is no condition Ready or Available yet; if this kind never has one, set"
        f" waitForReady: false (conditions: {types})",
    )
