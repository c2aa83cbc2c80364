"""Decide by the states of its dependencies whether a resource may be applied.

A failed dependency takes precedence over one that is not ready. Both are searched in the order of
dependIds, so that every reconcile names the same dependency. A skipped dependency counts as failed:
otherwise only direct dependents would be skipped.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

from lynq.api import ResourceState

FAILED_STATES: Final = frozenset(
    {ResourceState.FAILED, ResourceState.CONFLICTED, ResourceState.SKIPPED}
)
"""The states in which a dependency counts as failed."""
_DESCRIPTIONS: Final = {
    ResourceState.FAILED: "failed",
    ResourceState.CONFLICTED: "has a field conflict",
    ResourceState.SKIPPED: "was skipped",
}


class GateAction(Enum):
    """The decision for a resource."""

    APPLY = "apply"
    """All dependencies are ready."""
    WAIT = "wait"
    """A dependency is not ready yet, and none failed."""
    SKIP = "skip"
    """A dependency failed, and skipOnDependencyFailure is true."""
    PROCEED = "proceed"
    """A dependency failed, and the resource is applied with a warning."""


_BLOCKED: Final = {
    GateAction.WAIT: ResourceState.WAITING,
    GateAction.SKIP: ResourceState.SKIPPED,
}


class GateDecision(Struct, frozen=True):
    """The decision for a resource, and the dependency that caused it."""

    action: GateAction
    dependency: str = ""
    """The id of the dependency; "" if all dependencies are ready."""
    message: str = ""
    """The cause as a sentence; "" if all dependencies are ready."""

    @property
    def blocked(self) -> ResourceState | None:
        """The state of a resource that a dependency blocks; None if it is applied."""
        return _BLOCKED.get(self.action)


def dependency_gate(
    depend_ids: Iterable[str],
    states: Mapping[str, ResourceState],
    *,
    skip_on_dependency_failure: bool,
) -> GateDecision:
    """Decide by the states of the dependencies; a dependency without a state is not ready."""
    depend_ids = tuple(depend_ids)
    for dependency in depend_ids:
        state = states.get(dependency)
        if state is not None and state in FAILED_STATES:
            return _after_failure(dependency, state, skip=skip_on_dependency_failure)
    for dependency in depend_ids:
        if states.get(dependency) is not ResourceState.READY:
            message = f'waiting for dependency "{dependency}" to become ready'
            return GateDecision(GateAction.WAIT, dependency, message)
    return GateDecision(GateAction.APPLY)


def _after_failure(dependency: str, state: ResourceState, *, skip: bool) -> GateDecision:
    cause = f'dependency "{dependency}" {_DESCRIPTIONS[state]}'
    if skip:
        return GateDecision(GateAction.SKIP, dependency, f"skipped: {cause}")
    return GateDecision(GateAction.PROCEED, dependency, f"applied although {cause}")
