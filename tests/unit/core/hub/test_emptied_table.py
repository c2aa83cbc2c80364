"""A read without any active row deletes no node of several tenants, whatever the limits."""

import pytest
from msgspec.structs import replace

from lynq.api import DeletionGuard
from lynq.core.guard.hold import HoldCause
from lynq.core.hub.plan import FormCandidate, PlanInputs, plan_without_rows
from lynq.core.hub.prune import Observation
from unit.core.hub.fixtures import (
    DB,
    NOON,
    WEB,
    ARow,
    Cluster,
    a_hub,
    an_unguarded_hub,
    deleted,
    planned,
    rows,
    running,
)
from unit.core.hub.operator_process import operator

HUB = a_hub(deletion_guard=DeletionGuard())
GENEROUS = a_hub(deletion_guard=DeletionGuard(max_count=100, max_percent=100))


@pytest.mark.parametrize("hub", [HUB, GENEROUS])
@pytest.mark.parametrize("count", [2, 8])
def test_emptied_table_deletes_nothing(count: int, hub: object) -> None:
    plan = planned(running(*"abcdefgh"[:count]), rows(), WEB, hub=hub)  # type: ignore[arg-type]
    assert (len(plan.held), plan.deletes, plan.hold_cause) == (count, (), HoldCause.GUARD)
    message = plan.held_message(HUB)
    assert message.startswith(
        f"the rows of {count} of {count} nodes have vanished, and no active row was read at all; "
    )
    assert message.endswith(plan.verdict.digest)


def test_last_tenant_is_deleted_without_approval() -> None:
    plan = planned(running("a"), rows(), WEB, hub=HUB)
    assert (list(deleted(plan)), plan.held) == (["a-web"], ())
    both = running("a")
    both.apply(planned(both, rows("a"), WEB, DB, hub=HUB))
    assert len(planned(both, rows(), WEB, DB, hub=HUB).deletes) == 2


def test_table_in_which_one_active_row_is_left_is_within_the_limits() -> None:
    assert len(planned(running(*"abcdefgh"), rows("a"), WEB, hub=HUB).deletes) == 7
    # A plan of changes has none of the rows that are as desired.
    settled = Observation(settled_uids={"z"})
    plan = planned(running("a", "b"), rows(), WEB, hub=HUB, observation=settled)
    assert len(plan.deletes) == 2


def test_disabled_guard_deletes_the_nodes_of_an_emptied_table() -> None:
    plan = planned(running("a", "b"), rows(), WEB, hub=an_unguarded_hub())
    assert len(plan.deletes) == 2


def test_tenant_that_is_being_deleted_does_not_count() -> None:
    cluster = running("a", "b")
    cluster.edit("b-web", deletion_timestamp=NOON)
    assert list(deleted(planned(cluster, rows(), WEB, hub=HUB))) == ["a-web"]


@pytest.mark.parametrize("is_restarted", [False, True])
def test_hold_of_an_emptied_table_ends_with_the_last_row(*, is_restarted: bool) -> None:
    hub, uids = operator(8)
    hub.read([])
    for uid in range(1, 8):
        if is_restarted:
            hub.restart()
        assert len(hub.read(rows(*uids[:uid])).held) == 8 - uid
    assert hub.read(rows(*uids)).held == ()
    assert len(hub.cluster.nodes) == 8


def test_unclear_row_is_no_active_one() -> None:
    hub, uids = operator(2)
    plan = hub.read([ARow(uids[0], activate="Y")])
    assert (plan.deletes, plan.hold_cause) == ((), HoldCause.GUARD)
    assert "no active row was read at all" in plan.held_message(hub.hub)


def test_deactivated_rows_are_held_like_missing_ones() -> None:
    hub, uids = operator(8)
    plan = hub.read([], inactive=uids)
    assert (plan.deletes, len(plan.held)) == ((), 8)


def test_emptied_table_is_approved() -> None:
    hub, uids = operator(8)
    hub.read([])
    hub.approve(hub.digest)
    plan = hub.read([])
    assert [deletion.pair.uid for deletion in plan.deletes] == uids
    assert plan.approval.is_spent(plan.guarded, plan.held, complete=True)


def test_tenants_that_are_paused_or_protected_count_and_are_held() -> None:
    hub, _ = operator(3)
    for name, key in (("t000-web", "paused"), ("t001-web", "protect")):
        annotations = hub.cluster.nodes[name].metadata.annotations
        hub.cluster.edit(name, annotations={**annotations, f"lynq.sh/{key}": "true"})
    assert len(hub.read([]).held) == 3


def test_table_that_was_emptied_while_a_form_was_paused_is_held_when_it_is_resumed() -> None:
    hub, uids = operator(8)
    hub.read([], replace(WEB, spec=replace(WEB.spec, paused=True)))
    hub.read(rows(*uids[1:]))
    plan = hub.read(rows(*uids[1:]))
    assert (plan.deletes, plan.held) == ((), ("t000-web",))


def test_nodes_of_a_deleted_form_are_deleted_beside_an_emptied_table() -> None:
    cluster = running("a", "b")
    plan = planned(cluster, rows(), DB, hub=HUB)
    assert (list(deleted(plan)), plan.held) == (["a-web", "b-web"], ())


def test_unknown_rows_are_no_emptied_table() -> None:
    nodes = Cluster(running("a", "b").nodes.values()).nodes.values()
    inputs = PlanInputs(hub=HUB, forms=[FormCandidate(WEB)], rows=None, nodes=nodes)
    plan = plan_without_rows(inputs, NOON)
    assert (plan.deletes, plan.held) == ((), ())
