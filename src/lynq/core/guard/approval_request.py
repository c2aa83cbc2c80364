"""What a person approves: the deletions that a hub holds now, and no other set.

The digest that the person has seen, in a plan or in a condition, must be the digest that is held.
Rows that came back or vanished since make another set, and the person has not seen that one.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from lynq.api import HeldDeletions, LynqHub, LynqNode
from lynq.api.conditions import is_true
from lynq.api.nesting import depth_checked
from lynq.api.reasons import ConditionType
from lynq.core.guard.approval import digest_of, spent_approvals

PLAN_SCHEMA: Final = "lynq.sh/plan/v1"
"""The schema of the plans that can be approved."""


class NotApprovable(ValueError):  # noqa: N818 - read as a sentence
    """There is nothing to approve, or not what the person has seen."""


@dataclass(frozen=True, slots=True)
class PlannedDeletions:
    """The held deletions of a plan."""

    digest: str
    nodes: tuple[str, ...]
    """The names of the nodes in the plan, sorted."""


def held_now(hub: LynqHub) -> HeldDeletions:
    """Return the deletions that a hub holds; raises NotApprovable."""
    if held := hub.status.held_deletions:
        return held
    if is_true(hub.status.conditions, ConditionType.DELETION_HELD):
        raise NotApprovable(
            "the status of the hub is of an operator without status.heldDeletions: update the "
            "operator, or set the annotation that the condition DeletionHeld names"
        )
    raise NotApprovable("no deletion is held, so there is nothing to approve")


def held_nodes(hub: LynqHub, live: Collection[str]) -> tuple[str, ...]:
    """Return the names of the held nodes, sorted: all of them if that can be proved.

    The status has only the first names. All nodes behind the last one of them, of those that exist
    and are not being deleted, are held as well if the digest is that of all names together: so it
    is if all rows have vanished. Otherwise only a read of the rows shows the others.
    """
    held = hub.status.held_deletions
    if held is None or not held.nodes:
        return ()
    names = (*held.nodes, *sorted(name for name in live if name > held.nodes[-1]))
    spent = spent_approvals(hub.status.deletion_guard)
    return names if digest_of(names, spent) == held.digest else held.nodes


def check_digest(held: HeldDeletions, digest: str, *, origin: str) -> None:
    """Raise NotApprovable unless the digest is that of the held deletions."""
    if digest != held.digest:
        raise NotApprovable(
            f"{origin} has the digest {digest}, but the digest of the {held.count} held nodes is "
            f"{held.digest}: rows have changed since; review the deletions again"
        )


def planned_deletions(text: str | bytes, hub: str) -> PlannedDeletions:
    """Return the held deletions of a plan in JSON for a hub; raises NotApprovable."""
    try:
        plan = msgspec.json.decode(depth_checked(text))
    except ValueError as error:
        raise NotApprovable(f"the plan is not valid JSON: {error}") from None
    if not isinstance(plan, dict) or plan.get("schema") != PLAN_SCHEMA:
        raise NotApprovable(f"the plan has not the schema {PLAN_SCHEMA}: lynq plan -o json")
    guard = plan.get("guard")
    if not isinstance(guard, dict) or guard.get("verdict") != "Held" or not guard.get("digest"):
        raise NotApprovable("the guard holds no deletion of the plan, so it needs no approval")
    deleted = [change for change in plan.get("changes", ()) if _is_deleted_node(change)]
    if hubs := {str(change.get("hub", "")) for change in deleted} - {hub}:
        raise NotApprovable(f"the plan is of the hub {', '.join(sorted(hubs))}, not of {hub}")
    names = tuple(sorted(str(change.get("name", "")) for change in deleted))
    return PlannedDeletions(str(guard["digest"]), names)


def _is_deleted_node(change: Mapping[str, Any]) -> bool:
    return change.get("kind") == LynqNode.definition.kind and change.get("action") == "Delete"
