"""A process of the operator, as far as a hub is concerned: reads, plans and the status."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from lynq.api import DeletionGuard, LynqForm, LynqHub
from lynq.api.names import ANNOTATION_APPROVE_DELETION
from lynq.core.guard.absence import NO_ABSENCES, Absences, ReadTime
from lynq.core.guard.approval import NO_APPROVAL, Approval
from lynq.core.hub.node_counts import NodeCounts
from lynq.core.hub.plan import HubPlan
from lynq.core.hub.prune import Observation
from lynq.core.hub.status import SyncResult, next_status
from unit.core.hub.fixtures import NOON, WEB, ARow, Cluster, a_hub, planned, rows, running


@dataclass
class Operator:
    """A hub over many reads, as a process of the operator plans and reports it."""

    cluster: Cluster
    hub: LynqHub = field(default_factory=lambda: a_hub(deletion_guard=DeletionGuard()))
    absences: Absences = NO_ABSENCES
    approval: Approval = NO_APPROVAL
    held: bool = False
    time: float = 0.0
    tracked: frozenset[str] = frozenset()

    def read(
        self,
        table: Iterable[ARow],
        *forms: LynqForm,
        wait: float = 10,
        inactive: Iterable[str] = (),
        **inputs: Any,
    ) -> HubPlan:
        """Read the table, carry out the plan, and write the status."""
        self.time += wait
        plan = planned(
            self.cluster,
            table,
            *(forms or (WEB,)),
            hub=self.hub,
            last_approval=self.approval,
            last_held=self.held,
            observation=Observation(
                source="table",
                read=ReadTime(self.time, self.time),
                now=self.time,
                inactive=frozenset(inactive),
                tracked=frozenset(node.spec.uid for node in self.cluster.nodes.values()),
                last=self.absences,
                confirm_after=5,
            ),
            **inputs,
        )
        self.cluster.apply(plan)
        self.absences, self.approval = plan.absent.absences, plan.approval
        self.held = bool(plan.verdict.held)
        sync = SyncResult.from_plan(plan, self.hub, NOON)
        status = next_status(self.hub, NodeCounts(), forms=1, last_sync=sync, now=NOON)
        self.hub = replace(self.hub, status=status)
        return plan

    def restart(self) -> None:
        """Lose everything but the status."""
        self.absences, self.approval, self.held = NO_ABSENCES, NO_APPROVAL, False

    def approve(self, digest: str) -> None:
        annotations = {ANNOTATION_APPROVE_DELETION: digest} if digest else {}
        self.hub = replace(self.hub, metadata=replace(self.hub.metadata, annotations=annotations))

    @property
    def digest(self) -> str:
        assert self.hub.status.held_deletions
        return self.hub.status.held_deletions.digest


def operator(count: int = 20) -> tuple[Operator, list[str]]:
    """Return an operator that has read rows of all its nodes, and their uids."""
    uids = [f"t{number:03}" for number in range(count)]
    hub = Operator(running(*uids))
    hub.read(rows(*uids))
    return hub, uids
