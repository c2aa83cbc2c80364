"""A plan on its way: what of it is left to do, and how the rest went.

A hub with thousands of writes would hold its worker for a minute, and three such hubs all workers.
So writes are begun for a second at a time, and between two turns the other hubs have theirs. What
is left goes on from the same plan: to render ten thousand nodes anew for every turn would cost more
than the writes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

from lynq.api import LynqHub
from lynq.core.hub.diff import NodeCreation, NodeDeletion, NodeUpdate
from lynq.core.hub.plan import HubPlan
from lynq.kube.errors import (
    ConnectionFailed,
    InternalError,
    KubeError,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    Unauthorized,
)

Write: TypeAlias = NodeDeletion | NodeCreation | NodeUpdate

WRITE_TURN: Final = 1.0
"""For so many seconds the writes of a hub are begun before the other hubs have their turn."""

_OUTAGES: Final = (
    ConnectionFailed,
    InternalError,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    Unauthorized,
)


@dataclass(frozen=True, slots=True)
class PlannedSync:
    """A plan, and whether it came from another source than the one before."""

    plan: HubPlan
    source_changed: bool


@dataclass(slots=True)
class ExecutionResult:
    """How far it came."""

    failed: int = 0
    """Writes that the API server refused, or that got no answer."""
    stopped: bool = False
    """Whether the plan became void on the way."""
    outage: int = 0
    """How many writes in a row failed for reasons that would fail any other."""

    def note(self, error: KubeError | None) -> None:
        """Count how a write ended."""
        self.failed += error is not None
        self.outage = self.outage + 1 if isinstance(error, _OUTAGES) else 0

    @property
    def is_complete(self) -> bool:
        """Whether everything was done."""
        return not self.failed and not self.stopped


@dataclass(slots=True)
class PlanExecution:
    """The writes of one plan, over as many turns as they take."""

    hub: LynqHub
    """As it was when the plan was made: once it has changed, the rest is void."""
    plan: HubPlan
    rows_at: datetime
    """When the rows were read."""
    left: list[Write]
    """What is yet to be begun, in its order."""
    carried: ExecutionResult = field(default_factory=ExecutionResult)

    @classmethod
    def of(cls, hub: LynqHub, plan: HubPlan, rows_at: datetime) -> "PlanExecution":
        """Return the course of a plan of which nothing is done yet."""
        return cls(hub, plan, rows_at, [*plan.deletes, *plan.creates, *plan.updates])

    @property
    def removals(self) -> tuple[NodeDeletion, ...]:
        """The nodes that are yet to be deleted."""
        return tuple(each for each in self.left if isinstance(each, NodeDeletion))

    def keep(self, removals: Iterable[NodeDeletion]) -> None:
        """Delete no other nodes than these; the rest counts as failed, so it is planned anew."""
        kept = {each.name for each in removals}
        before = len(self.left)
        self.left = [
            each for each in self.left if not isinstance(each, NodeDeletion) or each.name in kept
        ]
        self.carried.failed += before - len(self.left)
