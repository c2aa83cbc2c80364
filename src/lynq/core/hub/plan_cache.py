"""Plans only what has changed since the last plan of a hub.

A plan of ten thousand unchanged rows finds nothing to do and costs half a second. The cache has
what the last plan has seen: rows by uid, nodes by name, and which nodes are up to date. A row is
planned again if it changed, or if a node of it changed. These rows and their nodes are planned by
`plan_hub` itself, as if the hub had no others.

A write that was planned and whose node has not changed since was not sent yet, or was rejected. It
is part of the next plan as it is: ten thousand new nodes take minutes, and to render them again in
each sync would cost more than to create them. A write that was accepted changes its node.

That is the same as a plan of all rows only where rows do not affect each other. So the cache is
made only from a plan without such effects, and its result is dropped if it has one; then all rows
are planned:

- a row is missing or rejected, two rows have one uid, or a name is taken;
- a node is deleted or held, or a row or form is absent: deletions are always decided by a
  plan of all rows;
- a node cannot be rendered, or is written under maxSkew, which counts the other nodes of the form;
- the hub, a form or the key has changed; a form is paused, invalid or unreadable; the source has
  changed; an approval is requested.

From time to time both plans are made and compared (`lynq.core.hub.plan_check`). A difference is a
bug of this module.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, Protocol, TypeVar, runtime_checkable

from lynq.api import LynqHub, LynqNode
from lynq.api.installation_key import KeyState
from lynq.api.naming import NodePair, node_name
from lynq.api.node_metadata import is_deleting, is_superseded
from lynq.core.guard.absence import Absences
from lynq.core.guard.approval import NO_APPROVAL
from lynq.core.guard.hold import HoldCause
from lynq.core.hub.diff import CheckedSpec, NodeCreation, NodeUpdate, NodeWrite
from lynq.core.hub.plan import FormCandidate, HubPlan, PlanInputs, plan_hub
from lynq.core.hub.row_values import RowLike

T = TypeVar("T")

_CHECK_EVERY: Final = 20
"""Number of plans of changes after which all rows are planned as well, at the next full read."""
_CHECK_AFTER: Final = timedelta(minutes=10)
"""Time after which all rows are planned as well."""
_END_OF_TIME: Final = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)


class _FormVersion(NamedTuple):
    uid: str
    generation: int
    valid: bool
    refused: Mapping[str, str]

    @classmethod
    def of(cls, candidate: FormCandidate) -> "_FormVersion":
        metadata = candidate.form.metadata
        return cls(metadata.uid, metadata.generation, candidate.valid, candidate.refused)


class _Inputs(NamedTuple):
    """The inputs of a plan that affect all rows."""

    hub_uid: str
    hub_generation: int
    forms: Mapping[str, _FormVersion]
    key: KeyState

    @classmethod
    def of(cls, inputs: PlanInputs) -> "_Inputs":
        metadata = inputs.hub.metadata
        forms = {candidate.name: _FormVersion.of(candidate) for candidate in inputs.forms}
        return cls(metadata.uid, metadata.generation, forms, inputs.key)


@runtime_checkable
class RowIndex(Protocol):
    """Rows that can be found by their uid."""

    def with_uid(self, uid: str) -> Sequence[RowLike]:
        """Return the rows with this uid."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What may have changed since the last plan."""

    uids: frozenset[str] | None = None
    """The uids of the rows; None: all rows are compared."""
    names: Collection[str] = ()
    """The names of the nodes of the namespace. A name that has no node below was deleted."""
    nodes: Mapping[str, LynqNode] = field(default_factory=dict)
    """Those that are the hub's."""
    other_nodes: Mapping[str, NodePair] = field(default_factory=dict)
    """Those that are not the hub's."""


@dataclass(frozen=True, slots=True)
class _ChangedRows:
    uids: set[str]
    by_uid: dict[str, RowLike]
    """All rows, or only the changed ones."""


@dataclass(frozen=True, slots=True)
class ChangesPlan:
    """The plan of a hub's changes."""

    plan: HubPlan
    """Its rows, nodes and checked specs are those of the changes only. Its writes are all."""
    changes: Changes
    rows: _ChangedRows
    planned: Collection[str]
    """The names of the nodes that the plan has considered."""
    carried: Collection[str]
    """The names of the nodes whose writes are those of an earlier plan."""
    unsettled: frozenset[str]


@dataclass(slots=True)
class PlanCache:
    """What the last plan of a hub has seen, all of which is as desired except for its writes."""

    inputs: _Inputs
    rows: dict[str, RowLike]
    """By uid."""
    nodes: dict[str, LynqNode]
    """The hub's nodes by name."""
    other_nodes: dict[str, NodePair]
    pairs: dict[str, NodePair]
    """The desired nodes by name."""
    checked_specs: dict[str, CheckedSpec]
    live: int
    """Number of the hub's nodes that are not being deleted."""
    pending: dict[str, NodeWrite]
    """The writes of the last plan by the name of the node, except those under maxSkew."""
    unsettled: frozenset[str]
    """The uids of rows that are planned again: written under maxSkew, or dependent on the time."""
    full_plan_at: datetime
    """When all rows were planned."""
    plans: int = 0
    """Number of plans since then."""
    is_wrong: bool = False
    """Whether a plan of all rows has found a difference."""

    @classmethod
    def of(cls, inputs: PlanInputs, plan: HubPlan, now: datetime) -> "PlanCache | None":
        """Return the cache after a plan of all rows; None if its rows affect each other."""
        if not _allows_changes(inputs) or not _is_settled(plan):
            return None
        listed = list(inputs.rows or ())
        rows = {row.uid or "": row for row in listed}
        nodes = {node.metadata.name: node for node in inputs.nodes}
        pairs = dict(plan.screened.nodes)
        if len(rows) != len(listed) or not nodes.keys() <= pairs.keys():
            return None
        limited = _limited_forms(inputs.forms)
        writes = _node_writes(plan)
        counted = {write.pair.uid for write in writes if write.pair.form in limited}
        return cls(
            inputs=_Inputs.of(inputs),
            rows=rows,
            nodes=nodes,
            other_nodes=dict(inputs.other_nodes),
            pairs=pairs,
            checked_specs=dict(plan.checked_specs),
            live=_live(nodes.values()),
            pending={write.name: write for write in writes if write.pair.form not in limited},
            unsettled=_dated(plan, nodes).union(counted),
            full_plan_at=now,
        )

    def must_check(self, changes: Changes, now: datetime) -> bool:
        """Return whether the plan of these changes has to be compared with a plan of all rows.

        Not for a row that the source names, and not while nodes are written, which a plan of all
        rows renders again; unless the last such plan is long ago.
        """
        if abs(now - self.full_plan_at) >= _CHECK_AFTER:
            return True
        return changes.uids is None and self.plans + 1 >= _CHECK_EVERY and not self.pending

    def record_check(self, now: datetime) -> None:
        """Record that a plan is compared with a plan of all rows."""
        self.full_plan_at, self.plans = now, 0

    def plan_changes(
        self, inputs: PlanInputs, changes: Changes, now: datetime, *, carries_over: bool = True
    ) -> ChangesPlan | None:
        """Return the plan of what has changed; None if all rows have to be planned.

        The nodes in the inputs are ignored. The cache is not changed. Without `carries_over`, the
        pending writes are planned again: the result is that of a plan of all rows at this time.
        """
        forms = self.inputs.forms
        if self.is_wrong or _Inputs.of(inputs) != self.inputs or not _allows_changes(inputs):
            return None
        rows = self._changed_rows(inputs.rows or (), changes.uids)
        if rows is None:
            return None
        touched = (self.pairs[name].uid for name in changes.names if name in self.pairs)
        again = () if carries_over else (write.pair.uid for write in self.pending.values())
        uids = rows.uids.union(self.unsettled, touched, again)
        names = {node_name(NodePair(uid, form)) for uid in uids for form in forms}
        # A name of two pairs is rejected by a plan that has both.
        is_shared = any(self.pairs[name].uid not in uids for name in names & self.pairs.keys())
        if is_shared or not names.issuperset(changes.nodes):
            return None
        nodes = {name: node for name in names if (node := self._node(name, changes))}
        others = {name: pair for name in names if (pair := self._other_node(name, changes))}
        observation = replace(
            inputs.observation,
            settled_uids=self.rows.keys(),
            settled_nodes=self._live_after(changes) - _live(nodes.values()),
        )
        plan = plan_hub(
            replace(
                inputs,
                rows=[rows.by_uid.get(uid) or self.rows[uid] for uid in sorted(uids)],
                nodes=nodes.values(),
                other_nodes=others,
                checked_specs=self.checked_specs,
                observation=observation,
            ),
            now,
        )
        if not _is_settled(plan) or _writes_limited_form(plan, inputs.forms):
            return None
        added = sum(uid not in self.rows for uid in rows.uids)
        desired = (len(self.rows) + added) * len(forms)
        carried = [write for name, write in self.pending.items() if name not in names]
        plan = replace(
            plan,
            # The changed rows first: the others fail, or wait for a long time anyway.
            creates=(*plan.creates, *(each for each in carried if isinstance(each, NodeCreation))),
            updates=(*plan.updates, *(each for each in carried if isinstance(each, NodeUpdate))),
            screened=replace(plan.screened, desired=desired),
        )
        carried_names = frozenset(write.name for write in carried)
        return ChangesPlan(plan, changes, rows, names, carried_names, _dated(plan, nodes))

    def update(self, planned: ChangesPlan) -> None:
        """Record a plan of changes."""
        plan, changes, rows = planned.plan, planned.changes, planned.rows
        self.live = self._live_after(changes)
        self.rows.update(rows.by_uid)
        for name in changes.names:
            _set(self.nodes, name, changes.nodes.get(name))
            _set(self.other_nodes, name, changes.other_nodes.get(name))
        for name in planned.planned:
            _set(self.checked_specs, name, plan.checked_specs.get(name))
        self.pairs.update(plan.screened.nodes)
        self.pending = {write.name: write for write in _node_writes(plan)}
        self.unsettled = planned.unsettled
        self.plans += 1

    def copy(self) -> "PlanCache":
        """Return a copy that later plans do not change."""
        return replace(
            self,
            rows=dict(self.rows),
            nodes=dict(self.nodes),
            other_nodes=dict(self.other_nodes),
            pairs=dict(self.pairs),
            checked_specs=dict(self.checked_specs),
        )

    def _changed_rows(
        self, rows: Iterable[RowLike], uids: frozenset[str] | None
    ) -> _ChangedRows | None:
        """Return the rows that differ; None if a row is missing, or a uid is not unique."""
        if uids is not None and not uids:
            return _ChangedRows(set(), {})
        if uids is not None and isinstance(rows, RowIndex):
            found = {uid: rows.with_uid(uid) for uid in uids}
            if any(len(found[uid]) != 1 and (found[uid] or uid in self.rows) for uid in uids):
                return None
            by_uid = {uid: with_uid[0] for uid, with_uid in found.items() if with_uid}
            return _ChangedRows(set(by_uid), by_uid)
        listed = list(rows)
        by_uid = {row.uid or "": row for row in listed}
        if len(by_uid) != len(listed) or not self.rows.keys() <= by_uid.keys():
            return None
        last = self.rows.get
        changed = {uid for uid, row in by_uid.items() if last(uid) != row}
        return _ChangedRows(changed, by_uid)

    def _node(self, name: str, changes: Changes) -> LynqNode | None:
        return (changes.nodes if name in changes.names else self.nodes).get(name)

    def _other_node(self, name: str, changes: Changes) -> NodePair | None:
        return (changes.other_nodes if name in changes.names else self.other_nodes).get(name)

    def _live_after(self, changes: Changes) -> int:
        before = [self.nodes[name] for name in changes.names if name in self.nodes]
        return self.live - _live(before) + _live(changes.nodes.values())


def plan_all(inputs: PlanInputs, now: datetime) -> tuple[HubPlan, PlanCache | None]:
    """Return the plan of all rows, and the cache for the next plan."""
    plan = plan_hub(inputs, now)
    return plan, PlanCache.of(inputs, plan, now)


def _node_writes(plan: HubPlan) -> tuple[NodeWrite, ...]:
    return (*plan.creates, *plan.updates)


def _allows_changes(inputs: PlanInputs) -> bool:
    """Return whether rows can be planned without the others, as far as the inputs show."""
    hub = inputs.hub
    return not (
        hub.spec.paused
        or inputs.unreadable_forms
        or inputs.source_changed
        or inputs.last_held
        or HoldCause.of(hub.status)
        or _has_absences(inputs.observation.last)
        or any(_leaves_nodes(candidate, hub) for candidate in inputs.forms)
    )


def _leaves_nodes(candidate: FormCandidate, hub: LynqHub) -> bool:
    """Return whether nodes of the form may exist that its rows do not desire."""
    form = candidate.form
    is_of_hub = form.spec.hub_id == hub.metadata.name
    return not candidate.valid or form.spec.paused or is_deleting(form) or not is_of_hub


def _is_settled(plan: HubPlan) -> bool:
    """Return whether no decision of the plan depends on more than one row."""
    return not (
        plan.deletes
        or plan.throttled
        or plan.failures
        or plan.screened.rejections
        or plan.verdict.names
        or plan.approval != NO_APPROVAL
        or _has_absences(plan.absent.absences)
    )


def _has_absences(absences: Absences) -> bool:
    return bool(
        absences.rows_missing_since
        or absences.forms_missing_since
        or absences.unidentifiable
        or absences.changed
    )


def _limited_forms(forms: Iterable[FormCandidate]) -> set[str]:
    return {
        candidate.name
        for candidate in forms
        if candidate.form.spec.rollout and candidate.form.spec.rollout.max_skew
    }


def _writes_limited_form(plan: HubPlan, forms: Iterable[FormCandidate]) -> bool:
    limited = _limited_forms(forms)
    return any(write.pair.form in limited for write in _node_writes(plan))


def _dated(plan: HubPlan, nodes: Mapping[str, LynqNode]) -> frozenset[str]:
    # A time in the future is ignored until then.
    return frozenset(
        plan.screened.nodes[name].uid
        for name, node in nodes.items()
        if is_superseded(node, _END_OF_TIME)
    )


def _live(nodes: Iterable[LynqNode]) -> int:
    return sum(not is_deleting(node) for node in nodes)


def _set(mapping: dict[str, T], name: str, value: T | None) -> None:
    if value is None:
        mapping.pop(name, None)
    else:
        mapping[name] = value
