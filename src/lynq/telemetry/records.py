"""What is shown of a node, a hub or a rollout: a few numbers out of its status."""

from dataclasses import dataclass
from typing import Final

from lynq.api import (
    ConditionStatus,
    HubStatus,
    NodeStatus,
    ResourceState,
    RolloutPhase,
    RolloutStatus,
)
from lynq.api.reasons import ConditionReason, ConditionType

_SHOWN: Final = frozenset(
    {
        ConditionType.READY,
        ConditionType.PROGRESSING,
        ConditionType.CONFLICTED,
        ConditionType.DEGRADED,
    }
)
_TRUTH: Final = {ConditionStatus.FALSE: 0, ConditionStatus.TRUE: 1, ConditionStatus.UNKNOWN: 2}
_DEGRADED: Final = (
    ConditionReason.RESOURCE_FAILURES_AND_CONFLICTS,
    ConditionReason.RESOURCE_FAILURES,
    ConditionReason.RESOURCE_CONFLICTS,
    ConditionReason.RESOURCES_NOT_READY,
    ConditionReason.VARIABLES_BUILD_ERROR,
    ConditionReason.DEPENDENCY_CYCLE,
)
"""Every reason to be degraded, so that an alert on one of them finds its 0, too."""
_DEGRADATIONS: Final[dict[str | None, tuple[tuple[str, int], ...]]] = {
    present: tuple((str(reason), int(reason == present)) for reason in _DEGRADED)
    for present in (None, *_DEGRADED)
}
_PHASES: Final = {
    RolloutPhase.IDLE: 0,
    RolloutPhase.IN_PROGRESS: 1,
    RolloutPhase.FAILED: 2,
    RolloutPhase.COMPLETE: 3,
}


@dataclass(frozen=True, slots=True)
class NodeSample:
    """What is shown of a node."""

    ready: int
    desired: int
    failed: int
    conflicted: int
    conditions: tuple[tuple[str, int], ...]
    degraded: str | None
    """Why the node is degraded; None: it is not."""

    @classmethod
    def of(cls, status: NodeStatus) -> "NodeSample":
        """Return what is to be shown of a status."""
        conflicted = sum(each.state is ResourceState.CONFLICTED for each in status.resources)
        conditions = [each for each in status.conditions if each.type in _SHOWN]
        degraded = (
            each.reason
            for each in conditions
            if each.type == ConditionType.DEGRADED and each.status is ConditionStatus.TRUE
        )
        return cls(
            status.ready_resources,
            status.desired_resources,
            status.failed_resources,
            conflicted,
            tuple((each.type, _TRUTH[each.status]) for each in conditions),
            next(degraded, None),
        )

    @property
    def degradation(self) -> tuple[tuple[str, int], ...]:
        """Every known reason to be degraded, and whether it is the present one."""
        known = _DEGRADATIONS.get(self.degraded)
        return known or (*_DEGRADATIONS[None], (str(self.degraded), 1))


@dataclass(frozen=True, slots=True)
class RolloutSample:
    """What is shown of a form's rollout."""

    updating: int
    phase: int
    progress: float

    @classmethod
    def of(cls, status: RolloutStatus) -> "RolloutSample":
        """Return what is to be shown of a rollout."""
        total = status.total_nodes
        return cls(
            status.updating_nodes,
            _PHASES[status.phase or RolloutPhase.IDLE],
            status.ready_updated_nodes / total * 100 if total else 0.0,
        )


@dataclass(frozen=True, slots=True)
class HubSample:
    """What is shown of a hub's counters."""

    desired: int
    ready: int
    failed: int
    push: int | None = None
    """Whether the push channel is up; None: the hub has none."""

    @classmethod
    def of(cls, status: HubStatus) -> "HubSample":
        """Return what is to be shown of a status."""
        push = (
            int(each.status is ConditionStatus.TRUE)
            for each in status.conditions
            if each.type == ConditionType.PUSH_CONNECTED
        )
        return cls(status.desired, status.ready, status.failed, next(push, None))
