"""Any other kind, by the conventions that most controllers keep (kstatus).

- `status.observedGeneration`, where there is one, has caught up.
- `Stalled` says that the controller has given up, `Reconciling` that it has not finished.
- `Ready` says the rest; a kind without it may have `Available` instead.
- A kind without any conditions is ready as soon as it exists.
"""

from collections.abc import Mapping

from lynq.readiness.conditions import NONE, Condition, conditions
from lynq.readiness.reading import Fields
from lynq.readiness.verdict import NOT_OBSERVED, READY, Reason, Verdict, failed, not_ready
from lynq.readiness.words import told, word

_TYPES_SHOWN = 5


def custom(fields: Fields) -> Verdict:
    """Judge an object of a kind that we know nothing about."""
    generation = fields.number("metadata", "generation")
    if fields.number("status", "observedGeneration", default=generation) < generation:
        return NOT_OBSERVED
    found = conditions(fields)
    if not found:
        return READY
    current = {this: seen for this, seen in found.items() if seen.is_about(generation)}
    return _unfinished(current) or _summary(found, current)


def _unfinished(current: Mapping[str, Condition]) -> Verdict | None:
    stalled = current.get("Stalled", NONE)
    if stalled.holds:
        return failed(word(stalled.reason, Reason.STALLED), told("stalled", stalled.message))
    busy = current.get("Reconciling", NONE)
    if busy.holds:
        sentence = told("its controller is still at work", busy.message)
        return not_ready(word(busy.reason, Reason.RECONCILING), sentence)
    return None


def _summary(found: Mapping[str, Condition], current: Mapping[str, Condition]) -> Verdict:
    summary = found.get("Ready") or found.get("Available")
    if summary is None:
        return _speechless(found)
    if summary.type not in current:
        message = f"its condition {summary.type} is about an earlier generation"
        return not_ready(Reason.GENERATION_NOT_OBSERVED, message)
    if summary.holds:
        return READY
    sentence = told(f"{summary.type} is {summary.status or 'Unknown'}", summary.message)
    return not_ready(word(summary.reason, Reason.NOT_READY), sentence)


def _speechless(found: Mapping[str, Condition]) -> Verdict:
    types = ", ".join(list(found)[:_TYPES_SHOWN])
    return not_ready(
        Reason.CONDITION_MISSING,
        "there is no condition Ready or Available yet; if this kind never has one, set"
        f" waitForReady: false (conditions: {types})",
    )
