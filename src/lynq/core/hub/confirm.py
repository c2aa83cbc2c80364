"""Decides whether the hub and its forms, as they are now, still allow the writes of a plan.

A plan is made from caches, and its writes take many turns. In the meantime a user may change or
pause the hub, pause a form, or withdraw an approval. And the caches of a process that has just
become the leader may lack what the last leader wrote: that deletions are held, or that an approval
is spent.
"""

from lynq.api import LynqForm, LynqHub
from lynq.api.node_metadata import is_deleting, is_protected
from lynq.core.guard.approval import requested_approval, spent_approvals
from lynq.core.guard.deletion import GuardOutcome, is_held
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
    return allows_row_deletions(plan, hub) and not (form and leaves_nodes_unchanged(form))


def allows_row_deletions(plan: HubPlan, hub: LynqHub) -> bool:
    """Return whether the guard's decision about nodes without row is valid for the current hub."""
    approval, doubtful = plan.approval, plan.absent.doubtful
    is_approved = plan.verdict.outcome is GuardOutcome.APPROVED
    if is_approved or (doubtful and approval.covers(doubtful)):
        spent = spent_approvals(hub.status.deletion_guard)
        return requested_approval(hub.metadata) == approval.digest and approval.digest not in spent
    return hub.spec.deletion_guard.disabled or not is_held(hub.status)


def leaves_nodes_unchanged(form: LynqForm) -> bool:
    """Return whether the form is paused, or is protected while it is being deleted."""
    return is_protected(form) if is_deleting(form) else form.spec.paused
