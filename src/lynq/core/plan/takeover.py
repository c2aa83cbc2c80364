"""What changes when this operator takes over from another: bookkeeping, or more than that.

The first reconcile after the swap signs nodes and marks objects with labels and annotations of
Lynq. Nothing else should change: a field of an object, a pod that restarts, an object that is
created, deleted or created again needs a person who looks at it before the swap.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lynq.core.plan.changes import Action, FailedResource, Plan, PlannedChange

_NODE: Final = "LynqNode"
_IN_PLACE: Final = frozenset({Action.UPDATE, Action.ADOPT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """The changes of one hub's nodes and objects at the swap."""

    nodes: int
    """Number of nodes that are written: signed."""
    marked: Mapping[str, int]
    """Number of objects by kind that only get marks of Lynq."""
    marks: tuple[str, ...]
    """The labels and annotations that appear, change or go, on nodes and objects."""
    changed: tuple[PlannedChange, ...]
    """Objects of which more changes than marks of Lynq."""
    restarted: tuple[PlannedChange, ...]
    """Workloads whose pods restart."""
    recreated: tuple[PlannedChange, ...]
    """Objects that are deleted and created again."""
    created: tuple[PlannedChange, ...]
    deleted: tuple[PlannedChange, ...]
    """Objects that are deleted, or orphaned."""
    failed: Sequence[FailedResource]

    @property
    def is_unnoticed(self) -> bool:
        """Whether nothing but marks changes, and nothing fails."""
        noticed = (self.changed, self.restarted, self.recreated, self.created, self.deleted)
        return not any(noticed) and not self.failed


def takeover_of(plan: Plan) -> Takeover:
    """Sort the changes of a plan by whether people notice them."""
    objects = [change for change in plan.changes if change.kind != _NODE]
    nodes = [change for change in plan.changes if change.kind == _NODE]
    in_place = [change for change in objects if change.action in _IN_PLACE]
    marked = [change for change in in_place if not change.reviewed_fields]
    return Takeover(
        nodes=sum(change.action is Action.UPDATE for change in nodes),
        marked=Counter(change.kind for change in marked),
        marks=_marks(plan.changes),
        changed=tuple(change for change in in_place if change.reviewed_fields),
        restarted=tuple(change for change in objects if change.restarts_pods),
        recreated=_with_action(plan.changes, Action.REPLACE),
        created=_with_action(plan.changes, Action.CREATE),
        deleted=_with_action(plan.changes, Action.DELETE, Action.ORPHAN),
        failed=plan.failed,
    )


def _with_action(changes: Sequence[PlannedChange], *actions: Action) -> tuple[PlannedChange, ...]:
    return tuple(change for change in changes if change.action in actions)


def _marks(changes: Sequence[PlannedChange]) -> tuple[str, ...]:
    """Return the keys of labels and annotations of Lynq that differ."""
    keys = {
        field.path.partition("[")[2].removesuffix("]")
        for change in changes
        if change.action in _IN_PLACE
        for field in change.fields
        if field.is_bookkeeping
    }
    return tuple(sorted(keys))
