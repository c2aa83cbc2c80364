"""Conditions of hubs, forms and nodes, and their merge into an existing status."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta
from msgspec.structs import replace

from lynq.api.reasons import ConditionReason, ConditionType
from lynq.api.text import one_line
from lynq.api.wire import Int64, Time, Wire, list_map

_MAX_MESSAGE: Final = 32_768


class ConditionStatus(StrEnum):
    """Status of a condition."""

    TRUE = "True"
    """The condition holds."""
    FALSE = "False"
    """The condition does not hold."""
    UNKNOWN = "Unknown"
    """The operator cannot determine the status."""


class Condition(Wire, frozen=True, kw_only=True):
    """One aspect of the observed state of the object."""

    type: Annotated[str, Meta(max_length=316)]
    """Type of the condition, for example Ready."""

    status: ConditionStatus
    """Status of the condition."""

    reason: Annotated[
        str,
        Meta(min_length=1, max_length=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
    ]
    """Reason of the status, as a CamelCase word for programs."""

    message: Annotated[str, Meta(max_length=_MAX_MESSAGE)]
    """Human-readable reason of the status, and what to do about it."""

    last_transition_time: Time
    """Time of the last change of the status. A new reason or message alone does not change it."""

    observed_generation: Annotated[Int64, Meta(ge=0)] = 0
    """The metadata.generation that the condition is based on. If it is lower than that of the
    object, the condition is out of date."""


# The Go operator declared plain lists, but never wrote a type twice.
Conditions = Annotated[tuple[Condition, ...], list_map("type")]


def new_condition(
    condition_type: ConditionType,
    reason: ConditionReason,
    message: str,
    *,
    holds: bool,
    generation: int,
    now: datetime,
) -> Condition:
    """Return a condition that transitions now."""
    return Condition(
        type=condition_type,
        status=ConditionStatus.TRUE if holds else ConditionStatus.FALSE,
        reason=reason,
        message=one_line(message, _MAX_MESSAGE),
        # Condition times have a resolution of seconds.
        last_transition_time=now.replace(microsecond=0),
        observed_generation=generation,
    )


def paused_condition(effect: str, *, paused: bool, generation: int, now: datetime) -> Condition:
    """Return the condition Paused; `effect` is the message while the object is paused."""
    return new_condition(
        ConditionType.PAUSED,
        ConditionReason.PAUSED if paused else ConditionReason.NOT_PAUSED,
        effect if paused else "not paused",
        holds=paused,
        generation=generation,
        now=now,
    )


def merge_conditions(
    previous: Iterable[Condition], desired: Iterable[Condition]
) -> tuple[Condition, ...]:
    """Return the desired conditions; an unchanged status keeps its transition time."""
    transitions = {(item.type, item.status): item.last_transition_time for item in previous}
    return tuple(
        _with_transition(item, transitions.get((item.type, item.status))) for item in desired
    )


def find_condition(
    conditions: Iterable[Condition], condition_type: ConditionType
) -> Condition | None:
    """Return the condition of a type, if it exists."""
    return next((condition for condition in conditions if condition.type == condition_type), None)


def is_true(conditions: Iterable[Condition], condition_type: ConditionType) -> bool:
    """Return whether the condition of a type exists and is True."""
    condition = find_condition(conditions, condition_type)
    return condition is not None and condition.status is ConditionStatus.TRUE


def _with_transition(condition: Condition, time: datetime | None) -> Condition:
    return condition if time is None else replace(condition, last_transition_time=time)
