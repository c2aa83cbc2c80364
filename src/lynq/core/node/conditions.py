"""The conditions of a node: four answers from the states of its resources.

Reasons go by priority, and a conflict counts as a failure too, as alerts made for the Go operator
expect. Messages count resources, name some, and let the first that failed speak. They hold nothing
that changes by itself: the same outcomes give the same words, and no write of the status.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lynq.api import Condition, ResourceState
from lynq.api.conditions import merge_conditions, new_condition
from lynq.api.reasons import ConditionReason as Reason
from lynq.api.reasons import ConditionType as Type
from lynq.api.text import one_line
from lynq.core.node.state import ResourceOutcome, fit_condition

_NAMED: Final = 3
_LONGEST_MESSAGE: Final = 300
"""Characters that a failed resource may say here; `status.resources` has more of it."""
_FAILURES: Final = frozenset({ResourceState.FAILED, ResourceState.CONFLICTED})


@dataclass(frozen=True, slots=True)
class ConditionState:
    """What one condition says, before it is known since when."""

    type: Type
    holds: bool
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class StateCounts:
    """The ids of a node's resources by how far they have come, and what failed ones say."""

    desired: int
    ready: tuple[str, ...]
    failed: tuple[str, ...]
    """Conflicts included."""
    conflicted: tuple[str, ...]
    skipped: tuple[str, ...]
    complaints: tuple[str, ...]
    """What the first failed ones say, each with its id."""

    @classmethod
    def of(cls, outcomes: Sequence[ResourceOutcome]) -> "StateCounts":
        """Count the resources that the spec has; what is being removed is not among them."""

        def ids(state: ResourceState) -> tuple[str, ...]:
            return tuple(outcome.id for outcome in outcomes if outcome.state is state)

        failures = [outcome for outcome in outcomes if outcome.state in _FAILURES]
        return cls(
            desired=len(outcomes),
            ready=ids(ResourceState.READY),
            failed=tuple(outcome.id for outcome in failures),
            conflicted=ids(ResourceState.CONFLICTED),
            skipped=ids(ResourceState.SKIPPED),
            complaints=tuple(_complaint(each) for each in failures[:_NAMED] if each.message),
        )


def node_conditions(tally: StateCounts, *, is_writing: bool) -> tuple[ConditionState, ...]:
    """Return what the four conditions say, in their fixed order."""
    return (
        _ready(tally),
        _progressing(is_writing=is_writing),
        _conflicted(tally),
        _degraded(tally),
    )


def since(
    previous: Iterable[Condition], said: Iterable[ConditionState], generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Return the conditions, each with the time at which its status last became another."""
    wanted = (
        new_condition(
            this.type,
            this.reason,
            fit_condition(this.message),
            holds=this.holds,
            generation=generation,
            now=now,
        )
        for this in said
    )
    return merge_conditions(previous, wanted)


def _ready(tally: StateCounts) -> ConditionState:
    if not tally.failed and len(tally.ready) == tally.desired:
        message = f"all {tally.desired} resources are ready" if tally.desired else "no resources"
        return ConditionState(Type.READY, holds=True, reason=Reason.RECONCILED, message=message)
    reason = Reason.NOT_ALL_RESOURCES_READY
    if tally.conflicted:
        reason = Reason.RESOURCES_FAILED_AND_CONFLICTED
    elif tally.failed:
        reason = Reason.RESOURCES_FAILED
    return ConditionState(Type.READY, holds=False, reason=reason, message=_shortfall(tally))


def _progressing(*, is_writing: bool) -> ConditionState:
    reason = Reason.RECONCILING if is_writing else Reason.RECONCILE_COMPLETE
    message = "resources are being written" if is_writing else "all that can be written is"
    return ConditionState(Type.PROGRESSING, is_writing, reason, message)


def _conflicted(tally: StateCounts) -> ConditionState:
    if not tally.conflicted:
        message = "nobody else claims our fields"
        return ConditionState(
            Type.CONFLICTED, holds=False, reason=Reason.NO_CONFLICT, message=message
        )
    message = (
        f"{len(tally.conflicted)} in conflict with another owner: {_names(tally.conflicted)}; "
        "see status.resources, or let conflictPolicy Force take the fields over"
    )
    return ConditionState(
        Type.CONFLICTED, holds=True, reason=Reason.RESOURCE_CONFLICT, message=message
    )


def _degraded(tally: StateCounts) -> ConditionState:
    if not tally.failed and len(tally.ready) == tally.desired:
        message = "nothing needs attention"
        return ConditionState(Type.DEGRADED, holds=False, reason=Reason.HEALTHY, message=message)
    reason = Reason.RESOURCES_NOT_READY
    if tally.conflicted:
        reason = Reason.RESOURCE_FAILURES_AND_CONFLICTS
    elif tally.failed:
        reason = Reason.RESOURCE_FAILURES
    return ConditionState(Type.DEGRADED, holds=True, reason=reason, message=_shortfall(tally))


def _shortfall(tally: StateCounts) -> str:
    """Return what is missing: how many are ready, which ones failed, and why the first did."""
    parts = [f"not all resources are ready: {len(tally.ready)}/{tally.desired} ready"]
    if tally.failed:
        parts.append(f"{len(tally.failed)} failed: {_names(tally.failed)}")
    if tally.conflicted:
        parts.append(f"of these in conflict: {_names(tally.conflicted)}")
    if tally.skipped:
        parts.append(f"{len(tally.skipped)} skipped: {_names(tally.skipped)}")
    return ". ".join(("; ".join(parts), *tally.complaints))


def _complaint(outcome: ResourceOutcome) -> str:
    message = one_line(outcome.message, _LONGEST_MESSAGE).rstrip(".")
    return message if outcome.message_has_id else f'"{outcome.id}": {message}'


def _names(ids: Sequence[str]) -> str:
    further = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(ids[:_NAMED]) + further
