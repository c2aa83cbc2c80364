"""What keeps a Namespace of a node: its deletion would delete every object in it.

A Namespace goes only when nothing in it has to stay.

- An object that stays for good keeps it for good: an orphan, an object that existed before, or one
  whose deletionPolicy is Retain. The Namespace becomes an orphan, and that before the object is
  retained or released: a process that is killed in between must not forget why.
- An object of another LynqNode holds it until that object is gone, also while the other node is
  being deleted: its finalizer decides which of its objects stay.
- An object of the node itself that is not pruned yet holds it, too.

What the node prunes is known from its candidates; what else is in the Namespace is read.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from lynq.api import DeletionPolicy
from lynq.api.names import ANNOTATION_ADOPTED, ANNOTATION_DELETION_POLICY
from lynq.core.node.objects import LiveObject, ObjectRef
from lynq.core.node.ownership import is_orphan


@dataclass(frozen=True, slots=True)
class NamespaceUse:
    """Why a Namespace is not deleted."""

    retained_for: str = ""
    """The object in it that stays for good, for messages; "" if there is none."""
    held_until: str = ""
    """The event until which it stays; "" if there is none."""


UNUSED: Final = NamespaceUse()


class Resident(NamedTuple):
    """A managed object in a Namespace that the node does not prune now."""

    ref: ObjectRef
    live: LiveObject
    claimant: str = ""
    """The other node that it belongs to, for messages; "" if there is none."""
    is_own: bool = False
    """Whether it belongs to the node that owns the Namespace, which is not being deleted."""


def combined(uses: Iterable[NamespaceUse]) -> NamespaceUse:
    """Return one use: what stays for good comes first."""
    uses = tuple(uses)
    retained_for = next((use.retained_for for use in uses if use.retained_for), "")
    held_until = next((use.held_until for use in uses if use.held_until), "")
    return NamespaceUse(retained_for, "" if retained_for else held_until)


def use_of(residents: Iterable[Resident]) -> NamespaceUse:
    """Return why a Namespace with these objects stays."""
    return combined(map(_use, residents))


def unreadable(problem: str) -> NamespaceUse:
    """Return why a Namespace stays whose objects cannot be read."""
    return NamespaceUse(held_until=f"the objects in it can be read: {problem}")


def _use(resident: Resident) -> NamespaceUse:
    ref, live = resident.ref, resident.live
    if live.is_deleting:
        return UNUSED
    if is_orphan(live):
        return NamespaceUse(retained_for=f"{ref} was retained")
    if resident.claimant:
        return NamespaceUse(held_until=f"{ref} is gone, which belongs to {resident.claimant}")
    if resident.is_own:
        return NamespaceUse(held_until=f"{ref} is gone, which this LynqNode desires")
    return NamespaceUse(_lasting(ref, live))


def _lasting(ref: ObjectRef, live: LiveObject) -> str:
    """Return why an object without a node stays for good; "" if it does not."""
    if ANNOTATION_ADOPTED in live.annotations:
        return f"{ref} existed before"
    is_retained = live.annotations.get(ANNOTATION_DELETION_POLICY) == DeletionPolicy.RETAIN
    return f"{ref} has deletionPolicy Retain" if is_retained else ""
