"""Any other kind, by the conventions that most controllers keep (kstatus).

- `status.observedGeneration`, where there is one, has caught up.
- `Stalled` says that the controller has given up, `Reconciling` that it has not finished.
- `Ready` says the rest; a kind without it may have `Available` instead.
- A kind without any conditions is ready as soon as it exists.
"""

from collections.abc import Mapping

from lynq.core.readiness.conditions import NONE, ObjectCondition, conditions
from lynq.core.readiness.fields import Fields
from lynq.core.readiness.verdict import (
    NOT_OBSERVED,
    READY,
    Readiness,
    ReadinessReason,
    failed,
    not_ready,
)
from lynq.core.readiness.words import with_detail, word

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
