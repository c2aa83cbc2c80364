"""Which objects that left the form are held because another form of the row may desire them.

An entry can move from one form of a hub to another. The forms are applied one after the other, and
so are their nodes: the node that loses the entry must not delete the object before the node that
gets the entry has said that it desires it. So the object stays

- for a grace period after the node was written, in which another form may change,
- until each other node of the row follows its form, if that form has entries of the kind,
- until a node that lists the object has reported the conflict.

A conflict ends the wait: the object is handed over to the node that reported it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from lynq.api import LynqForm, LynqNode, ResourceState
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import form_generation, written_at
from lynq.api.resource import all_resources
from lynq.api.wire import rfc3339
from lynq.core.node.inventory import InventoryItem, is_possible_kind
from lynq.core.node.objects import ObjectRef, ref_of


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another form of a node's hub, and the node of the same row and that form."""

    form: LynqForm
    key: ObjectKey
    node: LynqNode | None
    """None if the node does not exist."""


@dataclass(frozen=True, slots=True)
class Siblings:
    """The other forms of a node's hub."""

    members: tuple[Sibling, ...] = ()
    grace_ends: datetime | None = None
    """Until when no object that left the form is pruned; None if the time has passed."""

    @classmethod
    def of(
        cls, node: LynqNode, members: Iterable[Sibling], grace: timedelta, now: datetime
    ) -> "Siblings":
        """Return the siblings of a node; without any, no object of it can have moved."""
        members = tuple(members)
        written = written_at(node) if members else None
        ends = written + grace if written else None
        return cls(members, ends if ends and ends > now else None)


NO_SIBLINGS: Final = Siblings()


def held_for_siblings(
    stale: Iterable[InventoryItem], siblings: Siblings
) -> dict[InventoryItem, str]:
    """Return the objects that another node may desire, each with the event until which it stays."""
    return {item: until for item in stale if (until := _awaited(item.ref, siblings))}


def _awaited(ref: ObjectRef, siblings: Siblings) -> str | None:
    states = [(sibling, _state(sibling, ref)) for sibling in siblings.members]
    if any(state is ResourceState.CONFLICTED for _, state in states):
        return None
    if siblings.grace_ends:
        return f"{rfc3339(siblings.grace_ends)}, because it may have moved to another LynqForm"
    for sibling, state in states:
        if state not in (None, ResourceState.DELETING):
            return f'LynqNode "{sibling.key}", which desires it, reports the conflict'
        if not _follows_form(sibling) and _has_kind(sibling.form, ref.kind):
            metadata = sibling.form.metadata
            return (
                f'LynqNode "{sibling.key}" reports generation {metadata.generation} of LynqForm '
                f'"{metadata.name}", which may desire it'
            )
    return None


def _state(sibling: Sibling, ref: ObjectRef) -> ResourceState | None:
    """Return the state of an object in the status of a node; None if the node does not list it."""
    entries = sibling.node.status.resources if sibling.node else ()
    states = (entry.state for entry in entries if ref_of(entry).identity == ref.identity)
    return next(states, None)


def _follows_form(sibling: Sibling) -> bool:
    """Return whether the node has reported what the current generation of its form desires."""
    node = sibling.node
    if node is None or form_generation(node) != sibling.form.metadata.generation:
        return False
    return node.status.observed_generation == node.metadata.generation


def _has_kind(form: LynqForm, kind: str) -> bool:
    kinds = (str(resource.spec.get("kind", "")) for resource in all_resources(form.spec))
    return any(is_possible_kind(template, kind) for template in kinds)
