"""Decides whether the hub and its forms, as they are now, still allow the writes of a plan.

A plan is made from caches, and its writes take many turns. In the meantime a user may change or
pause the hub, pause a form, or withdraw an approval. And the caches of a process that has just
become the leader may lack what the last leader wrote: that deletions are held, or that an approval
is spent.
"""

from lynq.api import LynqForm, LynqHub
from lynq.api.node_metadata import is_deleting, is_protected
from lynq.core.guard.approval import requested_approval, spent_approvals
from lynq.core.guard.hold import HoldCause
from lynq.core.hub.diff import DeletionCause, NodeDeletion
from lynq.core.hub.plan import HubPlan


def is_outdated(planned: LynqHub, current: LynqHub | None) -> bool:
    """Return whether the hub has changed, or is being deleted, since it was planned."""
    return (
        current is None
        or current.metadata.uid != planned.metadata.uid
        or current.metadata.generation != planned.metadata.generation
        or is_deleting(current)
    )


def may_delete(deletion: NodeDeletion, plan: HubPlan, hub: LynqHub, form: LynqForm | None) -> bool:
    """Return whether a deletion of the plan may be sent, by the current hub and form.

    The form of a vanished row may be gone as well.
    """
    if deletion.cause is not DeletionCause.ROW_GONE:
        return True
    return allows_row_deletion(deletion, plan, hub) and not (form and leaves_nodes_unchanged(form))


def allows_row_deletion(deletion: NodeDeletion, plan: HubPlan, hub: LynqHub) -> bool:
    """Return whether the decision about a node without row is valid for the current hub."""
    name, approval = deletion.name, plan.approval
    # A plan deletes a guarded node only if it is approved.
    if name in plan.guarded:
        spent = spent_approvals(hub.status.deletion_guard)
        return requested_approval(hub.metadata) == approval.digest and approval.digest not in spent
    return hub.spec.deletion_guard.disabled or not _is_held(name, plan, hub)


def _is_held(name: str, plan: HubPlan, hub: LynqHub) -> bool:
    """Return whether the status of the hub holds this deletion; the plan may not know of it."""
    cause, held = HoldCause.of(hub.status), hub.status.held_deletions
    if cause is not HoldCause.CHANGED_ROWS:
        return cause is not None
    if held is None or name in held.nodes:
        return True
    # The status lists the first nodes only. A plan that holds the same ones knows all of them.
    return held.count > len(held.nodes) and plan.held_deletions(hub) != held


def leaves_nodes_unchanged(form: LynqForm) -> bool:
    """Return whether the form is paused, or is protected while it is being deleted."""
    return is_protected(form) if is_deleting(form) else form.spec.paused
