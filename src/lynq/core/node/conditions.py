"""The four conditions of a node, computed from the states of its resources.

Reasons go by priority, and a conflict also counts as a failure: alerts written for the Go operator
expect that. A node whose only failures are conflicts has reasons of its own. A message counts the
resources, names some, and quotes the first failures. It contains nothing that changes with time
alone, so that equal outcomes give equal conditions and the status is not written.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from msgspec import Struct

from lynq.api import Condition, ResourceState
from lynq.api.conditions import merge_conditions, new_condition
from lynq.api.reasons import ConditionReason as Reason
from lynq.api.reasons import ConditionType as Type
from lynq.api.text import SHOWN, and_more, one_line
from lynq.core.node.state import ResourceOutcome, fit_condition

_LONGEST_MESSAGE: Final = 300
"""Characters of a quoted failure; `status.resources` has more of it."""
_FAILURES: Final = frozenset({ResourceState.FAILED, ResourceState.CONFLICTED})


class ConditionState(Struct, frozen=True):
    """A condition without its transition time."""

    type: Type
    holds: bool
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class StateCounts:
    """The ids of a node's resources by state, and the messages of failed ones."""

    desired: int
    ready: tuple[str, ...]
    failed: tuple[str, ...]
    """Conflicts included."""
    conflicted: tuple[str, ...]
    skipped: tuple[str, ...]
    progressing: tuple[str, ...]
    """Resources that were applied, or are about to be, and are not ready yet."""
    failure_messages: tuple[str, ...]
    """Messages of the first failed resources, each with its resource id."""

    @classmethod
    def of(cls, outcomes: Sequence[ResourceOutcome]) -> "StateCounts":
        """Count the resources of the spec; objects that are being pruned are not among them."""

        def ids(state: ResourceState) -> tuple[str, ...]:
            return tuple(outcome.id for outcome in outcomes if outcome.state is state)

        failures = [outcome for outcome in outcomes if outcome.state in _FAILURES]
        messages = (_failure_message(failure) for failure in failures[:SHOWN] if failure.message)
        return cls(
            desired=len(outcomes),
            ready=ids(ResourceState.READY),
            failed=tuple(failure.id for failure in failures),
            conflicted=ids(ResourceState.CONFLICTED),
            skipped=ids(ResourceState.SKIPPED),
            progressing=ids(ResourceState.PROGRESSING),
            failure_messages=tuple(messages),
        )

    @property
    def are_all_ready(self) -> bool:
        """Whether no resource failed and every one is ready."""
        return not self.failed and len(self.ready) == self.desired

    @property
    def has_only_conflicts(self) -> bool:
        """Whether conflicts are the only failures."""
        return bool(self.conflicted) and self.conflicted == self.failed


def node_conditions(counts: StateCounts, *, is_applying: bool) -> tuple[ConditionState, ...]:
    """Return Ready, Progressing, Conflicted and Degraded, in this order."""
    return (
        _ready(counts),
        _progressing(counts, is_applying=is_applying),
        _conflicted(counts),
        _degraded(counts),
    )


def with_transition_times(
    previous: Iterable[Condition], states: Iterable[ConditionState], generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Return the conditions, each with the time of the last change of its status."""
    conditions = (
        new_condition(
            state.type,
            state.reason,
            fit_condition(state.message),
            holds=state.holds,
            generation=generation,
            now=now,
        )
        for state in states
    )
    return merge_conditions(previous, conditions)


def _ready(counts: StateCounts) -> ConditionState:
    if counts.are_all_ready:
        message = f"all {counts.desired} resources are ready" if counts.desired else "no resources"
        return ConditionState(Type.READY, holds=True, reason=Reason.RECONCILED, message=message)
    reason = Reason.NOT_ALL_RESOURCES_READY
    if counts.has_only_conflicts:
        reason = Reason.RESOURCES_CONFLICTED
    elif counts.conflicted:
        reason = Reason.RESOURCES_FAILED_AND_CONFLICTED
    elif counts.failed:
        reason = Reason.RESOURCES_FAILED
    return ConditionState(Type.READY, holds=False, reason=reason, message=_not_ready(counts))


def _progressing(counts: StateCounts, *, is_applying: bool) -> ConditionState:
    is_progressing = is_applying or bool(counts.progressing)
    if is_applying:
        reason, message = Reason.RECONCILING, "resources are being applied"
    elif is_progressing:
        reason = Reason.RECONCILING
        message = f"resources are not ready yet: {and_more(counts.progressing)}"
    else:
        reason, message = Reason.RECONCILE_COMPLETE, "all applicable resources have been applied"
    return ConditionState(Type.PROGRESSING, is_progressing, reason, message)


def _conflicted(counts: StateCounts) -> ConditionState:
    if not counts.conflicted:
        return ConditionState(
            Type.CONFLICTED, holds=False, reason=Reason.NO_CONFLICT, message="no field conflicts"
        )
    message = (
        f"{len(counts.conflicted)} in conflict with another owner: {and_more(counts.conflicted)}; "
        "see status.resources, or set conflictPolicy Force to take over the fields"
    )
    return ConditionState(
        Type.CONFLICTED, holds=True, reason=Reason.RESOURCE_CONFLICT, message=message
    )


def _degraded(counts: StateCounts) -> ConditionState:
    if counts.are_all_ready:
        message = "all resources are healthy"
        return ConditionState(Type.DEGRADED, holds=False, reason=Reason.HEALTHY, message=message)
    reason = Reason.RESOURCES_NOT_READY
    if counts.has_only_conflicts:
        reason = Reason.RESOURCE_CONFLICTS
    elif counts.conflicted:
        reason = Reason.RESOURCE_FAILURES_AND_CONFLICTS
    elif counts.failed:
        reason = Reason.RESOURCE_FAILURES
    return ConditionState(Type.DEGRADED, holds=True, reason=reason, message=_not_ready(counts))


def _not_ready(counts: StateCounts) -> str:
    """Return how many resources are ready, which ones failed, and why the first ones did."""
    parts = [f"not all resources are ready: {len(counts.ready)}/{counts.desired} ready"]
    if counts.failed:
        parts.append(f"{len(counts.failed)} failed: {and_more(counts.failed)}")
    if counts.conflicted:
        parts.append(f"of these in conflict: {and_more(counts.conflicted)}")
    if counts.skipped:
        parts.append(f"{len(counts.skipped)} skipped: {and_more(counts.skipped)}")
    return ". ".join(("; ".join(parts), *counts.failure_messages))


def _failure_message(outcome: ResourceOutcome) -> str:
    message = one_line(outcome.message, _LONGEST_MESSAGE).rstrip(".")
    return message if outcome.message_has_id else f'"{outcome.id}": {message}'
