"""Conditions: the short answers in a status to "is it so, since when, and why"."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

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
