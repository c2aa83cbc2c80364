"""The changes of a plan: one per object, classified from its versions before and after.

The plan is data. `document` is its JSON, whose schema is in docs/reference/plan.schema.json.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from lynq.api.names import LABEL_MANAGED, LABEL_ORPHANED, TRUE
from lynq.core.guard.approval_request import PLAN_SCHEMA
from lynq.core.plan.fields import CHANGED, FieldChange, field_changes
from lynq.core.readiness.rules import ROLLING_WORKLOADS
from lynq.core.rollout.waves import RolloutOrder


class Action(Enum):
    """What happens to an object."""

    CREATE = "Create"
    UPDATE = "Update"
    REPLACE = "Replace"
    """The object is deleted, and created again."""
    DELETE = "Delete"
    ORPHAN = "Orphan"
    """The object stays and is no longer managed."""
    ADOPT = "Adopt"
    """An object that existed before, or was orphaned, is managed from now on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """The change of one object."""

    action: Action
    api_version: str
    kind: str
    namespace: str
    name: str
    hub: str = ""
    form: str = ""
    node: str = ""
    """The LynqNode that the object belongs to, and where that comes from."""
    fields: tuple[FieldChange, ...] = ()
    literals: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """The values by path that stand in the manifest of the form, before or after the plan: no row
    is part of them."""
    is_held: bool = False
    """Whether the deletion guard holds the change."""

    @property
    def restarts_pods(self) -> bool:
        """Whether the pod template of a workload changes."""
        is_change = self.action in {Action.UPDATE, Action.REPLACE, Action.ADOPT}
        templates = (each.path == "spec.template" or each.path.startswith("spec.template.")
                     for each in self.fields)  # fmt: skip
        return is_change and self.kind in ROLLING_WORKLOADS and any(templates)

    def is_literal(self, path: str, value: Any) -> bool:  # noqa: ANN401 - any JSON value
        """Return whether a value of a field comes from the form, and not from a row."""
        return value is None or value == CHANGED or value in self.literals.get(path, ())

    @property
    def reviewed_fields(self) -> tuple[FieldChange, ...]:
        """The fields without the labels and annotations of Lynq."""
        return tuple(each for each in self.fields if not each.is_bookkeeping)


@dataclass(frozen=True, slots=True)
class PlannedRejection:
    """A row that gets no node."""

    uid: str
    reason: str


@dataclass(frozen=True, slots=True)
class FailedResource:
    """A resource that the API server or a template rejects."""

    node: str
    id: str
    """The id of the resource; empty if the whole node fails."""
    reason: str


@dataclass(frozen=True, slots=True)
class Guard:
    """The verdict of the deletion guard."""

    is_held: bool = False
    count: int = 0
    """The nodes whose deletion is held."""
    digest: str = ""
    """Approves exactly these nodes."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class PlannedRollout:
    """The order in which the nodes of a form are written under maxSkew."""

    form: str
    max_skew: int
    order: RolloutOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that would change, and what would not and why."""

    changes: Sequence[PlannedChange] = ()
    rejected: Sequence[PlannedRejection] = ()
    failed: Sequence[FailedResource] = ()
    guard: Guard = field(default_factory=Guard)
    rollouts: Sequence[PlannedRollout] = ()
    """One per form that limits its rollouts and has nodes to write."""
    notes: Sequence[str] = ()
    """What the plan could not find out, and what is kept although it should go."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not self.changes

    def counts(self) -> dict[Action, Counter[str]]:
        """Return the number of changes by action and kind."""
        counts: dict[Action, Counter[str]] = {}
        for change in self.changes:
            counts.setdefault(change.action, Counter())[change.kind] += 1
        return counts


def classify(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Action | None:
    """Return what happens to an object; None if nothing that counts changes."""
    if before is None or after is None:
        if before is after:
            return None
        return Action.CREATE if before is None else Action.DELETE
    if before["metadata"].get("uid") != after["metadata"].get("uid"):
        return Action.REPLACE
    if not field_changes(before, after):
        return None
    if _is_managed(before) is _is_managed(after):
        return Action.UPDATE
    return Action.ADOPT if _is_managed(after) else Action.ORPHAN


def _is_managed(obj: Mapping[str, Any]) -> bool:
    if str(obj.get("apiVersion", "")).startswith("operator.lynq.sh/"):
        return True
    labels = obj.get("metadata", {}).get("labels") or {}
    return labels.get(LABEL_MANAGED) == TRUE and LABEL_ORPHANED not in labels


def document(plan: Plan) -> dict[str, Any]:
    """Return the plan as JSON."""
    return {
        "schema": PLAN_SCHEMA,
        "changes": [_change(change) for change in plan.changes],
        "rejected": [{"uid": row.uid, "reason": row.reason} for row in plan.rejected],
        "failed": [
            {"node": each.node, "id": each.id, "reason": each.reason} for each in plan.failed
        ],
        "guard": {
            "verdict": "Held" if plan.guard.is_held else "Allowed",
            "count": plan.guard.count,
            "digest": plan.guard.digest,
        },
        "rollouts": [_rollout(rollout) for rollout in plan.rollouts],
        "totals": totals(plan.changes),
        "notes": list(plan.notes),
    }


def totals(changes: Iterable[PlannedChange]) -> dict[str, int]:
    """Return the number of changes per action, and of workloads whose pods restart."""
    changes = tuple(changes)
    counted = Counter(change.action for change in changes)
    return {
        **{action.value: counted[action] for action in Action},
        "restarts": sum(change.restarts_pods for change in changes),
    }


def _rollout(rollout: PlannedRollout) -> dict[str, Any]:
    return {
        "form": rollout.form,
        "maxSkew": rollout.max_skew,
        "waves": [list(wave) for wave in rollout.order.waves],
        "waiting": list(rollout.order.waiting),
        "holders": list(rollout.order.holders),
    }


def _change(change: PlannedChange) -> dict[str, Any]:
    return {
        "action": change.action.value,
        "apiVersion": change.api_version,
        "kind": change.kind,
        "namespace": change.namespace,
        "name": change.name,
        "hub": change.hub,
        "form": change.form,
        "node": change.node,
        "held": change.is_held,
        "restartsPods": change.restarts_pods,
        "fields": [
            {"path": each.path, "before": each.before, "after": each.after}
            for each in change.fields
        ],
    }
