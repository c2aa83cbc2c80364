"""Whether a new status has to be written at once, or may wait for more to come.

A workload on its way passes through several stages within a second. Each as a write of its own
would cost more requests than the resources themselves; what matters to others is told at once.
"""

from datetime import timedelta
from typing import Any, Final

from msgspec.structs import replace

from lynq.api import Condition, NodeStatus, ResourceState
from lynq.api.reasons import ConditionType

_PATIENCE: Final = timedelta(seconds=5)
_WORTH_TELLING = frozenset(
    {ResourceState.FAILED, ResourceState.CONFLICTED, ResourceState.SKIPPED, ResourceState.DELETING}
)


def debounce_status(before: NodeStatus, after: NodeStatus, waited: timedelta) -> timedelta | None:
    """Return for how long a new status may still wait; None if it is to be written now.

    `waited` is the time since the last one was written. Less than none says that the clock was
    set back, and nothing about how long it was.
    """
    can_wait = timedelta(0) <= waited < _PATIENCE and not is_urgent(before, after)
    return _PATIENCE - waited if can_wait else None


def is_urgent(before: NodeStatus, after: NodeStatus) -> bool:
    """Return whether anything differs but how far resources have come that are on their way."""
    return _gist(before) != _gist(after)


def _gist(status: NodeStatus) -> tuple[Any, ...]:
    # That the pass is over says nothing that its outcome does not say.
    told = (this for this in status.conditions if this.type != ConditionType.PROGRESSING)
    conditions = tuple(_verdict(this) for this in told)
    trouble = tuple(
        (this.id, this.name, this.state)
        for this in status.resources
        if this.state in _WORTH_TELLING
    )
    rest = replace(status, resources=(), conditions=(), ready_resources=0)
    return rest, conditions, trouble


def _verdict(condition: Condition) -> tuple[str, str, str]:
    return condition.type, condition.status, condition.reason
