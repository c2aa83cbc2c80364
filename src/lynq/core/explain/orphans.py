"""Orphans: objects that were retained. Which may be deleted, and which node desires one again.

The label alone proves nothing, because people can set it. An orphan may be deleted only if it has
every mark with which the operator retains an object, and no mark of a node that has it now.
"""

from collections.abc import Iterable

from lynq.api import LynqNode, Metadata
from lynq.api.names import ANNOTATION_ORPHANED_AT, LABEL_MANAGED, LABEL_ORPHANED, TRUE
from lynq.api.node_metadata import is_deleting, is_paused
from lynq.api.resource import all_resources
from lynq.core.explain.trace import node_in_marks
from lynq.core.node.objects import ObjectRef
from lynq.core.node.render import Renderer, RenderError
from lynq.core.node.variables import VariablesError, variables_of


def deletion_blocker(metadata: Metadata) -> str:
    """Return why an object must not be deleted as an orphan; "" if it may be."""
    labels = metadata.labels
    if labels.get(LABEL_ORPHANED) != TRUE:
        return "it is not marked as an orphan"
    if labels.get(LABEL_MANAGED) != TRUE or ANNOTATION_ORPHANED_AT not in metadata.annotations:
        return "the operator did not retain it: its marks were set by hand"
    if key := node_in_marks(metadata):
        return f"it belongs to LynqNode {key}"
    if metadata.owner_references:
        owner = metadata.owner_references[0]
        return f"it belongs to {owner.kind} {owner.name}"
    if metadata.deletion_timestamp:
        return "it is being deleted already"
    return ""


def desiring_node(ref: ObjectRef, nodes: Iterable[LynqNode]) -> LynqNode | None:
    """Return the node that desires an object and is reconciled; None if none does."""
    return next((node for node in nodes if _is_reconciled(node) and _desires(node, ref)), None)


def _is_reconciled(node: LynqNode) -> bool:
    return not is_deleting(node) and not is_paused(node)


def _desires(node: LynqNode, ref: ObjectRef) -> bool:
    candidates = [
        resource
        for resource in all_resources(node.spec)
        if str(resource.spec.get("kind", "")) == ref.kind
        and resource.name_template in ("", ref.name)
    ]
    if not candidates:
        return False
    try:
        renderer = Renderer.of(node, variables_of(node))
    except VariablesError:
        return False
    for resource in candidates:
        try:
            rendered = renderer.render(resource, namespaced=bool(ref.namespace), with_body=False)
        except RenderError:
            continue
        if rendered.ref.identity == ref.identity:
            return True
    return False
