"""Chooses the nodes to delete: those without a form at once, those without a row by the guard.

A rejected row still exists, so its nodes are kept. Nodes that are protected or paused, and nodes of
a paused form, are kept too. A node that this operator cannot have created is ignored: its name fits
no row and form, and the hub is not its controller.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from lynq.api import LynqHub, LynqNode
from lynq.api.naming import NodePair
from lynq.api.node_metadata import (
    is_controlled_by_hub,
    is_deleting,
    is_paused,
    is_protected,
    pair_of,
    pair_or_spec,
)
from lynq.core.guard.approval import Approval, requested_approval
from lynq.core.guard.deletion import GuardVerdict, evaluate_deletion
from lynq.core.guard.row_screening import ScreenedRows
from lynq.core.hub.diff import DeletionCause, NodeDeletion
from lynq.core.hub.row_values import RowValues


@dataclass(frozen=True, slots=True)
class NodeDeletions:
    """The nodes to delete, the guard's decision, and the approval that it was made with."""

    deletes: tuple[NodeDeletion, ...]
    verdict: GuardVerdict
    approval: Approval


def choose_deletions(
    hub: LynqHub,
    nodes: Mapping[str, LynqNode],
    screened: ScreenedRows[RowValues],
    *,
    forms: Collection[str],
    frozen: Collection[str],
    source_changed: bool,
    last_approval: Approval,
) -> NodeDeletions:
    """Return the nodes to delete; `frozen` are the forms whose nodes are left unchanged.

    `last_approval` is the approval that the previous plan resolved. As long as the hub has it, the
    rest of its nodes may be deleted, although the others are gone for good.
    """
    live = {name: node for name, node in nodes.items() if not is_deleting(node)}
    candidates = [
        _deletion(node, forms)
        for name, node in live.items()
        if name not in screened.nodes and _is_deletable(node, hub, screened.rejected_pairs, frozen)
    ]
    # Nodes of a deleted form do not count: they must not raise the limit for the others.
    formless = _names(candidates, DeletionCause.FORM_GONE)
    rowless = _names(candidates, DeletionCause.ROW_GONE)
    being_deleted = nodes.keys() - live.keys()
    approval = Approval.resolve(
        requested_approval(hub.metadata), last_approval.nodes, rowless, rowless | being_deleted
    )
    verdict = evaluate_deletion(
        hub.spec.deletion_guard,
        existing=live.keys() - formless,
        to_delete=rowless,
        source_changed=source_changed,
        approval=approval,
    )
    return NodeDeletions(tuple(_allowed(candidates, verdict)), verdict, approval)


def _is_deletable(
    node: LynqNode, hub: LynqHub, kept: Collection[NodePair], frozen: Collection[str]
) -> bool:
    if is_paused(node) or is_protected(node):
        return False
    pair = pair_of(node)
    if pair is None:
        return not hub.spec.paused and is_controlled_by_hub(node, hub)
    return pair not in kept and pair.form not in frozen


def _deletion(node: LynqNode, forms: Collection[str]) -> NodeDeletion:
    pair = pair_of(node)
    # If the form of a node is uncertain, its deletion is guarded.
    cause = DeletionCause.FORM_GONE if pair and pair.form not in forms else DeletionCause.ROW_GONE
    metadata = node.metadata
    return NodeDeletion(
        pair_or_spec(node), metadata.name, metadata.uid, cause, metadata.resource_version
    )


def _names(candidates: Iterable[NodeDeletion], cause: DeletionCause) -> set[str]:
    return {deletion.name for deletion in candidates if deletion.cause is cause}


def _allowed(candidates: Iterable[NodeDeletion], verdict: GuardVerdict) -> Iterable[NodeDeletion]:
    deletable = frozenset(verdict.deletable)
    return (
        deletion
        for deletion in sorted(candidates, key=lambda deletion: deletion.name)
        if deletion.cause is DeletionCause.FORM_GONE or deletion.name in deletable
    )
