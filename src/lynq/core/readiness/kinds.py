"""Readiness rules of built-in kinds that run no pods, and of custom kinds.

Custom kinds follow the conventions of kstatus:

- `status.observedGeneration`, if present, must equal `metadata.generation`.
- `Stalled` means that the controller has given up, `Reconciling` that it has not finished.
- `Ready` decides; a kind without it may have `Available` instead.
- An object without conditions is ready as soon as it exists.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lynq.api.nesting import depth_checked
from lynq.api.reasons import ReadinessReason
from lynq.core.readiness.fields import Fields, reason_or, with_detail
from lynq.core.readiness.verdict import (
    NOT_OBSERVED,
    READY,
    Readiness,
    failed,
    not_ready,
)


@dataclass(frozen=True, slots=True)
class ObjectCondition:
    """A condition in the status of an object."""

    type: str
    status: str
    reason: str
    message: str
    """One line, cut to 300 characters."""
    observed_generation: int
    """0 if the controller does not report it; most do not."""

    @property
    def holds(self) -> bool:
        """Whether the status of the condition is True."""
        return self.status == "True"

    def is_current(self, generation: int) -> bool:
        """Return whether the condition is of this generation, as far as it is reported."""
        return self.observed_generation == 0 or self.observed_generation >= generation


NO_CONDITION: Final = ObjectCondition("", "", "", "", 0)
"""Stands for an absent condition: not True, and without reason and message."""


def conditions(fields: Fields) -> Mapping[str, ObjectCondition]:
    """Return the conditions of the object by type; of a duplicate type the first counts."""
    by_type: dict[str, ObjectCondition] = {}
    for item in fields.items("status", "conditions"):
        if condition_type := item.line("type"):
            by_type.setdefault(condition_type, _condition(condition_type, item))
    return by_type


def _condition(condition_type: str, item: Fields) -> ObjectCondition:
    return ObjectCondition(
        condition_type,
        item.line("status"),
        item.line("reason"),
        item.line("message"),
        item.number("observedGeneration"),
    )


_SCALER_CONDITIONS: Final = "autoscaling.alpha.kubernetes.io/conditions"
_NO_ADDRESS: Final = not_ready(ReadinessReason.NO_ADDRESS, "waiting for a load balancer address")


def exists(fields: Fields) -> Readiness:  # noqa: ARG001 - the signature of a rule
    """Return ready: the kind has no further criteria."""
    return READY


def namespace(fields: Fields) -> Readiness:
    """Evaluate a Namespace: ready when Active."""
    phase = fields.line("status", "phase")
    if phase == "Active":
        return READY
    return not_ready(
        ReadinessReason.NAMESPACE_NOT_ACTIVE, f"namespace is {phase or 'not Active yet'}"
    )


def claim(fields: Fields) -> Readiness:
    """Evaluate a PersistentVolumeClaim: ready when Bound."""
    phase = fields.line("status", "phase") or "Pending"
    if phase == "Bound":
        return READY
    detail = "its volume no longer exists" if phase == "Lost" else ""
    return not_ready(ReadinessReason.CLAIM_NOT_BOUND, with_detail(f"claim is {phase}", detail))


def service(fields: Fields) -> Readiness:
    """Evaluate a Service: one of type LoadBalancer needs an address."""
    pending = fields.text("spec", "type") == "LoadBalancer" and not _has_address(fields)
    return _NO_ADDRESS if pending else READY


def ingress(fields: Fields) -> Readiness:
    """Evaluate an Ingress: rules suffice, as not every controller reports an address."""
    return READY if fields.items("spec", "rules") or _has_address(fields) else _NO_ADDRESS


def autoscaler(fields: Fields) -> Readiness:
    """Evaluate a HorizontalPodAutoscaler: ready when AbleToScale."""
    by_type = conditions(fields) or conditions(_as_version_2(fields))
    able = by_type.get("AbleToScale", NO_CONDITION)
    if able.holds:
        return READY
    if able is NO_CONDITION:
        return not_ready(
            ReadinessReason.UNABLE_TO_SCALE, "autoscaler has not reported AbleToScale yet"
        )
    sentence = with_detail("autoscaler cannot scale its target", able.message)
    return not_ready(reason_or(able.reason, ReadinessReason.UNABLE_TO_SCALE), sentence)


def definition(fields: Fields) -> Readiness:
    """Evaluate a CustomResourceDefinition: ready when its kind is served."""
    by_type = conditions(fields)
    if by_type.get("Established", NO_CONDITION).holds:
        return READY
    names = by_type.get("NamesAccepted", NO_CONDITION)
    if names.status == "False":
        sentence = with_detail("names of the kind are not accepted", names.message)
        return failed(reason_or(names.reason, ReadinessReason.NAMES_NOT_ACCEPTED), sentence)
    return not_ready(ReadinessReason.NOT_ESTABLISHED, "kind is not served yet")


def _has_address(fields: Fields) -> bool:
    return bool(fields.items("status", "loadBalancer", "ingress"))


def _as_version_2(fields: Fields) -> Fields:
    """Return the conditions of an autoscaler of autoscaling/v1 as autoscaling/v2 has them.

    The API server puts them into an annotation, because v1 has no field for them.
    """
    text = fields.text("metadata", "annotations", _SCALER_CONDITIONS)
    try:
        items = json.loads(depth_checked(text or "[]"))
    except ValueError:
        items = []
    return Fields({"status": {"conditions": items}})


_TYPES_SHOWN: Final = 5


def custom(fields: Fields) -> Readiness:
    """Evaluate an object of a kind without a rule of its own."""
    generation = fields.number("metadata", "generation")
    if fields.number("status", "observedGeneration", default=generation) < generation:
        return NOT_OBSERVED
    by_type = conditions(fields)
    if not by_type:
        return READY
    current = {
        name: condition for name, condition in by_type.items() if condition.is_current(generation)
    }
    return _unfinished(current) or _by_summary_condition(by_type, current)


def _unfinished(current: Mapping[str, ObjectCondition]) -> Readiness | None:
    stalled = current.get("Stalled", NO_CONDITION)
    if stalled.holds:
        return failed(
            reason_or(stalled.reason, ReadinessReason.STALLED),
            with_detail("stalled", stalled.message),
        )
    reconciling = current.get("Reconciling", NO_CONDITION)
    if reconciling.holds:
        sentence = with_detail("reconciling", reconciling.message)
        return not_ready(reason_or(reconciling.reason, ReadinessReason.RECONCILING), sentence)
    return None


def _by_summary_condition(
    by_type: Mapping[str, ObjectCondition], current: Mapping[str, ObjectCondition]
) -> Readiness:
    summary = by_type.get("Ready") or by_type.get("Available")
    if summary is None:
        return _without_summary_condition(by_type)
    if summary.type not in current:
        message = f"condition {summary.type} is of an earlier generation"
        return not_ready(ReadinessReason.GENERATION_NOT_OBSERVED, message)
    if summary.holds:
        return READY
    sentence = with_detail(f"{summary.type} is {summary.status or 'Unknown'}", summary.message)
    return not_ready(reason_or(summary.reason, ReadinessReason.NOT_READY), sentence)


def _without_summary_condition(by_type: Mapping[str, ObjectCondition]) -> Readiness:
    types = ", ".join(list(by_type)[:_TYPES_SHOWN])
    return not_ready(
        ReadinessReason.CONDITION_MISSING,
        "no condition Ready or Available yet; if this kind never has one, set "
        f"waitForReady: false (conditions: {types})",
    )
