"""Conditions from one status to the next: `lastTransitionTime` moves when the status does.

The same wanted conditions give the same list, item by item and in the same order, so a status that
says nothing new is not written.
"""

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from lynq.api.conditions import Condition, ConditionStatus
from lynq.api.reasons import ConditionReason, ConditionType


def new_condition(
    aspect: ConditionType,
    reason: ConditionReason,
    message: str,
    *,
    holds: bool,
    generation: int,
    now: datetime,
) -> Condition:
    """Return a condition as it would be if it came true, or stopped being true, just now."""
    return Condition(
        type=aspect,
        status=ConditionStatus.TRUE if holds else ConditionStatus.FALSE,
        reason=reason,
        message=message,
        # Kubernetes knows no parts of seconds here.
        last_transition_time=now.replace(microsecond=0),
        observed_generation=generation,
    )


def merge_conditions(
    previous: Iterable[Condition], wanted: Iterable[Condition]
) -> tuple[Condition, ...]:
    """Return the wanted conditions, each with the time since which it has had its status."""
    since = {(each.type, each.status): each.last_transition_time for each in previous}
    return tuple(_since(each, since.get((each.type, each.status))) for each in wanted)


def find_condition(conditions: Iterable[Condition], aspect: ConditionType) -> Condition | None:
    """Return the condition of a type, if there is one."""
    return next((each for each in conditions if each.type == aspect), None)


def is_true(conditions: Iterable[Condition], aspect: ConditionType) -> bool:
    """Return whether there is a condition of that type and it is True."""
    found = find_condition(conditions, aspect)
    return found is not None and found.status is ConditionStatus.TRUE


def _since(wanted: Condition, moment: datetime | None) -> Condition:
    return wanted if moment is None else replace(wanted, last_transition_time=moment)
