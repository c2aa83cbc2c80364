"""What one sync does: rows × forms against the nodes that exist, in one answer.

The controller carries it out and `lynq plan` prints it. The order of steps is the order of safety:
bad rows are set apart first, so that nothing else sees them; removals ask the guard; then what
differs is found, and writes take turns under maxSkew.

A plan: everything that one sync does, and what it leaves as it is.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.naming import NodePair
from lynq.api.node_metadata import is_deleting, pair_of
from lynq.core.guard.deletion import GuardOutcome, GuardVerdict
from lynq.core.guard.row_screening import ExistingNodes, ScreenedRows, screen_rows
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.diff import (
    CheckedSpecs,
    NodeCreation,
    NodeDeletion,
    NodeDifferences,
    NodeUpdate,
    Throttle,
    find_differences,
)
from lynq.core.hub.prune import NodeDeletions, choose_deletions
from lynq.core.hub.rollout import AdmittedWrites, WorkloadsReady, admit_writes
from lynq.core.hub.row_values import RenderFailure, RowLike, RowValues


@dataclass(frozen=True, slots=True)
class FormCandidate:
    """A form, and whether its present generation may be rolled out."""

    form: LynqForm
    valid: bool = True

    @property
    def name(self) -> str:
        """What its nodes call it."""
        return self.form.metadata.name


@dataclass(frozen=True, slots=True)
class HubPlan:
    """What one sync does, and what it leaves."""

    creates: tuple[NodeCreation, ...]
    updates: tuple[NodeUpdate, ...]
    deletes: tuple[NodeDeletion, ...]
    throttled: tuple[Throttle, ...]
    """Per form: the nodes that wait for their turn."""
    failures: tuple[RenderFailure, ...]
    """Nodes that could not be rendered: not made, or left as they are."""
    verdict: GuardVerdict
    """What the deletion guard says."""
    judgement: ScreenedRows[RowValues]
    """The rows in use, and the rejected ones."""
    kept: frozenset[str]
    """Existing nodes that stay as they are because their row is rejected or cannot be rendered."""
    unmade: int
    """How many wanted nodes are not there, for the same two reasons."""
    marks: CheckedSpecs
    """To be handed to the next plan."""
    look_again: datetime | None
    """When a write may become possible by the passing of time; all else is told by events."""
    approved: frozenset[str]
    """The nodes that the hub's approval stands for, if it is known which; to be handed on too."""

    @property
    def held(self) -> tuple[str, ...]:
        """The nodes that wait for approval to be removed."""
        return self.verdict.names if self.verdict.outcome is GuardOutcome.HELD else ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.creates or self.updates or self.deletes)


Forms: TypeAlias = Mapping[str, FormCandidate]
Nodes: TypeAlias = Mapping[str, LynqNode]


def plan_hub(
    hub: LynqHub,
    forms: Iterable[FormCandidate],
    rows: Iterable[RowLike],
    nodes: Iterable[LynqNode],
    *,
    now: datetime,
    taken: Mapping[str, NodePair] | None = None,
    marks: CheckedSpecs | None = None,
    approved: frozenset[str] = frozenset(),
    unreadable: Collection[str] = (),
    source_changed: bool = False,
    workloads_ready: WorkloadsReady = lambda _: True,
) -> HubPlan:
    """Compare what a complete read of the rows wants with the hub's `nodes`.

    `taken` are the names of other hubs' nodes in the namespace. Without `marks` every node is
    compared with a fresh render; `approved` is what the last plan found the approval to stand for.
    Forms of other hubs, and those being deleted, are passed over.
    `unreadable` are forms that are there, but could not be decoded: their nodes stay as they are.
    """
    known = {each.name: each for each in forms if _belongs(each.form, hub)}
    existing = {node.metadata.name: node for node in nodes}
    judgement = _screen([RowValues.of(row) for row in rows], known, existing, taken or {})
    frozen = _frozen(hub, known, existing) | frozenset(unreadable)
    removals = choose_deletions(
        hub,
        existing,
        judgement,
        forms=known,
        frozen=frozen,
        source_changed=source_changed,
        approved=approved,
    )
    # An invalid form is not rolled out: its nodes keep what they have, and new rows wait.
    moving = {name: each for name, each in known.items() if each.valid and name not in frozen}
    rounds = []
    for form, wanted in _desired(hub, moving, judgement):
        found = find_differences(wanted, existing, marks or {}, now)
        its_nodes = _of_form(existing, form.metadata.name)
        turn = admit_writes(
            form, found.pending, its_nodes, workloads_ready=workloads_ready, now=now
        )
        rounds.append(_FormPlan(found, turn))
    return _assemble(existing, judgement, removals, rounds)


@dataclass(frozen=True, slots=True)
class _FormPlan:
    """What was found about one form's nodes, and what becomes of it."""

    found: NodeDifferences
    turn: AdmittedWrites


def _belongs(form: LynqForm, hub: LynqHub) -> bool:
    return form.spec.hub_id == hub.metadata.name and not is_deleting(form)


def _screen(
    rows: Sequence[RowValues], forms: Forms, existing: Nodes, taken: Mapping[str, NodePair]
) -> ScreenedRows[RowValues]:
    pairs = {name: pair for name, node in existing.items() if (pair := pair_of(node))}
    # Only rows that share a uid have to be told apart by what their nodes reflect.
    shared = {uid for uid, count in Counter(row.uid for row in rows).items() if count > 1}
    reflected: dict[str, set[bytes]] = {}
    for name, (uid, _) in pairs.items():
        if uid in shared:
            digest = RowValues.reflected_by(existing[name], uid).digest
            reflected.setdefault(uid, set()).add(digest)
    return screen_rows(rows, forms, ExistingNodes(owners={**taken, **pairs}, reflected=reflected))


def _frozen(hub: LynqHub, forms: Forms, existing: Nodes) -> frozenset[str]:
    """Return the forms whose nodes stay as they are; of a paused hub all, those gone included."""
    if hub.spec.paused:
        named = (pair.form for node in existing.values() if (pair := pair_of(node)))
        return frozenset((*forms, *named))
    return frozenset(name for name, each in forms.items() if each.form.spec.paused)


def _desired(
    hub: LynqHub, forms: Forms, judgement: ScreenedRows[RowValues]
) -> Iterable[tuple[LynqForm, Mapping[str, DesiredNode]]]:
    """Return the forms in the order of their names, each with its wanted nodes by name."""
    by_form: dict[str, dict[str, DesiredNode]] = {name: {} for name in sorted(forms)}
    for name, (uid, form) in judgement.nodes.items():
        if form in forms:
            by_form[form][name] = DesiredNode(hub, forms[form].form, judgement.rows[uid])
    return ((forms[name].form, wanted) for name, wanted in by_form.items())


def _of_form(existing: Nodes, form: str) -> list[LynqNode]:
    # By its name's end first: that is cheap, and most nodes are of other forms.
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
    judgement: ScreenedRows[RowValues],
    removals: NodeDeletions,
    rounds: Sequence[_FormPlan],
) -> HubPlan:
    writes = [write for each in rounds for write in each.turn.writes]
    failures = {
        name: failure
        for each in rounds
        for name, failure in {**each.found.failures, **each.turn.failures}.items()
    }
    rejected = {name for name, node in existing.items() if pair_of(node) in judgement.kept}
    unrendered = failures.keys() & existing.keys()
    moments = [each.turn.look_again for each in rounds if each.turn.look_again]
    return HubPlan(
        creates=tuple(each for each in writes if isinstance(each, NodeCreation)),
        updates=tuple(each for each in writes if isinstance(each, NodeUpdate)),
        deletes=removals.deletes,
        throttled=tuple(each.turn.throttle for each in rounds if each.turn.throttle),
        failures=tuple(failures.values()),
        verdict=removals.verdict,
        judgement=judgement,
        kept=frozenset(rejected | unrendered),
        unmade=judgement.missing - len(rejected) + len(failures) - len(unrendered),
        marks={name: mark for each in rounds for name, mark in each.found.marks.items()},
        look_again=min(moments, default=None),
        approved=removals.approved,
    )
