"""What goes, and in which order: dependents before dependencies, and only what is ours.

The same rules hold for what left the form and for a node that is deleted. What turns out not to be
ours is let go without a touch: the inventory says what we once meant to write, not what we own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lynq.api import DeletionPolicy, ResourceState
from lynq.api.names import ANNOTATION_DELETION_POLICY
from lynq.api.reasons import OrphanReason
from lynq.core.graph.build import removal_waves
from lynq.core.graph.model import Entry
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import LiveObject, ObjectRef, Owner
from lynq.core.node.ownership import is_orphan, is_owned_by
from lynq.core.node.state import ResourceOutcome, StateReason


@dataclass(frozen=True, slots=True)
class PruneCandidate:
    """An item of the inventory that has to go, and what is known of its object."""

    item: InventoryItem
    live: LiveObject | None = None
    """None if the object does not exist."""
    policy: DeletionPolicy | None = None
    """What the node's spec says, if the object is still in it; else the annotation counts."""
    problem: str = ""
    """Why it could not be looked up or removed the last time, and what to do about it."""
    is_unknown: bool = False
    """Whether it could not even be looked up: then nothing is known of its existence."""


@dataclass(frozen=True, slots=True)
class ObjectDeletion:
    """One object that goes, or is retained, now."""

    item: InventoryItem
    uid: str
    """The precondition: an object made anew under the name is another one."""
    retain: bool
    reason: OrphanReason


@dataclass(frozen=True, slots=True)
class PruneStep:
    """What to remove now, and what is still there."""

    removals: tuple[ObjectDeletion, ...]
    outcomes: tuple[ResourceOutcome, ...]
    """One per object that is still there; the others are done and leave the inventory."""

    @property
    def is_done(self) -> bool:
        """Whether everything is gone, retained or not ours: then the finalizer may go."""
        return not self.outcomes


def next_prune_step(
    entries: Iterable[Entry],
    leftovers: Sequence[PruneCandidate],
    owner: Owner,
    reason: OrphanReason,
) -> PruneStep:
    """Return what to remove now; `entries` are those of the node's spec."""
    remaining = [this for this in leftovers if _remains(this, owner)]
    present = {this.item.id for this in remaining if not this.is_unknown}
    waves = removal_waves(entries, present)
    turn = frozenset(waves[0]) if waves else frozenset()
    removals = tuple(
        _deletion(this, this.live, owner, reason)
        for this in remaining
        if this.live is not None and not this.live.deleting and this.item.id in turn
    )
    going: Mapping[ObjectRef, ObjectDeletion] = {this.item.ref: this for this in removals}
    return PruneStep(removals, tuple(_outcome(this, going, turn) for this in remaining))


def spared_for(item: InventoryItem, claimant: str) -> ResourceOutcome:
    """Return what is told of an object that left the form, and may be wanted by a broken entry."""
    return _spared(item, f'until it is known whether "{claimant}" wants it')


def spared_in_edited(item: InventoryItem) -> ResourceOutcome:
    """Return what is told of an object that left a node which somebody edited."""
    return _spared(item, "until its hub has written the node again: somebody edited it")


def _spared(item: InventoryItem, until: str) -> ResourceOutcome:
    return ResourceOutcome(
        id=item.id,
        ref=item.ref,
        state=ResourceState.DELETING,
        reason=str(StateReason.HELD_BACK),
        message=f"it is no longer wanted, and stays {until}",
    )


def _remains(leftover: PruneCandidate, owner: Owner) -> bool:
    if leftover.is_unknown:
        return True
    live = leftover.live
    return live is not None and not is_orphan(live) and is_owned_by(live, owner)


def _deletion(
    leftover: PruneCandidate, live: LiveObject, owner: Owner, reason: OrphanReason
) -> ObjectDeletion:
    policy = leftover.policy or live.annotations.get(ANNOTATION_DELETION_POLICY)
    retain = policy == DeletionPolicy.RETAIN or _is_home(leftover.item.ref, owner)
    return ObjectDeletion(leftover.item, live.uid, retain, reason)


def _is_home(ref: ObjectRef, owner: Owner) -> bool:
    """Return whether it is the namespace that the node lives in: all its neighbours would go."""
    return ref.is_namespace and ref.name == owner.namespace


def _outcome(
    leftover: PruneCandidate, going: Mapping[ObjectRef, ObjectDeletion], turn: frozenset[str]
) -> ResourceOutcome:
    item = leftover.item
    if leftover.problem:
        reason, message = StateReason.REMOVAL_FAILED, leftover.problem
    elif item.ref in going:
        retain = going[item.ref].retain
        reason = StateReason.DELETING
        message = "it is being let go" if retain else "it is being deleted"
    elif item.id in turn:
        reason, message = StateReason.DELETING, "it is being deleted and not gone yet"
    else:
        reason, message = StateReason.WAITING_FOR_DEPENDENTS, "what depends on it goes first"
    return ResourceOutcome(
        id=item.id,
        ref=item.ref,
        state=ResourceState.DELETING,
        reason=str(reason),
        message=message,
    )
