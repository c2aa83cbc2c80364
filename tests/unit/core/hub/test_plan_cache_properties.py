"""A plan of changes equals a plan of all rows, for random sequences of changes."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from lynq.api import LynqForm, LynqHub
from lynq.api.installation_key import NO_KEY, InstallationKey, KeyState
from lynq.api.names import (
    ANNOTATION_APPROVE_DELETION,
    ANNOTATION_ROLLOUT_UPDATE_START,
    ANNOTATION_ROW_CHANGED_AT,
    ANNOTATION_SIGNATURE,
)
from lynq.api.naming import NodePair
from lynq.api.node_metadata import pair_or_spec
from lynq.core.guard.absence import NO_ABSENCES, Absences, ReadTime
from lynq.core.guard.approval import NO_APPROVAL, Approval
from lynq.core.hub.diff import CheckedSpecs, NodeCreation, NodeWrite
from lynq.core.hub.plan import FormCandidate, HubPlan, PlanInputs, plan_hub
from lynq.core.hub.plan_cache import Changes, ChangesPlan, PlanCache
from lynq.core.hub.plan_check import PlanCheck, differing_nodes
from lynq.core.hub.prune import Observation
from unit.core.hub.fixtures import NOON, ARow, Cluster, a_form, a_hub, resource

UIDS = ("a", "a-b", "acme", "beta", "corp", "Spoilt", "")
FORMS = ("web", "c", "b-c")
KEYS = (NO_KEY, InstallationKey(b"k" * 32))


class IndexedRows(list[ARow]):
    """Rows as a targeted read returns them."""

    def with_uid(self, uid: str) -> list[ARow]:
        return [row for row in self if row.uid == uid]


@dataclass
class World:
    """A hub over time; a change of it is one method without a result."""

    rows: dict[str, list[ARow]] = field(default_factory=dict)
    forms: dict[str, LynqForm] = field(default_factory=dict)
    cluster: Cluster = field(default_factory=Cluster)
    others: dict[str, NodePair] = field(default_factory=dict)
    hub: LynqHub = field(default_factory=a_hub)
    key: KeyState = NO_KEY
    now: datetime = NOON
    inactive: frozenset[str] = frozenset()
    pushes: bool = False

    # Remembered between two plans, as the controller does.
    cache: PlanCache | None = None
    checked: CheckedSpecs = field(default_factory=dict)
    approval: Approval = NO_APPROVAL
    held: bool = False
    absences: Absences = NO_ABSENCES
    row_changes: Mapping[str, datetime] = field(default_factory=dict)
    planned_rows: dict[str, list[ARow]] = field(default_factory=dict)
    planned_nodes: dict[str, Any] = field(default_factory=dict)
    planned_others: dict[str, NodePair] = field(default_factory=dict)

    def set_row(self, uid: str, plan: str, copies: int) -> None:
        self.rows[uid] = [
            ARow(uid, {"plan": plan if n == 0 else f"{plan}{n}"}) for n in range(copies)
        ]

    def remove_row(self, uid: str) -> None:
        self.rows.pop(uid, None)

    def set_form(self, name: str, max_skew: int, *, paused: bool, fails: bool) -> None:
        generation = self.forms[name].metadata.generation + 1 if name in self.forms else 1
        template = '{{ fail "no" }}' if fails else f"{{{{ .uid }}}}-{generation}"
        self.forms[name] = a_form(
            name,
            resource(name_template=template),
            generation=generation,
            max_skew=max_skew,
            paused=paused,
        )

    def remove_form(self, name: str) -> None:
        self.forms.pop(name, None)

    def edit_node(self, index: int, edit: str) -> None:
        if not self.cluster.nodes:
            return
        name = sorted(self.cluster.nodes)[index % len(self.cluster.nodes)]
        node = self.cluster.nodes[name]
        metadata = node.metadata
        match edit:
            case "delete":
                del self.cluster.nodes[name]
            case "deleting":
                self.cluster.edit(name, deletion_timestamp=self.now)
            case "label":
                self.cluster.edit(name, labels={})
            case "annotations":
                self.cluster.edit(name, annotations={})
            case "pause":
                paused = metadata.annotations | {"lynq.sh/paused": "true"}
                self.cluster.edit(name, annotations=paused)
            case "protect":
                protected = metadata.annotations | {"lynq.sh/protect": "true"}
                self.cluster.edit(name, annotations=protected)
            case "spec":
                spec = replace(node.spec, config_maps=())
                generation = metadata.generation + 1
                self.cluster.nodes[name] = replace(
                    node, spec=spec, metadata=replace(metadata, generation=generation)
                )
            case "status":
                future = (self.now + timedelta(minutes=5)).isoformat().replace("+00:00", "Z")
                status = replace(node.status, observed_update_start=future)
                self.cluster.nodes[name] = replace(node, status=status)

    def toggle_other(self, name: str) -> None:
        if name in self.others:
            del self.others[name]
        elif name not in self.cluster.nodes:
            uid, form = name.rsplit("-", 1)
            self.others[name] = NodePair(uid, form)

    def approve(self, digest: str) -> None:
        annotations = {ANNOTATION_APPROVE_DELETION: digest} if digest else {}
        self.hub = replace(self.hub, metadata=replace(self.hub.metadata, annotations=annotations))

    def change_hub(self) -> None:
        metadata = replace(self.hub.metadata, generation=self.hub.metadata.generation + 1)
        self.hub = replace(self.hub, metadata=metadata)

    def change_key(self, index: int) -> None:
        self.key = KEYS[index]

    def set_inactive(self, uid: str) -> None:
        self.inactive ^= {uid}

    def settle(self) -> None:
        self.cluster.settle(self.now)

    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    def push(self) -> None:
        self.pushes = not self.pushes

    def inputs(self) -> PlanInputs:
        seconds = (self.now - NOON).total_seconds()
        return PlanInputs(
            hub=self.hub,
            forms=[FormCandidate(form) for form in self.forms.values()],
            rows=IndexedRows(row for rows in self.rows.values() for row in rows),
            nodes=list(self.cluster.nodes.values()),
            other_nodes=dict(self.others),
            checked_specs=self.checked,
            last_approval=self.approval,
            last_held=self.held,
            observation=Observation(
                source="db",
                read=ReadTime(seconds, seconds),
                now=seconds,
                inactive=self.inactive,
                tracked=frozenset(pair_or_spec(node).uid for node in self.cluster.nodes.values()),
                last=self.absences,
                confirm_after=5.0,
            ),
            rows_changed_at=self.now,
            row_changes=self.row_changes,
            key=self.key,
        )

    def changes(self) -> Changes:
        nodes, others = self.cluster.nodes, self.others
        names = {
            name
            for name in nodes.keys() | self.planned_nodes.keys()
            if nodes.get(name) is not self.planned_nodes.get(name)
        } | {
            name
            for name in others.keys() | self.planned_others.keys()
            if others.get(name) != self.planned_others.get(name)
        }
        uids = {
            uid
            for uid in self.rows.keys() | self.planned_rows.keys()
            if self.rows.get(uid) != self.planned_rows.get(uid)
        }
        return Changes(
            uids=frozenset(uids) if self.pushes else None,
            names=names,
            nodes={name: nodes[name] for name in names if name in nodes},
            other_nodes={name: others[name] for name in names if name in others},
        )

    def sync(self, written: int) -> None:
        """Plan both ways, compare, and send some of the writes."""
        inputs, changes = self.inputs(), self.changes()
        full = plan_hub(inputs, self.now)
        plan, cache = full, self.cache
        planned = cache and cache.plan_changes(inputs, changes, self.now)
        again = cache and cache.plan_changes(inputs, changes, self.now, carries_over=False)
        assert (planned is None) == (again is None)
        if cache and planned and again:
            plan = planned.plan
            self._compare(planned, again.plan, full)
            cache.update(planned)
            assert PlanCheck(again.plan, cache.copy(), inputs, self.now).differing_nodes() is None
            assert cache.pending.keys() == {write.name for write in writes_of(full)}
        else:
            self.cache = PlanCache.of(inputs, full, self.now)
        self.checked = full.checked_specs
        self.approval, self.held = full.approval, bool(full.verdict.held)
        self.absences, self.row_changes = full.absent.absences, full.row_changes
        self.planned_rows = dict(self.rows)
        self.planned_nodes = dict(self.cluster.nodes)
        self.planned_others = dict(self.others)
        self._apply(plan, written)

    def _compare(self, planned: ChangesPlan, again: HubPlan, full: HubPlan) -> None:
        """Compare with the plan of all rows, which has written each node at this time."""
        assert differing_nodes(again, full) == []
        assert summary(planned.plan) == summary(again) == summary(full)
        writes = {write.name: write for write in writes_of(planned.plan)}
        for write in writes_of(full):
            if write.name in planned.carried:
                assert undated(writes[write.name]) == undated(write)
            else:
                assert writes[write.name] == write

    def _apply(self, plan: HubPlan, written: int) -> None:
        sent = dataclasses.replace(
            plan,
            creates=tuple(
                creation for creation in plan.creates if creation.name not in self.others
            )[:written],
            updates=plan.updates[:written],
            deletes=plan.deletes[:written],
        )
        self.cluster.apply(sent)


def summary(plan: HubPlan) -> tuple[object, ...]:
    """Return what a plan decides besides its writes."""
    return (
        {write.name for write in plan.creates},
        {write.name for write in plan.updates},
        plan.throttled,
        plan.failures,
        plan.verdict,
        plan.kept,
        plan.missing,
        plan.row_changes,
        plan.recheck_at,
        plan.approval,
        plan.absent,
        plan.screened.rejections,
        plan.screened.desired,
        plan.screened.missing,
        plan.screened.unidentifiable,
    )


def writes_of(plan: HubPlan) -> tuple[NodeWrite, ...]:
    return (*plan.creates, *plan.updates)


def undated(write: NodeWrite) -> tuple[object, ...]:
    """Return what a write contains, except for its time."""
    node = write.node if isinstance(write, NodeCreation) else write.after
    metadata = node.metadata
    dated = {ANNOTATION_ROLLOUT_UPDATE_START, ANNOTATION_ROW_CHANGED_AT, ANNOTATION_SIGNATURE}
    annotations = {key: text for key, text in metadata.annotations.items() if key not in dated}
    before = None if isinstance(write, NodeCreation) else (write.before, write.cause)
    return write.pair, before, replace(node, metadata=replace(metadata, annotations=annotations))


uids = st.sampled_from(UIDS[:5])
forms = st.sampled_from(FORMS)
names = st.builds("{}-{}".format, uids, forms)
rarely = st.integers(0, 9).map(lambda number: number == 0)

EDITS = ("delete", "deleting", "label", "annotations", "pause", "protect", "spec", "status")
USUAL = st.one_of(
    st.tuples(st.just("set_row"), uids, st.sampled_from(("pro", "free")), st.just(1)),
    st.tuples(
        st.just("edit_node"),
        st.integers(0, 20),
        st.sampled_from(EDITS),
    ),
    st.tuples(st.just("settle")),
    st.tuples(st.just("wait"), st.sampled_from((1, 10, 400))),
    st.tuples(st.just("push")),
)
UNUSUAL = st.one_of(
    st.tuples(st.just("set_row"), st.sampled_from(UIDS), st.just("pro"), st.sampled_from((1, 2))),
    st.tuples(st.just("remove_row"), st.sampled_from(UIDS)),
    st.tuples(st.just("remove_form"), forms),
    st.tuples(st.just("toggle_other"), names),
    st.tuples(st.just("approve"), st.sampled_from(("", "0123456789abcdef"))),
    st.tuples(st.just("change_hub")),
    st.tuples(st.just("change_key"), st.integers(0, 1)),
    st.tuples(st.just("set_inactive"), uids),
)
FORM_CHANGES = st.builds(
    lambda name, max_skew, paused, fails: ("set_form", name, max_skew, paused, fails),
    forms,
    st.sampled_from((0, 0, 0, 1)),
    rarely,
    rarely,
)
STEPS = st.lists(
    st.tuples(
        st.lists(st.one_of(USUAL, USUAL, USUAL, UNUSUAL, FORM_CHANGES), max_size=3),
        st.sampled_from((0, 1, 100, 100, 100)),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=120, deadline=None)
@given(STEPS)
def test_plan_of_changes_equals_the_plan_of_all_rows(steps: list[Any]) -> None:
    world = World()
    world.set_form("web", 0, paused=False, fails=False)
    for uid in ("acme", "beta", "a"):
        world.set_row(uid, "pro", 1)
    world.sync(100)
    for changes, written in steps:
        for name, *arguments in changes:
            if name == "set_form":
                form, max_skew, paused, fails = arguments
                world.set_form(form, max_skew, paused=paused, fails=fails)
            else:
                getattr(world, name)(*arguments)
        world.sync(written)
