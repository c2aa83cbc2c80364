"""A plan: everything that one sync does, and what it leaves as it is."""

from dataclasses import dataclass
from datetime import datetime

from lynq.api import LynqForm
from lynq.core.guard.deletion import GuardOutcome, GuardVerdict
from lynq.core.guard.row_screening import ScreenedRows
from lynq.core.hub.changes import NodeCreation, NodeDeletion, NodeUpdate, Throttle
from lynq.core.hub.diff import CheckedSpecs
from lynq.core.hub.failures import RenderFailure
from lynq.core.hub.row_values import RowValues


@dataclass(frozen=True, slots=True)
class FormCandidate:
    """A form, and whether its present generation may be rolled out."""

    form: LynqForm
    valid: bool = True

    @property
    def name(self) -> str:
        """What its nodes call it."""
        return self.form.metadata.name


@dataclass(frozen=True, slots=True)
class HubPlan:
    """What one sync does, and what it leaves."""

    creates: tuple[NodeCreation, ...]
    updates: tuple[NodeUpdate, ...]
    deletes: tuple[NodeDeletion, ...]
    throttled: tuple[Throttle, ...]
    """Per form: the nodes that wait for their turn."""
    failures: tuple[RenderFailure, ...]
    """Nodes that could not be rendered: not made, or left as they are."""
    verdict: GuardVerdict
    """What the deletion guard says."""
    judgement: ScreenedRows[RowValues]
    """The rows in use, and the rejected ones."""
    kept: frozenset[str]
    """Existing nodes that stay as they are because their row is rejected or cannot be rendered."""
    unmade: int
    """How many wanted nodes are not there, for the same two reasons."""
    marks: CheckedSpecs
    """To be handed to the next plan."""
    look_again: datetime | None
    """When a write may become possible by the passing of time; all else is told by events."""
    approved: frozenset[str]
    """The nodes that the hub's approval stands for, if it is known which; to be handed on too."""

    @property
    def held(self) -> tuple[str, ...]:
        """The nodes that wait for approval to be removed."""
        return self.verdict.names if self.verdict.outcome is GuardOutcome.HELD else ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.creates or self.updates or self.deletes)
