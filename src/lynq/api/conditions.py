"""Conditions: the short answers in a status to "is it so, since when, and why".

Conditions from one status to the next: `lastTransitionTime` moves when the status does.

The same wanted conditions give the same list, item by item and in the same order, so a status that
says nothing new is not written.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from lynq.api.reasons import ConditionReason, ConditionType
from lynq.api.wire import Int64, Time, Wire, list_map


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    """The condition holds."""
    FALSE = "False"
    """The condition does not hold."""
    UNKNOWN = "Unknown"
    """It could not be found out."""


class Condition(Wire, frozen=True, kw_only=True):
    """One aspect of the object's state: whether it holds, since when, and why."""

    type: Annotated[str, Meta(max_length=316)]
    """Which aspect this is about, for example Ready. An object has one condition of each type."""

    status: ConditionStatus
    """Whether the condition holds."""

    reason: Annotated[
        str,
        Meta(min_length=1, max_length=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
    ]
    """Why the status is what it is, as one CamelCase word that scripts can compare."""

    message: Annotated[str, Meta(max_length=32768)]
    """The same for people: what happened, to which object, and what to do about it."""

    last_transition_time: Time
    """When the status last changed between True, False and Unknown. A new reason or message
    alone does not move it."""

    observed_generation: Annotated[Int64, Meta(ge=0)] = 0
    """The metadata.generation of the object that was looked at. If it is older than the object's,
    the condition speaks about an earlier spec."""


# The Go operator declared plain lists but never wrote a type twice; docs/design/crds.md.
Conditions = Annotated[tuple[Condition, ...], list_map("type")]


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
