"""Decide whether a resource may be written now, as far as its dependencies go.

A failed dependency is looked for first, then one that is not ready, both in the order of dependIds:
so the answer names the same dependency from pass to pass. A skipped dependency is a failed one, or
skipping would end after one step.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from lynq.api import ResourceState

FAILED_STATES: Final = frozenset(
    {ResourceState.FAILED, ResourceState.CONFLICTED, ResourceState.SKIPPED}
)
"""What a dependency is in that has failed."""
_WORDS = {
    ResourceState.FAILED: "has failed",
    ResourceState.CONFLICTED: "is in conflict with another owner",
    ResourceState.SKIPPED: "was skipped",
}


class GateAction(Enum):
    """What to do with a resource."""

    APPLY = "apply"
    """All of its dependencies are ready."""
    WAIT = "wait"
    """A dependency is not ready yet, and none has failed."""
    SKIP = "skip"
    """A dependency has failed, and the resource is not to be written then."""
    PROCEED = "proceed"
    """A dependency has failed, and the resource is written all the same, with a warning."""


@dataclass(frozen=True, slots=True)
class GateDecision:
    """What to do with a resource, and because of which dependency."""

    action: GateAction
    dependency: str = ""
    """The id of the dependency; "" where none stands in the way."""
    message: str = ""
    """The same for people."""


def dependency_gate(
    depend_ids: Iterable[str],
    states: Mapping[str, ResourceState],
    *,
    skip_on_dependency_failure: bool,
) -> GateDecision:
    """Decide about a resource by the states of what it depends on; no state is "not ready"."""
    depend_ids = tuple(depend_ids)
    failed = next((this for this in depend_ids if states.get(this) in FAILED_STATES), None)
    if failed is not None:
        return _after_failure(failed, states[failed], skip=skip_on_dependency_failure)
    for this in depend_ids:
        if states.get(this) is not ResourceState.READY:
            return GateDecision(GateAction.WAIT, this, f'waiting for "{this}" to become ready')
    return GateDecision(GateAction.APPLY)


def _after_failure(dependency: str, state: ResourceState, *, skip: bool) -> GateDecision:
    cause = f'"{dependency}", on which it depends, {_WORDS[state]}'
    if skip:
        return GateDecision(GateAction.SKIP, dependency, f"skipped: {cause}")
    return GateDecision(GateAction.PROCEED, dependency, f"written although {cause}")
