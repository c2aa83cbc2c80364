"""Chooses the nodes to delete: those without a form, and those without a row if the guard allows.

An absent row or form may come back, so its absence is confirmed first (`lynq.core.guard.absence`).
The guard counts all nodes without row, confirmed or not: the confirmed ones alone could stay below
its limits.

A rejected row still exists, so its nodes are kept. If its activate text is unclear, they are held
like those of other changed rows, and an approval deletes them. Nodes that are protected or paused,
and nodes of a paused form, are kept too. The plan names the protected ones, or nothing would tell
why they stay. A node that this operator cannot have created is ignored: its name fits no row and
form, and the hub is not its controller.
"""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import attrgetter

from lynq.api import LynqHub, LynqNode
from lynq.api.naming import node_name
from lynq.api.node_metadata import (
    is_controlled_by_hub,
    is_deleting,
    is_paused,
    is_protected,
    pair_of,
    pair_or_spec,
)
from lynq.core.guard.absence import NO_ABSENCES, Absences, ReadTime
from lynq.core.guard.approval import Approval, requested_approval, spent_approvals
from lynq.core.guard.deletion import GuardVerdict, evaluate_deletion
from lynq.core.guard.hold import HoldCause, stored_changed
from lynq.core.guard.row_screening import ScreenedRows
from lynq.core.guard.window import CountedDeletions
from lynq.core.hub.diff import DeletionCause, NodeDeletion
from lynq.core.hub.row_values import RowValues


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What is known about the rows and forms that a plan does not have."""

    source: str = ""
    """The identity of the source that was read."""
    read: ReadTime = field(default_factory=ReadTime)
    now: float = 0.0
    """The time of the plan, by the clock of `read`."""
    inactive: frozenset[str] = frozenset()
    """The tracked uids that have an inactive row."""
    tracked: frozenset[str] = frozenset()
    """See `ReadRows.tracked`."""
    last: Absences = NO_ABSENCES
    """From the last plan."""
    confirm_after: float = 0.0
    """How many seconds a row or form must be missing; 0 if one read is enough."""
    settled_uids: AbstractSet[str] = frozenset()
    """The uids of active rows that the plan does not have, because their nodes are as desired."""
    settled_nodes: int = 0
    """The number of these nodes that are not being deleted."""


@dataclass(frozen=True, slots=True)
class GuardMemory:
    """What the guard knows of earlier plans, besides the hub's status."""

    approval: Approval
    """The approval that the last plan resolved."""
    held: bool
    """Whether the guard of the last plan held deletions; the status may not say so yet."""
    window: timedelta
    """How long a deletion counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentNodes:
    """The nodes whose absent row or form is not confirmed, and those whose row was changed."""

    absences: Absences
    """For the next plan."""
    unconfirmed: frozenset[str]
    """The nodes that are kept because their row or form may come back."""
    changed: frozenset[str]
    """The nodes whose row was, or may have been, changed in place: deleted only with an approval.
    """
    unclear: frozenset[str]
    """Those whose row says neither yes nor no."""
    next_read: float | None
    """When to read again to confirm missing rows, by the clock of the observation."""
    next_plan: float | None
    """When to plan again to confirm missing forms, by the clock of the observation."""

    def with_unclear(self, names: Collection[str]) -> "AbsentNodes":
        """Return these nodes, and those whose row says neither yes nor no."""
        changed = (self.absences.changed or frozenset()).union(names)
        return replace(
            self,
            absences=replace(self.absences, changed=changed),
            changed=self.changed.union(names),
            unclear=frozenset(names),
        )


@dataclass(frozen=True, slots=True)
class NodeDeletions:
    """The nodes to delete, the guard's decision, and the approval that it was made with."""

    deletes: tuple[NodeDeletion, ...]
    verdict: GuardVerdict
    approval: Approval
    absent: AbsentNodes
    protected: tuple[NodeDeletion, ...]
    """The nodes that are kept only because they are protected."""


def choose_deletions(
    hub: LynqHub,
    nodes: Mapping[str, LynqNode],
    screened: ScreenedRows[RowValues],
    *,
    forms: Collection[str],
    frozen: Collection[str],
    source_changed: bool,
    no_active_row: bool,
    observation: Observation,
    memory: GuardMemory,
    now: datetime,
) -> NodeDeletions:
    """Return the nodes to delete; `frozen` are the forms whose nodes are left unchanged.

    As long as the hub has the approval that the last plan resolved, the rest of its nodes may be
    deleted, although the others are gone for good.
    """
    live = {name: node for name, node in nodes.items() if not is_deleting(node)}
    missing = {
        name: node
        for name, node in live.items()
        if name not in screened.nodes and pair_of(node) not in screened.rejected_pairs
    }
    unwanted = [node for node in missing.values() if not _is_suspended(node, hub, frozen)]
    candidates = [_deletion(node, forms) for node in unwanted if not is_protected(node)]
    protected = [_deletion(node, forms) for node in unwanted if is_protected(node)]
    # Nodes of a deleted form do not count: they must not raise the limit for the others.
    formless = _uids(candidates, DeletionCause.FORM_GONE)
    rowless = _uids(candidates, DeletionCause.ROW_GONE)
    of_forms = _without_row(missing, {*forms, *frozen})
    unclear = _unclear(live, screened)
    absent = _observe(hub, missing, candidates, protected, screened, observation=observation)
    absent = replace(absent, changed=absent.changed & (rowless.keys() | of_forms.keys()))
    if not hub.spec.deletion_guard.disabled:
        absent = absent.with_unclear(unclear)
    status = hub.status.deletion_guard
    held = memory.held or HoldCause.of(hub.status) is HoldCause.GUARD
    tenants = {pair_or_spec(live[name]).uid for name in (*of_forms, *unclear)}
    emptied = no_active_row and len(tenants) > 1
    if held or source_changed or emptied:
        rowless |= of_forms
    being_deleted = nodes.keys() - live.keys()
    spent = spent_approvals(status)
    approval = Approval.resolve(
        requested_approval(hub.metadata),
        memory.approval.nodes,
        rowless.keys(),
        rowless.keys() | being_deleted,
        absent.changed,
        absent.changed | being_deleted,
        spent=spent,
    )
    verdict = evaluate_deletion(
        hub.spec.deletion_guard,
        existing=live.keys() - formless.keys(),
        to_delete=rowless,
        held=held,
        counted=CountedDeletions.within(status, memory.window, now),
        source_changed=source_changed,
        emptied=emptied,
        approval=approval,
        spent_approvals=spent,
        settled=observation.settled_nodes,
    )
    waiting = absent.unconfirmed | (absent.changed - approval.nodes)
    candidates += [
        _deletion(node, forms)
        for node in unclear.values()
        if not _is_suspended(node, hub, frozen) and not is_protected(node)
    ]
    deletable = approval.nodes.intersection(unclear).union(verdict.deletable)
    deletes = tuple(_allowed(candidates, deletable, waiting))
    # What is approved and kept for another reason is deleted once that reason ends.
    kept = approval.nodes.difference(deletion.name for deletion in candidates)
    absent = replace(absent, absences=absent.absences.after_approval(kept))
    return NodeDeletions(
        deletes, verdict, approval, absent, _confirmed(protected, absent.absences, observation)
    )


def _unclear(
    live: Mapping[str, LynqNode], screened: ScreenedRows[RowValues]
) -> dict[str, LynqNode]:
    """Return the nodes, by name, whose row says neither yes nor no."""
    names = map(node_name, screened.unclear_pairs)
    return {name: live[name] for name in names if name in live}


def _observe(
    hub: LynqHub,
    missing: Mapping[str, LynqNode],
    candidates: Sequence[NodeDeletion],
    protected: Sequence[NodeDeletion],
    screened: ScreenedRows[RowValues],
    *,
    observation: Observation,
) -> AbsentNodes:
    read, now, seconds = observation.read, observation.now, observation.confirm_after
    formless = _of_cause(candidates, DeletionCause.FORM_GONE)
    protected_formless = _of_cause(protected, DeletionCause.FORM_GONE)
    source, last = observation.source, observation.last
    deactivated = last.deactivated(source, observation.inactive)
    active_uids = _active_uids(screened, observation)
    superseded = {uid for uid in observation.inactive if any(uid in uids for uids in active_uids)}
    uids = {name: pair_or_spec(node).uid for name, node in missing.items()}
    rowless = {
        name: uid for name, uid in uids.items() if not any(uid in active for active in active_uids)
    }
    absences = last.after_read(
        source,
        read,
        present=screened.present,
        missing=_without_any_row(candidates, deactivated),
        protected=_without_any_row(protected, deactivated),
        without_row=rowless,
        unidentifiable=screened.unidentifiable,
        # A read is compared with all rows once, not at each push notification after it.
        tracked=last.tracked
        if last.has_read(source, read)
        else _tracked_with_row(observation, active_uids),
        superseded=(observation.inactive - deactivated) | superseded,
    ).after_plan(now, {deletion.pair.form for deletion in (*formless, *protected_formless)})
    vanished = (name for name, uid in rowless.items() if uid not in deactivated)
    doubtful = absences.doubtful(vanished, screened.unidentifiable)
    changed = _changed_nodes(hub, rowless, absences.changed, doubtful)
    forms = absences.unconfirmed_forms(now, seconds)
    return AbsentNodes(
        absences=replace(absences, changed=changed),
        unconfirmed=absences.unconfirmed_rows(read, seconds)
        | {deletion.name for deletion in formless if deletion.pair.form in forms},
        changed=changed,
        unclear=frozenset(),
        next_read=absences.next_read(read, seconds),
        next_plan=absences.next_plan(now, seconds),
    )


def _changed_nodes(
    hub: LynqHub,
    rowless: Collection[str],
    before: frozenset[str] | None,
    doubtful: frozenset[str],
) -> frozenset[str]:
    """Return the nodes whose rows were, or may have been, changed in place, and are not back.

    `rowless` are all nodes without row. Nodes that are paused or protected are among them, because
    their rows may be changed meanwhile.
    """
    if hub.spec.deletion_guard.disabled:
        return frozenset()
    if before is None:
        before = stored_changed(hub.status, rowless)
    return before.intersection(rowless) | doubtful


def _active_uids(
    screened: ScreenedRows[RowValues], observation: Observation
) -> tuple[AbstractSet[str], ...]:
    """Return the uids that have an active row: planned, rejected and settled ones."""
    rejected = {pair.uid for pair in screened.rejected_pairs - screened.unclear_pairs}
    return screened.rows.keys(), rejected, observation.settled_uids


def _tracked_with_row(
    observation: Observation, active_uids: Iterable[AbstractSet[str]]
) -> frozenset[str]:
    """Return the tracked uids that have a row, active or not, whether or not they have a node."""
    rowless = observation.tracked.difference(*active_uids, observation.inactive)
    # Usually there are none, and a set of 100,000 uids is not copied.
    return observation.tracked - rowless if rowless else observation.tracked


def _of_cause(deletions: Iterable[NodeDeletion], cause: DeletionCause) -> list[NodeDeletion]:
    return [deletion for deletion in deletions if deletion.cause is cause]


def _without_any_row(deletions: Iterable[NodeDeletion], deactivated: Container[str]) -> list[str]:
    """Return the names of the nodes whose row is missing, not inactive."""
    rowless = _of_cause(deletions, DeletionCause.ROW_GONE)
    return [deletion.name for deletion in rowless if deletion.pair.uid not in deactivated]


def _confirmed(
    protected: Iterable[NodeDeletion], absences: Absences, observation: Observation
) -> tuple[NodeDeletion, ...]:
    """Return the protected nodes whose row or form will not come back, sorted by name."""
    seconds = observation.confirm_after
    rows = absences.unconfirmed_protected(observation.read, seconds)
    forms = absences.unconfirmed_forms(observation.now, seconds)
    confirmed = (
        deletion
        for deletion in protected
        if deletion.name not in rows and deletion.pair.form not in forms
    )
    return tuple(sorted(confirmed, key=attrgetter("name")))


def _without_row(missing: Mapping[str, LynqNode], forms: Collection[str]) -> dict[str, str]:
    """Return the uids, by name, of the forms' nodes without row: also of suspended ones.

    Nodes that are paused or protected are part of a hold. It continues while they are all that is
    missing, and an approval has to name them: otherwise they would be deleted without one when the
    pause or protection ends. After a change of the source, and if no active row was read, they
    begin a hold, because a later plan does not know of it.
    """
    return {
        name: node.metadata.uid
        for name, node in missing.items()
        if (pair := pair_of(node)) and pair.form in forms
    }


def _is_suspended(node: LynqNode, hub: LynqHub, frozen: Collection[str]) -> bool:
    """Return whether a node without row or form is left unchanged, protected or not."""
    if is_paused(node):
        return True
    pair = pair_of(node)
    if pair is None:
        return hub.spec.paused or not is_controlled_by_hub(node, hub)
    return pair.form in frozen


def _deletion(node: LynqNode, forms: Collection[str]) -> NodeDeletion:
    pair = pair_of(node)
    # If the form of a node is uncertain, its deletion is guarded.
    cause = DeletionCause.FORM_GONE if pair and pair.form not in forms else DeletionCause.ROW_GONE
    metadata = node.metadata
    return NodeDeletion(
        pair_or_spec(node), metadata.name, metadata.uid, cause, metadata.resource_version
    )


def _uids(candidates: Iterable[NodeDeletion], cause: DeletionCause) -> dict[str, str]:
    """Return the uids, by name, of the nodes that are deleted for this cause."""
    return {deletion.name: deletion.node_uid for deletion in _of_cause(candidates, cause)}


def _allowed(
    candidates: Iterable[NodeDeletion], deletable: Collection[str], waiting: Collection[str]
) -> Iterable[NodeDeletion]:
    return (
        deletion
        for deletion in sorted(candidates, key=attrgetter("name"))
        if deletion.name not in waiting
        and (deletion.cause is DeletionCause.FORM_GONE or deletion.name in deletable)
    )
