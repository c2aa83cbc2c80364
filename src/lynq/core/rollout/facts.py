"""What is known of a node in a rollout, and whether it has settled after its last write.

All of it is in the API server, in the node and its workloads. Nothing is remembered between two
looks, so a restart in the middle of a rollout changes nothing.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from lynq.api import LynqNode
from lynq.api.conditions import find_condition, is_true
from lynq.api.node_metadata import form_generation, is_paused, written_at
from lynq.api.reasons import ConditionType
from lynq.api.wire import parse_rfc3339

GRACE: Final = timedelta(seconds=2)
"""How long a node counts as unsettled after a write that its status does not acknowledge.

A write can leave a node's spec, and so its generation, as it was: new values of a row are in its
annotations. Until the node's controller has seen them, its status looks as if all were done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """One node of a form. Nodes that are being deleted are left out: they are done changing."""

    name: str
    form_generation: int | None
    """The annotation `lynq.sh/template-generation`; None if there is no number in it."""
    written_at: datetime | None
    """The annotation `lynq.sh/rollout-update-start`: the hub's last write."""
    generation: int
    observed_generation: int
    """The generation that the node's status speaks about."""
    ready: bool
    """Whether the condition Ready is True."""
    ready_changed_at: datetime | None
    """When the condition Ready last went from one status to another."""
    workloads_ready: bool
    """Whether the workloads themselves are ready: a node's status can be behind them."""
    observed_write: datetime | None = None
    """The `written_at` that the node's status speaks about, if it says so."""
    paused: bool = False
    """Whether the node's resources are left as they are, at a person's wish."""

    def has_settled(self, now: datetime) -> bool:
        """Return whether the node is ready with what was last written."""
        return self._has_answered(now) and self.ready and self.workloads_ready

    def holds_slot(self, now: datetime) -> bool:
        """Return whether the node takes a place under maxSkew.

        It does on any generation of its form: one that a new form overtook half way is still on
        its way. A paused node does not, as nothing of it changes.
        """
        return not self.paused and not self.has_settled(now)

    def grace_ends(self, now: datetime) -> datetime | None:
        """Return when the node may have settled by the mere passing of time."""
        if self.written_at is None or self.observed_write is not None:
            return None
        # A stamp far in the future is a wrong clock, and must not hold a slot until then.
        return self.written_at + GRACE if abs(now - self.written_at) < GRACE else None

    def on_its_way_since(self) -> datetime | None:
        """Return when an unsettled node was written, or lost its readiness after that."""
        lost = None if self.ready else self.ready_changed_at
        return max((moment for moment in (self.written_at, lost) if moment), default=None)

    def settled_at(self) -> datetime | None:
        """Return when a settled node became so, as far as it can be known.

        One that stays Ready throughout a change shows no transition: then it was at its write.
        """
        stamps = (self.written_at, self.ready_changed_at)
        return max((moment for moment in stamps if moment), default=None)

    def _has_answered(self, now: datetime) -> bool:
        if self.observed_generation != self.generation:
            return False
        if self.observed_write is not None:
            return self.observed_write == self.written_at
        return self.grace_ends(now) is None


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
        paused=is_paused(node),
    )
