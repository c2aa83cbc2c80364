"""Rows that are changed in place: their nodes are held until the rows are back, or approved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lynq.api import DeletionGuard
from lynq.core.guard.hold import HoldCause
from lynq.core.hub.confirm import may_delete
from lynq.core.hub.status import is_urgent
from unit.core.hub.fixtures import DB, WEB, ARow, Cluster, planned, rows
from unit.core.hub.operator_process import operator

SPOILT = [ARow(None)]


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("count", [4, 24])
def test_hold_stays_when_the_spoilt_rows_are_deleted(count: int, *, is_restarted: bool) -> None:
    hub, uids = operator(100)
    held = hub.read([*SPOILT * count, *rows(*uids[count:])])
    assert (len(held.held), held.hold_cause) == (count, HoldCause.CHANGED_ROWS)
    if is_restarted:
        hub.restart()
    for _ in range(4):
        plan = hub.read(rows(*uids[count:]))
        assert (plan.deletes, plan.held) == ((), held.held)
    assert "identified no node were read when" in plan.held_message(hub.hub)
    back = hub.read(rows(*uids))
    assert (back.held, hub.hub.status.held_deletions) == ((), None)
    assert len(hub.cluster.nodes) == 100


@pytest.mark.parametrize("is_restarted", [False, True])
def test_hold_that_outlives_the_spoilt_rows_is_approved(*, is_restarted: bool) -> None:
    hub, uids = operator()
    hub.read([*SPOILT * 4, *rows(*uids[4:])])
    hub.read(rows(*uids[4:]))
    if is_restarted:
        hub.restart()
        hub.read(rows(*uids[4:]))
    hub.approve(hub.digest)
    plan = hub.read(rows(*uids[4:]))
    assert [deletion.pair.uid for deletion in plan.deletes] == uids[:4]
    assert plan.approval.is_spent(plan.guarded, plan.held, complete=True)
    assert hub.read(rows(*uids[4:])).held == ()


def test_row_that_is_back_leaves_the_hold() -> None:
    hub, uids = operator()
    hub.read([*SPOILT * 3, *rows(*uids[3:])])
    assert hub.read(rows(*uids[1:])).held == ("t000-web",)
    # From then on it is a row like any other.
    hub.read(rows(*uids))
    hub.read(rows(*uids[1:]))
    assert [deletion.name for deletion in hub.read(rows(*uids[1:])).deletes] == ["t000-web"]


@pytest.mark.parametrize("is_restarted", [False, True])
def test_removals_of_others_go_on_beside_a_hold(*, is_restarted: bool) -> None:
    hub, uids = operator()
    hub.read([*SPOILT, *rows(*uids[1:])])
    hub.read(rows(*uids[1:]))
    if is_restarted:
        hub.restart()
    hub.read(rows(*uids[2:]))
    plan = hub.read(rows(*uids[2:]))
    assert ([deletion.name for deletion in plan.deletes], plan.held) == (
        ["t001-web"],
        ("t000-web",),
    )
    # The status, which was written before, does not stop the deletion.
    assert may_delete(plan.deletes[0], plan, hub.hub, WEB)


def test_row_that_is_inactive_later_stays_held() -> None:
    hub, uids = operator()
    hub.read([*SPOILT, *rows(*uids[1:])])
    for _ in range(3):
        plan = hub.read(rows(*uids[1:]), inactive=uids[:1])
        assert (plan.deletes, plan.held) == ((), ("t000-web",))


@pytest.mark.parametrize(
    "annotation", [pytest.param("paused", id="paused"), pytest.param("protect", id="protected")]
)
def test_row_that_is_spoilt_while_its_node_is_not_deleted_is_held(annotation: str) -> None:
    hub, uids = operator()
    annotations = hub.cluster.nodes["t000-web"].metadata.annotations
    hub.cluster.edit("t000-web", annotations={**annotations, f"lynq.sh/{annotation}": "true"})
    assert hub.read([*SPOILT, *rows(*uids[1:])]).held == ("t000-web",)
    hub.read(rows(*uids[1:]))
    hub.cluster.edit("t000-web", annotations=annotations)
    for _ in range(3):
        plan = hub.read(rows(*uids[1:]))
        assert (plan.deletes, plan.held) == ((), ("t000-web",))


@pytest.mark.parametrize("annotation", ["paused", "protect"])
def test_bad_row_that_appears_later_is_not_that_of_a_node_that_is_not_deleted(
    annotation: str,
) -> None:
    hub, uids = operator()
    annotations = hub.cluster.nodes["t000-web"].metadata.annotations
    hub.cluster.edit("t000-web", annotations={**annotations, f"lynq.sh/{annotation}": "true"})
    hub.read(rows(*uids[1:]))
    assert hub.read([*SPOILT, *rows(*uids[1:])]).held == ()
    hub.cluster.edit("t000-web", annotations=annotations)
    hub.read([*SPOILT, *rows(*uids[1:])])
    assert [deletion.name for deletion in hub.read([*SPOILT, *rows(*uids[1:])]).deletes] == [
        "t000-web"
    ]


def test_pause_of_a_form_does_not_end_a_hold() -> None:
    hub, uids = operator()
    hub.read([*SPOILT, *rows(*uids[1:])])
    paused = replace(WEB, spec=replace(WEB.spec, paused=True))
    assert hub.read(rows(*uids[1:]), paused).held == ("t000-web",)
    for _ in range(3):
        assert hub.read(rows(*uids[1:])).held == ("t000-web",)


def test_form_that_is_replaced_does_not_end_a_hold() -> None:
    hub, uids = operator()
    hub.read([*SPOILT, *rows(*uids[1:])])
    other = replace(WEB, metadata=replace(WEB.metadata, name="other"))
    hub.read([], other, wait=1, unreadable_forms=["other"])
    hub.read(rows(*uids[1:]), WEB, wait=1)
    for _ in range(3):
        plan = hub.read(rows(*uids[1:]))
        assert (plan.deletes, plan.held) == ((), ("t000-web",))


def test_approved_node_that_is_paused_is_deleted_when_it_is_resumed() -> None:
    hub, uids = operator()
    annotations = hub.cluster.nodes["t000-web"].metadata.annotations
    hub.cluster.edit("t000-web", annotations={**annotations, "lynq.sh/paused": "true"})
    hub.read([*SPOILT * 2, *rows(*uids[2:])])
    hub.approve(hub.digest)
    plan = hub.read([*SPOILT * 2, *rows(*uids[2:])])
    assert [deletion.name for deletion in plan.deletes] == ["t001-web"]
    assert plan.approval.is_spent(plan.guarded, plan.held, complete=True)
    hub.approve("")
    assert hub.read([*SPOILT * 2, *rows(*uids[2:])]).held == ()
    hub.cluster.edit("t000-web", annotations=annotations)
    hub.read([*SPOILT * 2, *rows(*uids[2:])])
    plan = hub.read([*SPOILT * 2, *rows(*uids[2:])])
    assert [deletion.name for deletion in plan.deletes] == ["t000-web"]


def test_withdrawn_approval_holds_the_nodes_again() -> None:
    hub, uids = operator()
    hub.read([*SPOILT * 2, *rows(*uids[2:])])
    hub.read(rows(*uids[2:]))
    hub.approve(hub.digest)
    cluster, hub.cluster = hub.cluster, Cluster(hub.cluster.nodes.values())
    hub.read(rows(*uids[2:]))
    # Nothing was sent before the approval was withdrawn.
    hub.cluster = cluster
    hub.approve("")
    plan = hub.read(rows(*uids[2:]))
    assert (plan.deletes, plan.held) == ((), ("t000-web", "t001-web"))


def test_approval_of_the_changed_rows_releases_no_later_one() -> None:
    hub, uids = operator()
    hub.read([*SPOILT * 2, *rows(*uids[2:])])
    hub.approve(hub.digest)
    plan = hub.read([*SPOILT * 3, *rows(*uids[3:])])
    assert (plan.deletes, len(plan.held)) == ((), 3)


def unclear(*uids: str, text: str = "1\r") -> list[ARow]:
    return [ARow(uid, activate=text) for uid in uids]


@pytest.mark.parametrize("text", ["1\r", "true ", "Y", "On", "t", "TRue", "\t1"])
def test_row_with_an_unclear_activate_text_is_held(text: str) -> None:
    hub, uids = operator()
    table = [*unclear(uids[0], text=text), *rows(*uids[1:])]
    for _ in range(3):
        plan = hub.read(table)
        assert (plan.deletes, plan.updates, plan.held) == ((), (), ("t000-web",))
    assert plan.hold_cause is HoldCause.CHANGED_ROWS
    assert plan.held_message(hub.hub).startswith(
        "the rows of t000-web have an activate text that is neither yes nor no; no such node"
    )
    assert [rejection.reason for rejection in plan.screened.rejections] == ["InvalidActivate"]
    assert hub.read(rows(*uids)).held == ()


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("inactive", [False, True])
def test_unclear_row_that_is_deleted_or_inactive_later_stays_held(
    *, is_restarted: bool, inactive: bool
) -> None:
    hub, uids = operator()
    hub.read([*unclear(uids[0]), *rows(*uids[1:])])
    if is_restarted:
        hub.restart()
    for _ in range(3):
        plan = hub.read(rows(*uids[1:]), inactive=uids[:1] if inactive else ())
        assert (plan.deletes, plan.held) == ((), ("t000-web",))
    hub.approve(hub.digest)
    plan = hub.read(rows(*uids[1:]))
    assert [deletion.name for deletion in plan.deletes] == ["t000-web"]


def test_many_unclear_rows_are_no_hold_of_the_guard() -> None:
    hub, uids = operator()
    plan = hub.read([*unclear(*uids[:15]), *rows(*uids[15:])])
    assert (len(plan.held), plan.hold_cause) == (15, HoldCause.CHANGED_ROWS)
    # Removals of others go on.
    hub.read([*unclear(*uids[:15]), *rows(*uids[16:])])
    plan = hub.read([*unclear(*uids[:15]), *rows(*uids[16:])])
    assert [deletion.name for deletion in plan.deletes] == ["t015-web"]


def test_approved_node_of_an_unclear_row_is_deleted() -> None:
    hub, uids = operator()
    for name, key in (("t001-web", "paused"), ("t002-web", "protect")):
        annotations = hub.cluster.nodes[name].metadata.annotations
        hub.cluster.edit(name, annotations={**annotations, f"lynq.sh/{key}": "true"})
    table = [*unclear(*uids[:3]), *rows(*uids[3:])]
    hub.read(table)
    hub.approve(hub.digest)
    plan = hub.read(table)
    assert [deletion.name for deletion in plan.deletes] == ["t000-web"]
    assert may_delete(plan.deletes[0], plan, hub.hub, WEB)
    assert plan.approval.is_spent(plan.guarded, plan.held, complete=True)
    hub.approve("")
    assert hub.read(table).creates == ()


def test_row_without_an_activate_text_is_active() -> None:
    """A source returns no such row; `lynq plan` takes rows from nodes that may lack the text."""
    assert len(planned(Cluster(), [ARow("a", activate="")], WEB).creates) == 1


def test_unclear_row_without_node_gets_none() -> None:
    hub, uids = operator(2)
    plan = hub.read([*unclear("new"), *rows(*uids)])
    assert (plan.creates, plan.held, plan.missing) == ((), (), 1)


def test_unclear_row_of_a_form_that_is_replaced_stays_held() -> None:
    hub, uids = operator()
    hub.read([*unclear(uids[0]), *rows(*uids[1:])])
    hub.read([*unclear(uids[0]), *rows(*uids[1:])], DB, wait=1)
    hub.read(rows(*uids[1:]), WEB, wait=1)
    for _ in range(3):
        assert hub.read(rows(*uids[1:])).held == ("t000-web",)


def test_disabled_guard_keeps_the_node_of_an_unclear_row_while_it_is_there() -> None:
    hub, uids = operator()
    spec = replace(hub.hub.spec, deletion_guard=DeletionGuard(disabled=True))
    hub.hub = replace(hub.hub, spec=spec)
    table = [*unclear(uids[0]), *rows(*uids[1:])]
    assert [hub.read(table).deletes, hub.read(table).held] == [(), ()]
    hub.read(rows(*uids[1:]))
    assert len(hub.read(rows(*uids[1:])).deletes) == 1


def test_disabled_guard_ends_a_hold() -> None:
    hub, uids = operator()
    hub.read([*SPOILT, *rows(*uids[1:])])
    spec = replace(hub.hub.spec, deletion_guard=DeletionGuard(disabled=True))
    hub.hub = replace(hub.hub, spec=spec)
    plan = hub.read([*SPOILT, *rows(*uids[1:])])
    assert ([deletion.name for deletion in plan.deletes], plan.held) == (["t000-web"], ())
    assert may_delete(plan.deletes[0], plan, hub.hub, WEB)


def test_node_that_joins_a_hold_is_written_at_once() -> None:
    hub, uids = operator()
    first = hub.hub.status
    hub.read([*SPOILT, *rows(*uids[1:])])
    second = hub.hub.status
    hub.read([*SPOILT * 2, *rows(*uids[2:])])
    assert is_urgent(first, second)
    assert is_urgent(second, hub.hub.status)
    assert not is_urgent(second, replace(second, ready=7))


@pytest.mark.parametrize("count", [1, 25])
def test_plan_of_an_outdated_cache_deletes_no_node_that_the_status_holds(count: int) -> None:
    hub, uids = operator(100)
    outdated = hub.hub
    hub.read([*SPOILT * count, *rows(*uids[count:])])
    # A new leader does not know of the hold, and the spoilt rows are gone.
    plan = planned(hub.cluster, rows(*uids[count:]), WEB, hub=outdated)
    assert len(plan.deletes) == count
    assert not any(may_delete(deletion, plan, hub.hub, WEB) for deletion in plan.deletes)
    # It does not stop the removal of another node, if the plan knows the same hold.
    hub.read(rows(*uids[count:]))
    hub.read(rows(*uids[count + 1 :]))
    plan = hub.read(rows(*uids[count + 1 :]))
    assert [may_delete(deletion, plan, hub.hub, WEB) for deletion in plan.deletes] == [True]


def test_plan_that_holds_more_nodes_than_the_status_may_delete_others() -> None:
    hub, uids = operator()
    hub.read([*SPOILT, *rows(*uids[1:])])
    stored = hub.hub
    plan = hub.read([*SPOILT * 2, *rows(*uids[3:])], inactive=uids[2:3])
    assert plan.held == ("t000-web", "t001-web")
    assert [may_delete(deletion, plan, stored, WEB) for deletion in plan.deletes] == [True]


def test_status_without_names_stops_all_deletions() -> None:
    hub, uids = operator()
    hub.read([*SPOILT, *rows(*uids[1:])])
    status = replace(hub.hub.status, held_deletions=None)
    hub.read(rows(*uids[2:]))
    plan = hub.read(rows(*uids[2:]))
    assert [deletion.name for deletion in plan.deletes] == ["t001-web"]
    assert not may_delete(plan.deletes[0], plan, replace(hub.hub, status=status), WEB)


def test_node_of_an_unreadable_form_whose_row_is_active_is_not_held() -> None:
    hub, uids = operator()
    hub.cluster.apply(planned(hub.cluster, rows(*uids), WEB, DB, hub=hub.hub))
    hub.read(rows(*uids), WEB, DB)
    plan = hub.read([*SPOILT, *rows(*uids[1:])], WEB, unreadable_forms=["db"])
    assert plan.held == ("t000-db", "t000-web")


STATES = ("active", "missing", "inactive", "null", "upper", "overwritten", "unclear")
TABLES = st.lists(
    st.tuples(st.lists(st.sampled_from(STATES), min_size=4, max_size=4), st.booleans()), max_size=8
)


def row_of(uid: str, state: str) -> list[ARow]:
    changed = {"active": uid, "null": None, "upper": uid.upper(), "overwritten": "t009"}
    if state == "unclear":
        return unclear(uid)
    return [ARow(changed[state])] if state in changed else []


@given(TABLES)
def test_held_node_is_never_deleted_before_its_row_is_back(
    tables: list[tuple[list[str], bool]],
) -> None:
    hub, uids = operator(10)
    held: set[str] = set()
    for states, is_restarted in tables:
        tenants = dict(zip(uids[:4], states, strict=True))
        table = [row for uid, state in tenants.items() for row in row_of(uid, state)]
        if is_restarted:
            hub.restart()
        inactive = [uid for uid, state in tenants.items() if state == "inactive"]
        plan = hub.read([*table, *rows(*uids[4:])], inactive=inactive)
        back = {f"{uid}-web" for uid, state in tenants.items() if state == "active"}
        assert (held - back).isdisjoint(deletion.name for deletion in plan.deletes)
        assert held - back <= set(plan.held)
        held = set(plan.held)
