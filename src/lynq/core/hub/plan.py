"""Plans one sync of a hub: rows × forms compared with the existing nodes.

The controller applies the plan. Each step narrows what the next one sees, in the order of safety:
bad rows are rejected first, deletions pass the guard, then differences are found, and the writes
are admitted under maxSkew.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar

from lynq.api import HeldDeletions, LynqForm, LynqHub, LynqNode
from lynq.api.installation_key import NO_KEY, KeyState
from lynq.api.naming import NodePair
from lynq.api.node_metadata import is_deleting, is_deletion_blocked, pair_of
from lynq.core.guard.absence import changed_message
from lynq.core.guard.approval import NO_APPROVAL, Approval, held_deletions, spent_approvals
from lynq.core.guard.deletion import GuardVerdict, held_message
from lynq.core.guard.hold import HoldCause
from lynq.core.guard.row_screening import ExistingNodes, ScreenedRows, screen_rows
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.diff import (
    CheckedSpecs,
    DeletionCause,
    NodeCreation,
    NodeDeletion,
    NodeDifferences,
    NodeUpdate,
    NodeWrite,
    Throttle,
    find_differences,
)
from lynq.core.hub.prune import (
    AbsentNodes,
    GuardMemory,
    NodeDeletions,
    Observation,
    choose_deletions,
)
from lynq.core.hub.render_budget import RenderBudget
from lynq.core.hub.rollout import AdmittedWrites, WorkloadsReady, admit_writes
from lynq.core.hub.row_values import RenderFailure, RowLike, RowValues

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FormCandidate:
    """A form, and whether its current generation is valid."""

    form: LynqForm
    valid: bool = True
    refused: Mapping[str, str] = field(default_factory=dict)
    """The resources that fail on every node: the error by id."""

    @property
    def name(self) -> str:
        """The name of the form, as in the names of its nodes."""
        return self.form.metadata.name


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInputs:
    """Everything that a plan depends on, except the time."""

    hub: LynqHub
    forms: Sequence[FormCandidate]
    """Forms of other hubs, and forms that are being deleted, are ignored."""
    rows: Iterable[RowLike] | None
    """The rows of one complete read; None if they are unknown. A plan of changes has only those
    that have changed, and knows the others as `Observation.settled_uids`."""
    nodes: Iterable[LynqNode]
    """The nodes of the hub."""
    other_nodes: Mapping[str, NodePair] = field(default_factory=dict)
    """The nodes of the namespace that are not the hub's: their names cannot be used."""
    unreadable_forms: Collection[str] = ()
    """Forms that exist and cannot be decoded: their nodes are left unchanged."""
    checked_specs: CheckedSpecs = field(default_factory=dict)
    """From the last plan; a node without an entry is compared with a fresh render."""
    last_approval: Approval = NO_APPROVAL
    """From the last plan."""
    last_held: bool = False
    """Whether the guard of the last plan held deletions."""
    deletion_window: timedelta = timedelta(minutes=10)
    """How long a deletion counts against the limits of the guard."""
    source_changed: bool = False
    """Whether the rows come from another source than those of the last sync."""
    observation: Observation = field(default_factory=Observation)
    """What is known about missing rows and forms."""
    rows_changed_at: datetime | None = None
    """When rows that differ from their nodes have changed, as far as a read can tell."""
    row_changes: Mapping[str, datetime] = field(default_factory=dict)
    """From the last plan: the changes that were not written."""
    workloads_ready: WorkloadsReady = lambda _: True
    key: KeyState = NO_KEY
    """Seeds the random values of templates."""
    render_budget: RenderBudget = field(default_factory=RenderBudget)


@dataclass(frozen=True, slots=True)
class HubPlan:
    """The writes of one sync, and the reasons for what is not written."""

    creates: tuple[NodeCreation, ...]
    updates: tuple[NodeUpdate, ...]
    deletes: tuple[NodeDeletion, ...]
    throttled: tuple[Throttle, ...]
    """Per form: the nodes that wait for a slot under maxSkew."""
    failures: tuple[RenderFailure, ...]
    """Nodes that could not be rendered: they are not created, or left unchanged."""
    verdict: GuardVerdict
    """The decision of the deletion guard."""
    screened: ScreenedRows[RowValues]
    """The usable rows, and the rejected ones."""
    kept: frozenset[str]
    """Existing nodes that are left unchanged: their row is rejected or cannot be rendered."""
    missing: int
    """Number of desired nodes that do not exist for one of these two reasons."""
    checked_specs: CheckedSpecs
    """For the next plan."""
    row_changes: Mapping[str, datetime]
    """By the name of the node: when the row changed that no write reflects. For the next plan."""
    recheck_at: datetime | None
    """When time alone may admit another write; every other change is observed by a watch."""
    approval: Approval
    """For the next plan."""
    absent: AbsentNodes
    """What has to be confirmed before nodes are deleted, and when."""
    protected: tuple[NodeDeletion, ...]
    """The nodes without row or form that are kept only because they are protected."""

    @property
    def held(self) -> tuple[str, ...]:
        """The nodes whose deletion waits for approval."""
        return self.verdict.held or tuple(sorted(self.absent.changed - self.approval.nodes))

    @property
    def hold_cause(self) -> HoldCause | None:
        """Why deletions are held; None if none is. The guard's hold includes changed rows."""
        if self.verdict.held:
            return HoldCause.GUARD
        return HoldCause.CHANGED_ROWS if self.held else None

    def held_deletions(self, hub: LynqHub) -> HeldDeletions | None:
        """Return status.heldDeletions of the hub; None if no deletion is held."""
        return held_deletions(self.held, spent_approvals(hub.status.deletion_guard))

    def held_message(self, hub: LynqHub, *, source_changed: bool = False) -> str:
        """Return the message of DeletionHeld; empty if no deletion is held."""
        cause = self.hold_cause
        if cause is None:
            return ""
        if cause is HoldCause.CHANGED_ROWS:
            spent = spent_approvals(hub.status.deletion_guard)
            unclear = self.absent.unclear
            return changed_message(self.held, unclear, self.screened.unidentifiable, spent)
        return held_message(self.verdict, hub.spec.deletion_guard, source_changed=source_changed)

    @property
    def guarded(self) -> frozenset[str]:
        """The nodes that are deleted only with an approval."""
        return self.absent.changed.union(self.verdict.guarded)


Forms: TypeAlias = Mapping[str, FormCandidate]
Nodes: TypeAlias = Mapping[str, LynqNode]


def plan_without_rows(inputs: PlanInputs, now: datetime) -> HubPlan:
    """Return the plan of a hub whose rows are unknown: it only deletes nodes of deleted forms.

    Deleting a form is explicit, and is carried out while the source cannot be read.
    """
    present = {candidate.name for candidate in inputs.forms if _belongs(candidate.form, inputs.hub)}
    unknown = replace(inputs, rows=None, unreadable_forms={*inputs.unreadable_forms, *present})
    plan = plan_hub(unknown, now)
    deletes = [deletion for deletion in plan.deletes if deletion.cause is DeletionCause.FORM_GONE]
    return replace(plan, deletes=tuple(deletes), approval=NO_APPROVAL)


def plan_hub(inputs: PlanInputs, now: datetime) -> HubPlan:
    """Return the writes that bring the hub's nodes in line with its rows and forms."""
    hub = inputs.hub
    forms = {
        candidate.name: candidate for candidate in inputs.forms if _belongs(candidate.form, hub)
    }
    # The nodes of a protected form that is being deleted are left unchanged.
    blocked = {candidate.name for candidate in inputs.forms if is_deletion_blocked(candidate.form)}
    existing = {node.metadata.name: node for node in inputs.nodes}
    rows = [RowValues.of(row) for row in inputs.rows or ()]
    screened = _screen(rows, forms, existing, inputs.other_nodes)
    frozen = _frozen(hub, forms, existing) | frozenset(inputs.unreadable_forms) | blocked
    deletions = choose_deletions(
        hub,
        existing,
        screened,
        forms=forms,
        frozen=frozen,
        source_changed=inputs.source_changed,
        no_active_row=inputs.rows is not None and not _has_active_row(rows, inputs.observation),
        observation=inputs.observation,
        memory=GuardMemory(inputs.last_approval, inputs.last_held, inputs.deletion_window),
        now=now,
    )
    # An invalid form is not rolled out: its nodes stay unchanged, and new rows wait.
    active = {
        name: candidate
        for name, candidate in forms.items()
        if candidate.valid and name not in frozen
    }
    form_plans = [
        _plan_form(form, desired, existing, inputs, now)
        for form, desired in _desired(inputs, active, screened)
    ]
    return _assemble(existing, screened, deletions, form_plans)


@dataclass(frozen=True, slots=True)
class _FormPlan:
    """The differences of one form's nodes, and the writes that are admitted."""

    differences: NodeDifferences
    admitted: AdmittedWrites
    row_changes: Mapping[str, datetime]
    """The changes of rows that no admitted write reflects."""

    @property
    def failures(self) -> dict[str, RenderFailure]:
        """The nodes that could not be rendered, by name."""
        return {**self.differences.failures, **self.admitted.failures}


def _plan_form(
    form: LynqForm,
    desired: Mapping[str, DesiredNode],
    existing: Nodes,
    inputs: PlanInputs,
    now: datetime,
) -> _FormPlan:
    differences = find_differences(desired, existing, inputs.checked_specs, now)
    changes = {
        name: inputs.row_changes.get(name) or inputs.rows_changed_at or now
        for name in differences.changed_rows
    }
    admitted = admit_writes(
        form,
        differences.pending,
        changes,
        _of_form(existing, form.metadata.name),
        workloads_ready=inputs.workloads_ready,
        now=now,
    )
    written = {write.name for write in admitted.writes}
    waiting = {name: time for name, time in changes.items() if name not in written}
    return _FormPlan(differences, admitted, waiting)


def _has_active_row(rows: Iterable[RowValues], observation: Observation) -> bool:
    return bool(observation.settled_uids) or any(row.is_active for row in rows)


def _belongs(form: LynqForm, hub: LynqHub) -> bool:
    return form.spec.hub_id == hub.metadata.name and not is_deleting(form)


def _screen(
    rows: Sequence[RowValues], forms: Forms, existing: Nodes, other_nodes: Mapping[str, NodePair]
) -> ScreenedRows[RowValues]:
    pairs = {name: pair for name, node in existing.items() if (pair := pair_of(node))}
    # Only rows that share a uid are distinguished by the values in their nodes.
    shared = {uid for uid, count in Counter(row.uid for row in rows).items() if count > 1}
    reflected: dict[str, set[bytes]] = {}
    for name, (uid, _) in pairs.items():
        if uid in shared:
            digest = RowValues.reflected_by(existing[name], uid).digest
            reflected.setdefault(uid, set()).add(digest)
    owners = {**other_nodes, **pairs}
    return screen_rows(rows, forms, ExistingNodes(owners=owners, reflected=reflected))


def _frozen(hub: LynqHub, forms: Forms, existing: Nodes) -> frozenset[str]:
    """Return the paused forms; if the hub is paused, all forms, including deleted ones."""
    if hub.spec.paused:
        referenced = (pair.form for node in existing.values() if (pair := pair_of(node)))
        return frozenset((*forms, *referenced))
    return frozenset(name for name, candidate in forms.items() if candidate.form.spec.paused)


def _desired(
    inputs: PlanInputs, forms: Forms, screened: ScreenedRows[RowValues]
) -> Iterator[tuple[LynqForm, Mapping[str, DesiredNode]]]:
    """Yield the forms in the order of their names, each with its desired nodes by name."""
    rows: dict[str, dict[str, RowValues]] = {name: {} for name in sorted(forms)}
    for name, (uid, form) in screened.nodes.items():
        if form in forms:
            rows[form][name] = screened.rows[uid]
    shares = inputs.render_budget.share({form: len(values) for form, values in rows.items()})
    for (form, values), renders in zip(rows.items(), shares, strict=True):
        candidate = forms[form]
        yield (
            candidate.form,
            {
                name: DesiredNode(
                    inputs.hub, candidate.form, row, inputs.key, candidate.refused, renders
                )
                for name, row in values.items()
            },
        )


def _of_form(existing: Nodes, form: str) -> list[LynqNode]:
    # The suffix of the name is compared first: it is cheap, and excludes most other nodes.
    return [
        node
        for name, node in existing.items()
        if name.endswith(f"-{form}") and not is_deleting(node) and _is_of(node, form)
    ]


def _is_of(node: LynqNode, form: str) -> bool:
    pair = pair_of(node)
    return pair is not None and pair.form == form


def _assemble(
    existing: Nodes,
    screened: ScreenedRows[RowValues],
    deletions: NodeDeletions,
    form_plans: Sequence[_FormPlan],
) -> HubPlan:
    admitted = [form_plan.admitted for form_plan in form_plans]
    creates, updates = _by_kind(write for part in admitted for write in part.writes)
    failures = _merged(form_plan.failures for form_plan in form_plans)
    rejected = {name for name, node in existing.items() if pair_of(node) in screened.rejected_pairs}
    unrendered = failures.keys() & existing.keys()
    return HubPlan(
        creates=creates,
        updates=(*updates, *_signatures(form_plans)),
        deletes=deletions.deletes,
        throttled=tuple(part.throttle for part in admitted if part.throttle),
        failures=tuple(failures.values()),
        verdict=deletions.verdict,
        screened=screened,
        kept=frozenset(rejected | unrendered),
        missing=screened.missing - len(rejected) + len(failures) - len(unrendered),
        checked_specs=_merged(form_plan.differences.checked_specs for form_plan in form_plans),
        row_changes=_merged(form_plan.row_changes for form_plan in form_plans),
        recheck_at=_earliest(part.recheck_at for part in admitted),
        approval=deletions.approval,
        absent=deletions.absent,
        protected=deletions.protected,
    )


def _signatures(form_plans: Sequence[_FormPlan]) -> Iterator[NodeUpdate]:
    for form_plan in form_plans:
        yield from form_plan.differences.signatures


def _by_kind(
    writes: Iterable[NodeWrite],
) -> tuple[tuple[NodeCreation, ...], tuple[NodeUpdate, ...]]:
    creates: list[NodeCreation] = []
    updates: list[NodeUpdate] = []
    for write in writes:
        if isinstance(write, NodeCreation):
            creates.append(write)
        else:
            updates.append(write)
    return tuple(creates), tuple(updates)


def _merged(parts: Iterable[Mapping[str, T]]) -> dict[str, T]:
    return {name: value for part in parts for name, value in part.items()}


def _earliest(moments: Iterable[datetime | None]) -> datetime | None:
    return min((moment for moment in moments if moment), default=None)
