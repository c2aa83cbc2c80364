"""Protected objects: the annotation `lynq.sh/protect` blocks a deletion in the controllers.

The admission webhook rejects the deletion of a protected object, but a webhook that is down rejects
nothing. A protected hub, form or node that is being deleted therefore keeps its finalizer, and with
it all of its nodes and objects, until the annotation is removed. Hubs and nodes always have a
finalizer. A form has one only while it is protected: any other form is deleted at once, also
without an operator.
"""

from collections.abc import Iterable

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.events import Event, EventReason
from lynq.api.names import ANNOTATION_PROTECT, FINALIZER_FORM
from lynq.api.node_metadata import is_deleting, is_deletion_blocked, is_protected


def deletion_blocked(obj: LynqHub | LynqForm | LynqNode) -> Event:
    """Return the event on a protected object that is being deleted."""
    kept = "its objects are" if isinstance(obj, LynqNode) else "its LynqNodes and their objects are"
    return Event(
        EventReason.DELETION_BLOCKED,
        f"deletion of {obj.definition.kind} {obj.metadata.name} waits, and {kept} kept: it has the "
        f"annotation {ANNOTATION_PROTECT}; remove the annotation to delete it",
        warns=True,
    )


def blocking(
    node: LynqNode, hubs: Iterable[LynqHub | None], form: LynqForm | None
) -> LynqHub | LynqForm | LynqNode | None:
    """Return the protected object that blocks the deletion of a node's objects; None if none does.

    The garbage collector or a person may delete the nodes of a hub or form that is protected.
    """
    candidates = (node, *hubs, form)
    return next((obj for obj in candidates if obj and is_deletion_blocked(obj)), None)


def keeps_objects(node: LynqNode, hubs: Iterable[LynqHub | None]) -> bool:
    """Return whether the node's objects must have no owner reference: it or a hub is protected.

    A deletion in the foreground is carried out by the garbage collector, which deletes the
    dependents first: the nodes of a hub, and the objects of a node. No finalizer stops it.
    """
    return is_protected(node) or any(hub is not None and is_protected(hub) for hub in hubs)


def form_finalizers(form: LynqForm) -> list[str] | None:
    """Return the finalizers that a form has to have; None if it has them."""
    finalizers = form.metadata.finalizers
    has_finalizer = FINALIZER_FORM in finalizers
    if has_finalizer == is_protected(form):
        return None
    if has_finalizer:
        return [finalizer for finalizer in finalizers if finalizer != FINALIZER_FORM]
    # A finalizer cannot be added to an object that is being deleted.
    return None if is_deleting(form) else [*finalizers, FINALIZER_FORM]
