"""The facts of a node in a rollout: whether it has settled after its last write.

All facts are read from the LynqNode and its workloads. Nothing is kept in memory between
reconciles, so a restart during a rollout changes nothing.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from lynq.api import LynqNode
from lynq.api.conditions import find_condition, is_true
from lynq.api.names import ANNOTATION_ROLLOUT_BUDGET
from lynq.api.node_metadata import form_generation, is_paused, written_at
from lynq.api.reasons import ConditionType
from lynq.api.wire import parse_rfc3339

GRACE: Final = timedelta(seconds=2)
"""How long a node counts as unsettled after a write that its status does not acknowledge.

New values of a row change only annotations, so a write can leave the generation unchanged. Until
the node controller has observed such a write, the status still reports the previous one."""


class Budget(StrEnum):
    """The budget that a write of a node takes a slot of; each has maxSkew slots."""

    FORM = "Form"
    """The form changed: the slot is held until the node is settled."""
    ROW = "Row"
    """The node is new, its row changed, or it was broken already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """One node of a form. Nodes that are being deleted are left out: they hold no slot."""

    name: str
    form_generation: int | None
    """The annotation `lynq.sh/template-generation`; None if it is not a number."""
    written_at: datetime | None
    """The annotation `lynq.sh/rollout-update-start`: time of the hub's last write."""
    generation: int
    observed_generation: int
    """status.observedGeneration of the node."""
    ready: bool
    """Whether the condition Ready is True."""
    ready_changed_at: datetime | None
    """lastTransitionTime of the condition Ready."""
    workloads_ready: bool
    """Whether the live workloads are ready: the status of the node can lag behind them."""
    observed_write: datetime | None = None
    """The `written_at` that the status acknowledges; None if it acknowledges none."""
    settled_write: datetime | None = None
    """The last `written_at` with which the node was Ready."""
    budget: Budget | None = None
    """The budget of the last write; None if another version wrote the node."""
    failed: bool = False
    """Whether resources of the node have failed."""
    paused: bool = False
    """Whether the node is paused, so that its resources do not change."""

    def has_settled(self, now: datetime) -> bool:
        """Return whether the node is ready with the last write."""
        return self.has_observed_write(now) and self.ready and self.workloads_ready

    def has_observed_write(self, now: datetime) -> bool:
        """Return whether the status reflects the last write."""
        if self.observed_generation != self.generation:
            return False
        if self.observed_write is not None:
            return self.observed_write == self.written_at
        return self.grace_ends(now) is None

    def is_unsettled(self, now: datetime) -> bool:
        """Return whether the node is not ready with the last write, and not paused either."""
        return not self.paused and not self.has_settled(now)

    def slot(self, generation: int, progress_deadline: timedelta, now: datetime) -> Budget | None:
        """Return the budget that the node holds a slot of; `generation` is that of the form.

        A node that was Ready with its last write and is not Ready any more holds none: neither the
        form nor the row broke it. A slot for a row ends when the node is known to be broken.
        """
        if not self.is_unsettled(now) or self._was_settled():
            return None
        if self._takes(generation) is Budget.FORM:
            return Budget.FORM
        is_broken = self.failed and self.has_observed_write(now)
        ends = self.slot_ends(progress_deadline)
        return None if is_broken or (ends and ends <= now) else Budget.ROW

    def slot_ends(self, progress_deadline: timedelta) -> datetime | None:
        """Return when a slot for a row ends; None if the time of the write is unknown."""
        return self.written_at + progress_deadline if self.written_at else None

    def waits_for_workloads(self, now: datetime) -> bool:
        """Return whether the node reports Ready but is unsettled until its workloads are ready.

        No status change of the node follows, so the workloads have to be rechecked.
        """
        return self.ready and not self.workloads_ready and self.is_unsettled(now)

    def grace_ends(self, now: datetime) -> datetime | None:
        """Return when the node may have settled without an event; None if it cannot."""
        if self.written_at is None or self.observed_write is not None:
            return None
        # A timestamp far in the future is a wrong clock and must not hold a slot until then.
        return self.written_at + GRACE if abs(now - self.written_at) < GRACE else None

    def unsettled_since(self) -> datetime | None:
        """Return when an unsettled node was written, or became not ready after its write."""
        lost_readiness = None if self.ready else self.ready_changed_at
        return max((time for time in (self.written_at, lost_readiness) if time), default=None)

    def settled_at(self) -> datetime | None:
        """Return when a settled node became ready with its last write.

        A node that stays Ready throughout has no transition: then the time of its write counts.
        """
        times = (self.written_at, self.ready_changed_at)
        return max((time for time in times if time), default=None)

    def _takes(self, generation: int) -> Budget:
        """Return the budget of the last write.

        If the write did not record it, a write of the current generation may be that of a rollout.
        """
        if self.budget is not None:
            return self.budget
        return Budget.FORM if self.form_generation == generation else Budget.ROW

    def _was_settled(self) -> bool:
        return self.settled_write is not None and self.settled_write == self.written_at


def facts_of(node: LynqNode, *, workloads_ready: bool) -> NodeFacts:
    """Return the facts of a LynqNode that its rollout depends on."""
    ready = find_condition(node.status.conditions, ConditionType.READY)
    return NodeFacts(
        name=node.metadata.name,
        form_generation=form_generation(node),
        written_at=written_at(node),
        generation=node.metadata.generation,
        observed_generation=node.status.observed_generation,
        ready=is_true(node.status.conditions, ConditionType.READY),
        ready_changed_at=ready.last_transition_time if ready else None,
        workloads_ready=workloads_ready,
        observed_write=parse_rfc3339(node.status.observed_update_start),
        settled_write=parse_rfc3339(node.status.settled_update_start),
        budget=_budget_of(node),
        failed=node.status.failed_resources > 0,
        paused=is_paused(node),
    )


def _budget_of(node: LynqNode) -> Budget | None:
    text = node.metadata.annotations.get(ANNOTATION_ROLLOUT_BUDGET)
    return next((budget for budget in Budget if budget == text), None)
