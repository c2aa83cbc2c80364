"""Which nodes go: those without a form at once, those without a row if the guard lets them.

A row that was only rejected is still there, so its nodes stay. So do nodes that are protected or
paused, or whose form is paused: nothing of them goes until a person lets it. A node that no hub of
ours can have made (its name fits no row and form, and it is not under this hub's control) is left
alone.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from lynq.api import LynqHub, LynqNode
from lynq.api.names import ANNOTATION_APPROVE_DELETION
from lynq.api.naming import NodePair
from lynq.api.node_metadata import is_deleting, is_paused, is_protected, pair_of
from lynq.core.guard.deletion import GuardVerdict, digest_of, evaluate_deletion
from lynq.core.guard.row_screening import ScreenedRows
from lynq.core.hub.diff import DeletionCause, NodeDeletion
from lynq.core.hub.row_values import RowValues


@dataclass(frozen=True, slots=True)
class NodeDeletions:
    """Which nodes go, and what the guard said."""

    deletes: tuple[NodeDeletion, ...]
    verdict: GuardVerdict
    approved: frozenset[str]
    """The nodes that the hub's approval stands for, if it is known which."""


def choose_deletions(
    hub: LynqHub,
    nodes: Mapping[str, LynqNode],
    judgement: ScreenedRows[RowValues],
    *,
    forms: Collection[str],
    frozen: Collection[str],
    source_changed: bool,
    approved: frozenset[str],
) -> NodeDeletions:
    """Return the nodes to delete; `frozen` are the names of forms whose nodes stay as they are.

    `approved` are the nodes that an earlier plan removed by an approval, or was about to. While it
    is there, what is left of them may go, although others are gone for good by now.
    """
    staying = {name: node for name, node in nodes.items() if not is_deleting(node)}
    doomed = [
        _deletion(node, forms)
        for name, node in staying.items()
        if name not in judgement.nodes
        and not is_paused(node)
        and not is_protected(node)
        and _may_be_deleted(node, hub, judgement.kept, frozen)
    ]
    # What goes with its form is no reason to let more of the others go.
    ordered = {each.name for each in doomed if each.why is DeletionCause.FORM_GONE}
    rowless = frozenset(each.name for each in doomed if each.why is DeletionCause.ROW_GONE)
    leaving = nodes.keys() - staying.keys()
    approval = hub.metadata.annotations.get(ANNOTATION_APPROVE_DELETION)
    meant = _meant_by(approval, approved, rowless, rowless | leaving)
    verdict = evaluate_deletion(
        hub.spec.deletion_guard,
        existing=staying.keys() - ordered,
        doomed=rowless,
        leaving=meant or leaving,
        source_changed=source_changed,
        approval=approval,
    )
    return NodeDeletions(tuple(_allowed(doomed, verdict)), verdict, meant)


def _meant_by(approval: str | None, *sets: frozenset[str]) -> frozenset[str]:
    """Return the set of names that an approval stands for; empty if it is none of these."""
    if not approval:
        return frozenset()
    return next((names for names in sets if digest_of(names) == approval), frozenset())


def _may_be_deleted(
    node: LynqNode, hub: LynqHub, kept: Collection[NodePair], frozen: Collection[str]
) -> bool:
    pair = pair_of(node)
    if pair is None:
        return not hub.spec.paused and _controls(hub, node)
    return pair not in kept and pair.form not in frozen


def _controls(hub: LynqHub, node: LynqNode) -> bool:
    references = node.metadata.owner_references
    return any(each.controller and each.uid == hub.metadata.uid for each in references)


def _deletion(node: LynqNode, forms: Collection[str]) -> NodeDeletion:
    pair = pair_of(node)
    # Where it is not certain which form a node is of, the guard has a say.
    why = DeletionCause.FORM_GONE if pair and pair.form not in forms else DeletionCause.ROW_GONE
    claimed = pair or NodePair(node.spec.uid, node.spec.template_ref)
    known = node.metadata
    return NodeDeletion(claimed, known.name, known.uid, why, known.resource_version)


def _allowed(doomed: Iterable[NodeDeletion], verdict: GuardVerdict) -> Iterable[NodeDeletion]:
    allowed = frozenset(verdict.removable)
    return (
        each
        for each in sorted(doomed, key=lambda each: each.name)
        if each.why is DeletionCause.FORM_GONE or each.name in allowed
    )
