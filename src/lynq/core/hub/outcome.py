"""How reading went: what a complete read amounted to, why one failed, how the push channel is."""

from dataclasses import dataclass
from datetime import datetime

from lynq.api import LynqHub, RejectedRows
from lynq.core.guard.deletion import held_message
from lynq.core.guard.telling import rejected_rows
from lynq.core.hub.plan_rest import HubPlan


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What has to be remembered of the last complete read."""

    at: datetime
    generation: int
    """The hub's generation by which the rows were read."""
    desired: int
    unmade: int
    kept: frozenset[str]
    rejected_rows: RejectedRows | None
    held: str
    """What the guard says about the removals it holds; empty if it holds none."""
    identity: str = ""
    """Stands for what was read. While removals are held because it has changed, it is the old one:
    then a restart does not make anybody forget the change."""

    @classmethod
    def by(
        cls,
        plan: HubPlan,
        hub: LynqHub,
        at: datetime,
        *,
        identity: str = "",
        source_changed: bool = False,
    ) -> "SyncResult":
        """Return what a plan leaves to be told."""
        guard = hub.spec.deletion_guard
        return cls(
            at=at,
            generation=hub.metadata.generation,
            desired=plan.judgement.desired,
            unmade=plan.unmade,
            kept=plan.kept,
            rejected_rows=rejected_rows(plan.judgement),
            held=held_message(plan.verdict, guard, source_changed=source_changed)
            if plan.held
            else "",
            identity=hub.status.source_identity if plan.held and source_changed else identity,
        )


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """The last read failed."""

    cause: str
    """Why, without passwords."""
    generation: int


@dataclass(frozen=True, slots=True)
class PushState:
    """How the push channel is."""

    connected: bool
    message: str
