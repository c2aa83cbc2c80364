"""Whether a new status has to be written at once, or may wait for more to come.

A workload on its way passes through several stages within a second. Each as a write of its own
would cost more requests than the resources themselves; what matters to others is told at once.
"""

from typing import Any

from msgspec.structs import replace

from lynq.api import Condition, NodeStatus, ResourceState

_WORTH_TELLING = frozenset(
    {ResourceState.FAILED, ResourceState.CONFLICTED, ResourceState.SKIPPED, ResourceState.DELETING}
)


def is_urgent(before: NodeStatus, after: NodeStatus) -> bool:
    """Return whether anything differs but how far resources have come that are on their way."""
    return _gist(before) != _gist(after)


def _gist(status: NodeStatus) -> tuple[Any, ...]:
    conditions = tuple(_verdict(this) for this in status.conditions)
    trouble = tuple(
        (this.id, this.name, this.state)
        for this in status.resources
        if this.state in _WORTH_TELLING
    )
    rest = replace(status, resources=(), conditions=(), ready_resources=0)
    return rest, conditions, trouble


def _verdict(condition: Condition) -> tuple[str, str, str]:
    return condition.type, condition.status, condition.reason
