"""Rows that were selected by their uid: how they change the rows of the last complete read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import DeletionGuard
from lynq.api.node_metadata import pair_or_spec
from lynq.core.guard.absence import NO_ABSENCES, Absences, ReadTime
from lynq.core.hub.plan import HubPlan
from lynq.core.hub.prune import Observation
from lynq.core.hub.row_values import RowLike
from lynq.core.hub.selected_rows import (
    IndexedRows,
    SelectedRows,
    after_selected_read,
    differing_rows,
)
from lynq.core.hub.state import ReadRows, UserRequests
from unit.core.hub.fixtures import (
    NOON,
    WEB,
    ARow,
    Cluster,
    a_hub,
    at,
    deleted,
    planned,
    running,
)

HUB = a_hub(deletion_guard=DeletionGuard(max_count=1000))
CONFIRM_AFTER = 5.0


def row(uid: str | None, plan: str = "pro") -> ARow:
    return ARow(uid, {"plan": plan})


def complete(*rows: ARow, inactive: Iterable[str] = (), **fields: Any) -> ReadRows:
    requests = UserRequests.of(HUB)
    return ReadRows(
        IndexedRows(rows), "table", NOON, requests, inactive=frozenset(inactive), **fields
    )


def select(
    last: ReadRows, uids: Sequence[str], *rows: ARow, inactive: Iterable[str] = ()
) -> dict[str, RowLike] | None:
    differing = differing_rows(last, uids, SelectedRows(rows, frozenset(inactive), "table"))
    return None if differing is None else dict(differing)


LAST = complete(
    row("a"), row("b"), row("twice"), row("twice", "free"), row("both"), inactive=["both"]
)


def test_changed_and_new_rows_differ() -> None:
    changed, new = row("a", "free"), row("c")
    assert select(LAST, ["a", "b", "c"], changed, row("b"), new) == {"a": changed, "c": new}


def test_row_whose_activate_text_is_unclear_now_differs() -> None:
    unclear = ARow("a", activate="Y")
    assert select(LAST, ["a"], unclear) == {"a": unclear}


def test_equal_rows_do_not_differ() -> None:
    assert select(LAST, ["a", "b"], row("b"), row("a")) == {}
    assert select(LAST, ["both"], row("both"), inactive=["both"]) == {}


def test_rows_that_the_collation_equates_are_ignored() -> None:
    assert select(LAST, ["a"], row("a"), row("A"), row("a "), row(None)) == {}


def test_uid_that_has_no_active_row_before_or_now_changes_nothing() -> None:
    assert select(LAST, ["new"]) == {}
    assert select(LAST, ["new"], inactive=["new"]) == {}


@pytest.mark.parametrize(
    ("uids", "rows", "inactive"),
    [
        (["a"], (), ()),
        (["a"], (), ("a",)),
        (["a"], (row("a"),), ("a",)),
        (["a"], (row("A"),), ()),
        (["a"], (row("a"), row("a")), ()),
        (["new"], (row("new"), row("new", "free")), ()),
        (["new"], (row("new"),), ("new",)),
        (["twice"], (row("twice"),), ()),
        (["twice"], (row("twice"), row("twice", "free")), ()),
        (["both"], (row("both"),), ()),
        (["a", "b"], (row("a", "free"),), ()),
        ([""], (), ()),
        ([""], (row(None),), ()),
        ([""], (row(""),), ()),
    ],
)
def test_anything_else_is_in_doubt(
    uids: list[str], rows: tuple[ARow, ...], inactive: tuple[str, ...]
) -> None:
    assert select(LAST, uids, *rows, inactive=inactive) is None


def test_answer_of_another_source_is_in_doubt() -> None:
    answer = SelectedRows([row("a")], frozenset(), "another table")
    assert differing_rows(LAST, ["a"], answer) is None


def test_rows_without_a_uid_are_found_by_the_empty_one() -> None:
    rows = IndexedRows([row(None), row("a"), row("", "free")])
    assert rows.with_uid("") == (row(None), row("", "free"))


def test_rows_of_the_first_read_are_not_indexed_yet() -> None:
    last = replace(LAST, rows=[row("a"), row("b")])
    changed = select(last, ["a"], row("a", "free"))
    assert changed == {"a": row("a", "free")}
    merged = after_selected_read(last, changed, planned=last, changed_at=at(1))
    assert list(merged.rows) == [row("a", "free"), row("b")]


def test_merged_rows_keep_what_the_complete_read_proves() -> None:
    last = replace(LAST, time=ReadTime(1, 2))
    merged = after_selected_read(last, {"c": row("c")}, planned=last, changed_at=at(9))
    assert list(merged.rows) == [*LAST.rows, row("c")]
    assert (merged.time, merged.at, merged.identity) == (last.time, last.at, last.identity)
    assert (merged.requests, merged.inactive) == (last.requests, last.inactive)
    assert merged.changed_at == at(9)


def test_rows_changed_since_the_last_plan_are_named() -> None:
    first = after_selected_read(LAST, {"a": row("a", "x")}, planned=LAST, changed_at=at(1))
    assert first.changed == frozenset({"a"})
    unplanned = after_selected_read(first, {"b": row("b", "x")}, planned=LAST, changed_at=at(2))
    assert unplanned.changed == frozenset({"a", "b"})
    assert unplanned.changed_at == at(1)
    afterwards = after_selected_read(first, {"b": row("b", "x")}, planned=first, changed_at=at(2))
    assert afterwards.changed == frozenset({"b"})
    never_planned = after_selected_read(LAST, {"a": row("a", "x")}, planned=None, changed_at=at(1))
    assert never_planned.changed is None


UIDS = st.sampled_from("abcdef")


@given(
    st.lists(st.tuples(UIDS, st.sampled_from("xyz"))),
    st.lists(st.dictionaries(UIDS, st.sampled_from("xyz"))),
)
def test_merges_equal_those_of_a_plain_list(
    base: list[tuple[str, str]], merges: list[dict[str, str]]
) -> None:
    expected: list[RowLike] = [row(uid, plan) for uid, plan in base]
    actual = IndexedRows(tuple(expected))
    for merge in merges:
        before = list(actual)
        changes = {
            uid: row(uid, plan) for uid, plan in merge.items() if len(actual.with_uid(uid)) <= 1
        }
        merged = actual.merged(changes)
        assert list(actual) == before
        for uid, change in changes.items():
            positions = [at for at, known in enumerate(expected) if known.uid == uid]
            if positions:
                expected[positions[0]] = change
            else:
                expected.append(change)
        actual = merged
        assert list(actual) == expected
        assert len(actual) == len(expected)
        assert [actual[at] for at in range(len(expected))] == expected
        for uid in "abcdef":
            assert sorted(map(repr, actual.with_uid(uid))) == sorted(
                repr(known) for known in expected if known.uid == uid
            )


def test_many_merges_keep_all_rows() -> None:
    rows = IndexedRows([row(str(n)) for n in range(10)])
    for n in range(10_000):
        rows = rows.merged({str(n): row(str(n), "new")})
    assert len(rows) == 10_000
    assert rows.with_uid("9999") == (row("9999", "new"),)


@dataclass
class Observer:
    """A hub that plans after each of its reads, and creates nodes; it deletes none."""

    last: ReadRows | None = None
    absences: Absences = NO_ABSENCES
    cluster: Cluster = field(default_factory=lambda: running("a", "b", "c"))
    creates: bool = True

    def read(self, table: Iterable["TableRow"], time: float) -> set[str]:
        """Read all rows, and return the nodes that are deleted."""
        rows = [each for each in table if each.active]
        uids = {each.uid for each in table if not each.active and each.uid}
        tracked = frozenset(pair_or_spec(node).uid for node in self.cluster.nodes.values())
        self.last = complete(
            *(row(each.uid, each.plan) for each in rows),
            inactive=uids & tracked,
            tracked=tracked,
            time=ReadTime(time, time),
        )
        return self._plan(time)

    def select(
        self, table: Iterable["TableRow"], uids: Sequence[str], time: float
    ) -> set[str] | None:
        """Read some rows, and return the nodes that are deleted; None if all have to be read."""
        assert self.last
        answer = SelectedRows(
            [row(each.uid, each.plan) for each in table if each.active and each.uid in uids],
            frozenset(each.uid for each in table if not each.active and each.uid in uids),
            "table",
        )
        differing = differing_rows(self.last, uids, answer)
        if differing is None:
            return None
        self.last = after_selected_read(self.last, differing, planned=self.last, changed_at=NOON)
        return self._plan(time)

    def _plan(self, time: float) -> set[str]:
        plan = self.plan(time)
        self.absences = plan.absent.absences
        if self.creates:
            self.cluster.apply(replace(plan, updates=(), deletes=()))
        return set(deleted(plan))

    def plan(self, time: float) -> HubPlan:
        assert self.last
        observation = Observation(
            source=self.last.identity,
            read=self.last.time,
            now=time,
            inactive=self.last.inactive,
            tracked=self.last.tracked,
            last=self.absences,
            confirm_after=CONFIRM_AFTER,
        )
        return planned(self.cluster, self.last.rows, WEB, hub=HUB, observation=observation)  # type: ignore[arg-type]


@dataclass(frozen=True)
class TableRow:
    uid: str
    active: bool = True
    plan: str = "pro"


NAMES = st.sampled_from(["a", "b", "c", "A", "B", "d", ""])
ROWS = st.builds(TableRow, NAMES, st.booleans(), st.sampled_from(["pro", "free"]))
STEPS = st.one_of(
    st.tuples(st.just("insert"), ROWS),
    st.tuples(st.just("delete"), st.integers(0, 5)),
    st.tuples(st.just("update"), st.tuples(st.integers(0, 5), ROWS)),
    st.tuples(st.just("read"), st.sampled_from([0.5, 3.0, 6.0])),
    # Any notification: of rows that have changed or not, and not of all that have.
    st.tuples(st.just("select"), st.lists(NAMES, min_size=1, max_size=3, unique=True)),
)


def changed_table(table: list[TableRow], kind: str, argument: Any) -> None:
    if kind == "insert":
        table.append(argument)
    elif kind == "delete" and argument < len(table):
        del table[argument]
    elif kind == "update" and argument[0] < len(table):
        table[argument[0]] = argument[1]


@given(st.lists(STEPS, max_size=25))
def test_selected_reads_delete_nothing_that_complete_reads_alone_would_not(
    steps: list[tuple[str, Any]],
) -> None:
    """Two hubs make the same complete reads; one of them selects rows in between."""
    table = [TableRow("a"), TableRow("b"), TableRow("c")]
    pushed = Observer()
    # The nodes are the same ones, or the reads would track different rows.
    polling = Observer(cluster=pushed.cluster, creates=False)
    time = 10.0
    allowed = polling.read(table, time)
    assert pushed.read(table, time) <= allowed
    for kind, argument in steps:
        changed_table(table, kind, argument)
        time += argument if kind == "read" else 0.1
        is_read = kind == "read"
        if kind == "select":
            outcome = pushed.select(table, argument, time)
            assert outcome is None or outcome <= allowed
            is_read = outcome is None
        if is_read:
            allowed = polling.read(table, time)
            assert pushed.read(table, time) <= allowed


@dataclass(frozen=True)
class PastRead:
    """A complete read, as a model that has seen every row sees it."""

    time: float
    active: frozenset[str]
    inactive: frozenset[str]

    @classmethod
    def of(cls, table: Iterable[TableRow], time: float) -> "PastRead":
        rows = list(table)
        return cls(
            time,
            frozenset(each.uid for each in rows if each.active),
            frozenset(each.uid for each in rows if not each.active),
        )


def may_delete(uid: str, reads: Sequence[PastRead]) -> bool:
    """Return whether the row was deactivated, or is missing for long enough."""
    absent = list(takewhile(lambda read: uid not in read.active, reversed(reads)))
    if not absent:
        return False
    if reads[-1].time - absent[-1].time >= CONFIRM_AFTER:
        return True
    before = reads[: -len(absent)]
    is_inactive = all(uid in read.inactive for read in absent)
    return is_inactive and bool(before) and uid not in before[-1].inactive


ROWS_OF_UID = st.sampled_from([(), (True,), (False,), (False, True)])
"""Whether each row of one uid is active."""


@given(st.lists(st.tuples(ROWS_OF_UID, ROWS_OF_UID, st.sampled_from([0.5, 3.0]), st.booleans())))
def test_row_is_deleted_at_once_only_if_the_active_row_became_inactive(
    steps: list[tuple[tuple[bool, ...], tuple[bool, ...], float, bool]],
) -> None:
    hub, reads, time = Observer(), list[PastRead](), 10.0
    for known, new, pause, is_selected in steps:
        table = [TableRow("a", active) for active in known] + [TableRow("b"), TableRow("c")]
        table += [TableRow("d", active) for active in new]
        time += pause
        outcome = hub.select(table, ["a", "d"], time) if is_selected and reads else None
        if outcome is None:
            reads.append(PastRead.of(table, time))
            outcome = hub.read(table, time)
        assert all(may_delete(name.removesuffix("-web"), reads) for name in outcome)


def test_row_that_was_selected_beside_a_spoilt_uid_is_not_deleted() -> None:
    """The notification lacked the old uid, so its row seems to be there with the spoilt one."""
    hub = Observer()
    others = [TableRow("b"), TableRow("c")]
    hub.read([TableRow("a"), *others], 10)
    spoilt = [TableRow("A"), *others]
    assert hub.select(spoilt, ["A"], 11) == set()
    assert hub.read(spoilt, 12) == set()
    assert hub.read(spoilt, 60) == set()
    assert hub.plan(60).absent.changed == {"a-web"}


def test_selected_read_after_the_first_one_without_a_row_confirms_nothing() -> None:
    hub = Observer()
    hub.read([TableRow("a"), TableRow("b"), TableRow("c")], 10)
    without = [TableRow("b", plan="free"), TableRow("c")]
    hub.read(without, 20)
    changed = [TableRow("b", plan="team"), TableRow("c")]
    assert hub.select(changed, ["b"], 60) == set()
    assert hub.read(changed, 61) == {"a-web"}


def test_row_that_is_back_by_push_is_confirmed_again() -> None:
    hub = Observer()
    every = [TableRow("a"), TableRow("b"), TableRow("c")]
    hub.read(every, 10)
    hub.read(every[1:], 20)
    assert hub.select(every, ["a"], 22) == set()
    assert hub.read(every[1:], 26) == set()
    assert hub.read(every[1:], 31) == {"a-web"}
