"""The deletions of one plan: guarded, approved, confirmed, or in doubt."""

import dataclasses
from datetime import timedelta

import pytest
from msgspec.structs import replace

from lynq.api import DeletionGuard, DeletionGuardStatus, DeletionPeriod, HubStatus
from lynq.api.conditions import new_condition
from lynq.api.naming import NodePair
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.core.guard.absence import NO_ABSENCES, Absences, ReadTime
from lynq.core.guard.approval import NO_APPROVAL, digest_of
from lynq.core.guard.hold import HoldCause
from lynq.core.hub.diff import DeletionCause
from lynq.core.hub.plan import FormCandidate, HubPlan, PlanInputs, plan_without_rows
from lynq.core.hub.prune import Observation
from unit.core.hub.fixtures import (
    DB,
    NOON,
    WEB,
    ARow,
    a_form,
    a_hub,
    an_unguarded_hub,
    at,
    deleted,
    planned,
    rows,
    running,
    synced,
)


def test_node_of_a_vanished_row_is_deleted() -> None:
    plan = planned(running("a", "b"), rows("a"), WEB)
    assert deleted(plan) == {"b-web": DeletionCause.ROW_GONE}
    assert plan.deletes[0].pair == NodePair("b", "web")


def test_nodes_of_a_deleted_form_are_deleted_unguarded() -> None:
    uids = [f"a{number}" for number in range(40)]
    guard = a_hub()
    cluster = running(*uids)
    plan = planned(cluster, rows(*uids), DB, hub=guard)
    assert set(deleted(plan).values()) == {DeletionCause.FORM_GONE}
    assert len(plan.deletes) == 40
    assert plan.held == ()


def test_nodes_of_a_deleted_form_do_not_raise_the_guards_limit() -> None:
    uids = [f"a{number}" for number in range(20)]
    cluster = running(*uids)
    cluster.apply(planned(cluster, rows(*uids), WEB, DB))
    hub = a_hub()
    plan = planned(cluster, rows(*uids[12:]), DB, hub=hub)
    assert len(plan.held) == 12


def test_mass_deletion_is_held_until_approved() -> None:
    uids = [f"a{number}" for number in range(20)]
    guard = DeletionGuard()
    held = planned(running(*uids), rows("a0"), WEB, hub=a_hub(deletion_guard=guard))
    assert (len(held.held), held.deletes) == (19, ())
    assert held.guarded == set(held.held)
    approved = a_hub(
        deletion_guard=guard, annotations={"lynq.sh/approve-deletion": held.verdict.digest}
    )
    assert len(planned(running(*uids), rows("a0"), WEB, hub=approved).deletes) == 19


def test_rest_of_an_approved_deletion_stays_approved_once_other_nodes_are_gone() -> None:
    uids = [f"a{number:02}" for number in range(60)]
    guarded = a_hub()
    digest = planned(running(*uids), rows(), WEB, hub=guarded).verdict.digest
    approval = {"lynq.sh/approve-deletion": digest}
    hub = a_hub(annotations=approval)
    first = planned(running(*uids), rows(), WEB, hub=hub)
    left = running(*uids[30:])

    # One row has come back in the meantime.
    plan = planned(left, rows(uids[30]), WEB, hub=hub, last_approval=first.approval)

    assert [deletion.pair.uid for deletion in plan.deletes] == uids[31:]
    assert plan.approval == first.approval
    # Without the approval, or with a node that is not approved, the deletion is held again.
    assert planned(left, rows(), WEB, hub=guarded, last_approval=first.approval).held
    more = running(*uids[30:], "another")
    assert planned(more, rows(), WEB, hub=hub, last_approval=first.approval).held


def test_hold_of_the_last_plan_or_of_the_status_continues_below_the_limits() -> None:
    uids = [f"a{number:02}" for number in range(15)]
    hub = a_hub()
    few = rows(*uids[5:])
    assert len(planned(running(*uids), few, WEB, hub=hub).deletes) == 5
    assert len(planned(running(*uids), few, WEB, hub=hub, last_held=True).held) == 5
    condition = new_condition(
        ConditionType.DELETION_HELD,
        ConditionReason.DELETION_GUARD_EXCEEDED,
        "",
        holds=True,
        generation=1,
        now=NOON,
    )
    restarted = replace(hub, status=HubStatus(conditions=(condition,)))
    assert len(planned(running(*uids), few, WEB, hub=restarted).held) == 5
    assert planned(running(*uids), rows(*uids), WEB, hub=restarted).held == ()


def test_pause_does_not_end_a_hold() -> None:
    uids = [f"a{number:02}" for number in range(15)]
    hub = a_hub()
    paused = replace(WEB, spec=replace(WEB.spec, paused=True))
    plan = planned(running(*uids), rows(), paused, hub=hub, last_held=True)
    assert (len(plan.held), plan.deletes) == (15, ())
    cluster = running(*uids)
    cluster.edit("a00-web", annotations={"lynq.sh/paused": "true"})
    plan = planned(cluster, rows(*uids[1:]), WEB, hub=hub, last_held=True)
    assert (plan.held, plan.deletes) == (("a00-web",), ())
    # Without a hold, a paused form holds nothing.
    assert planned(running(*uids), rows(uids[0]), paused, hub=hub).held == ()


def test_approval_of_a_hold_names_the_suspended_nodes_too() -> None:
    uids = [f"a{number:02}" for number in range(15)]
    hub = a_hub()
    cluster = running(*uids)
    for uid, key in (("a00", "paused"), ("a01", "protect")):
        cluster.edit(f"{uid}-web", annotations={f"lynq.sh/{key}": "true"})
    plan = planned(cluster, rows(*uids[3:]), WEB, hub=hub, last_held=True)
    assert plan.held == ("a00-web", "a01-web", "a02-web")
    approval = {"lynq.sh/approve-deletion": plan.verdict.digest}
    approved = a_hub(annotations=approval)
    plan = planned(cluster, rows(*uids[3:]), WEB, hub=approved, last_held=True)
    assert list(deleted(plan)) == ["a02-web"]
    assert plan.approval.is_spent(plan.guarded, plan.held, complete=True)
    # The approval of the others alone would end the hold of the suspended nodes.
    approval = {"lynq.sh/approve-deletion": digest_of(["a02-web"])}
    partly = a_hub(annotations=approval)
    plan = planned(cluster, rows(*uids[3:]), WEB, hub=partly, last_held=True)
    assert (len(plan.held), plan.deletes) == (3, ())


def test_protected_nodes_do_not_end_a_hold() -> None:
    uids = [f"a{number:02}" for number in range(15)]
    hub = a_hub()
    cluster = running(*uids)
    cluster.edit("a00-web", annotations={"lynq.sh/protect": "true"})
    plan = planned(cluster, rows(*uids[1:]), WEB, hub=hub, last_held=True)
    assert (plan.held, plan.deletes) == (("a00-web",), ())


def test_nodes_of_a_deleted_form_are_no_part_of_a_hold() -> None:
    cluster, hub = running("a", "b", "c"), a_hub()
    synced(cluster, rows("a", "b", "c"), WEB, DB)
    cluster.edit("a-db", annotations={"lynq.sh/paused": "true"})
    plan = planned(cluster, rows("b", "c"), WEB, hub=hub, last_held=True)
    assert plan.held == ("a-web",)
    assert list(deleted(plan)) == ["b-db", "c-db"]


def test_node_whose_name_fits_no_row_is_no_part_of_a_hold() -> None:
    cluster, hub = running("a", "b"), a_hub()
    node = cluster.nodes["a-web"]
    cluster.nodes["pet"] = replace(node, metadata=replace(node.metadata, name="pet"))
    cluster.edit("pet", annotations={"lynq.sh/paused": "true"})
    assert planned(cluster, rows("b"), WEB, hub=hub, last_held=True).held == ("a-web",)


def test_deletions_that_the_status_counts_add_up() -> None:
    uids = [f"a{number:02}" for number in range(20)]
    period = DeletionPeriod(until=at(-60), nodes=28, deleted=8)
    status = HubStatus(deletion_guard=DeletionGuardStatus(periods=(period,)))
    hub = replace(a_hub(), status=status)
    assert len(planned(running(*uids), rows(*uids[3:]), WEB, hub=hub).held) == 3
    assert len(planned(running(*uids), rows(*uids[2:]), WEB, hub=hub).deletes) == 2
    short = timedelta(seconds=30)
    plan = planned(running(*uids), rows(*uids[3:]), WEB, hub=hub, deletion_window=short)
    assert len(plan.deletes) == 3


def test_changed_source_disables_the_percentage_limit() -> None:
    uids = [f"a{number}" for number in range(100)]
    hub = a_hub()
    left = rows(*uids[11:])
    assert len(planned(running(*uids), left, WEB, hub=hub).deletes) == 11
    assert len(planned(running(*uids), left, WEB, hub=hub, source_changed=True).held) == 11


def test_missing_row_deletes_after_the_confirming_read() -> None:
    cluster = running("a", "b")
    first = planned(
        cluster, rows("b"), WEB, observation=Observation(read=ReadTime(9, 10), confirm_after=5)
    )
    assert not deleted(first)
    assert first.absent.unconfirmed == {"a-web"}
    assert first.absent.next_read == 15
    second = Observation(read=ReadTime(15, 16), confirm_after=5, last=first.absent.absences)
    assert deleted(planned(cluster, rows("b"), WEB, observation=second)) == {
        "a-web": DeletionCause.ROW_GONE
    }


def test_deactivated_row_deletes_at_once() -> None:
    inactive = frozenset({"a"})
    observation = Observation(confirm_after=5, inactive=inactive, last=Absences(tracked=inactive))
    plan = planned(running("a", "b"), rows("b"), WEB, observation=observation)
    assert deleted(plan) == {"a-web": DeletionCause.ROW_GONE}
    assert (plan.absent.unconfirmed, plan.absent.next_read) == (frozenset(), None)


def test_row_that_becomes_inactive_deletes_until_its_node_is_gone() -> None:
    cluster = running("a", "b")
    tracked = frozenset({"a", "b"})
    first = Observation(confirm_after=5, read=ReadTime(1, 2), tracked=tracked)
    last = planned(cluster, rows("a", "b"), WEB, observation=first).absent.absences
    inactive = frozenset({"a"})
    for began in (3, 4):
        observation = Observation(
            confirm_after=5,
            read=ReadTime(began, began),
            inactive=inactive,
            tracked=tracked,
            last=last,
        )
        plan = planned(cluster, rows("b"), WEB, observation=observation)
        assert list(deleted(plan)) == ["a-web"]
        last = plan.absent.absences


def test_inactive_row_beside_the_active_one_does_not_confirm_its_absence() -> None:
    cluster, hub = running("a", "b"), a_hub()
    history = Observation(confirm_after=5, inactive=frozenset({"a"}), tracked=frozenset({"a", "b"}))
    first = dataclasses.replace(history, read=ReadTime(1, 2))
    present = planned(cluster, rows("a", "b"), WEB, hub=hub, observation=first)
    again = dataclasses.replace(history, read=ReadTime(9, 10), last=present.absent.absences)
    missing = planned(cluster, rows("b"), WEB, hub=hub, observation=again)
    assert not deleted(missing)
    assert missing.absent.unconfirmed == {"a-web"}
    last = dataclasses.replace(history, read=ReadTime(15, 16), last=missing.absent.absences)
    plan = planned(cluster, rows("b"), WEB, hub=hub, observation=last)
    assert list(deleted(plan)) == ["a-web"]
    # Its uid may have been spoilt in place.
    spoilt = planned(cluster, [ARow("b"), ARow(None)], WEB, hub=hub, observation=last)
    assert (deleted(spoilt), spoilt.held) == ({}, ("a-web",))


def test_inactive_row_that_the_last_read_did_not_track_is_confirmed() -> None:
    """The first read cannot know the inactive row of a uid whose node it creates."""
    hub, history = a_hub(), frozenset({"new"})
    tracked = frozenset({"b"})
    cluster, absences = running("b"), NO_ABSENCES

    def read(time: float, *uids: str, inactive: frozenset[str], tracked: frozenset[str]) -> HubPlan:
        observation = Observation(
            source="table",
            read=ReadTime(time, time),
            inactive=inactive,
            tracked=tracked,
            last=absences,
            confirm_after=5,
        )
        return planned(cluster, rows("b", *uids), WEB, hub=hub, observation=observation)

    absences = read(10, inactive=frozenset(), tracked=tracked).absent.absences
    created = read(20, "new", inactive=frozenset(), tracked=tracked)
    cluster.apply(created)
    absences = created.absent.absences
    tracked |= history
    for time in (21, 25.9):
        plan = read(time, inactive=history, tracked=tracked)
        assert not deleted(plan)
        assert plan.absent.unconfirmed == {"new-web"}
        assert plan.absent.next_read == 26
        absences = plan.absent.absences
    confirmed = read(26, inactive=history, tracked=tracked)
    assert list(deleted(confirmed)) == ["new-web"]


def test_inactive_row_after_a_read_without_any_row_is_confirmed() -> None:
    cluster, inactive, tracked = running("a", "b"), frozenset({"a"}), frozenset({"a", "b"})
    last = NO_ABSENCES
    for time, uids, history, deletes in (
        (10, "ab", frozenset[str](), []),
        (20, "b", frozenset[str](), []),
        (21, "b", inactive, []),
        (25, "b", inactive, ["a-web"]),
    ):
        observation = Observation(
            source="table",
            read=ReadTime(time, time),
            inactive=history,
            tracked=tracked,
            last=last,
            confirm_after=5,
        )
        plan = planned(cluster, rows(*uids), WEB, observation=observation)
        assert list(deleted(plan)) == deletes
        last = plan.absent.absences


def test_inactive_row_of_a_node_observed_after_a_read_without_row_is_confirmed() -> None:
    """The response to the creation of the node was lost: the cache has it a moment later."""
    inactive, tracked = frozenset({"a"}), frozenset({"a", "b"})
    last = NO_ABSENCES
    for time, uids, nodes, history in (
        (10, "ab", "b", frozenset[str]()),
        (20, "b", "b", frozenset[str]()),
        (20, "b", "ab", frozenset[str]()),
        (21, "b", "ab", inactive),
    ):
        observation = Observation(
            source="table",
            read=ReadTime(time, time),
            inactive=history,
            tracked=tracked,
            last=last,
            confirm_after=5,
        )
        plan = planned(running(*nodes), rows(*uids), WEB, observation=observation)
        assert not deleted(plan)
        last = plan.absent.absences


def test_inactive_row_of_the_first_read_is_confirmed() -> None:
    inactive = frozenset({"a"})
    observation = Observation(
        source="table", confirm_after=5, inactive=inactive, tracked=inactive, read=ReadTime(9, 10)
    )
    plan = planned(running("a", "b"), rows("b"), WEB, observation=observation)
    assert (deleted(plan), plan.absent.next_read) == ({}, 15)


def test_missing_form_deletes_when_it_is_confirmed() -> None:
    cluster = running("a")
    first = planned(cluster, rows("a"), observation=Observation(now=10, confirm_after=5))
    assert not deleted(first)
    assert first.absent.unconfirmed == {"a-web"}
    assert first.absent.next_plan == 15
    second = Observation(now=15, confirm_after=5, last=first.absent.absences)
    assert deleted(planned(cluster, rows("a"), observation=second)) == {
        "a-web": DeletionCause.FORM_GONE
    }


@pytest.mark.parametrize("uid", [None, "", "A", "a ", " a", "b"])
def test_spoilt_uid_holds_the_deletion_until_approved(uid: str | None) -> None:
    guard = DeletionGuard()
    cluster = running("a", "b")
    table = [ARow(uid, {"plan": "gold"}), ARow("b")]
    held = planned(cluster, table, WEB, hub=a_hub(deletion_guard=guard))
    assert (deleted(held), held.held, held.hold_cause) == ({}, ("a-web",), HoldCause.CHANGED_ROWS)
    assert held.guarded == {"a-web"}
    digest = held.held_message(a_hub()).rpartition(", ")[2]
    approved = a_hub(deletion_guard=guard, annotations={"lynq.sh/approve-deletion": digest})
    plan = planned(cluster, table, WEB, hub=approved)
    assert (list(deleted(plan)), plan.held) == (["a-web"], ())
    assert plan.approval.is_spent(plan.guarded, plan.held, complete=True)


def test_uid_overwritten_by_that_of_an_equal_row_holds_the_deletion() -> None:
    hub = a_hub(deletion_guard=DeletionGuard())
    held = planned(running("a", "b", "c"), rows("b", "b", "c"), WEB, hub=hub)
    assert (deleted(held), held.held) == ({}, ("a-web",))


def test_rows_that_a_view_repeats_hold_no_deletion() -> None:
    hub, cluster = a_hub(deletion_guard=DeletionGuard()), running("a", "b", "c")
    read = Observation(source="view", read=ReadTime(10, 10))
    before = planned(cluster, rows("a", "b", "b", "c"), WEB, hub=hub, observation=read)
    read = Observation(source="view", read=ReadTime(20, 20), last=before.absent.absences)
    plan = planned(cluster, rows("b", "b", "c"), WEB, hub=hub, observation=read)
    assert (list(deleted(plan)), plan.held) == (["a-web"], ())


def test_guard_that_holds_doubtful_nodes_says_its_limits() -> None:
    uids = [f"a{number}" for number in range(20)]
    hub = a_hub()
    plan = planned(running(*uids), [ARow(None), ARow("a0")], WEB, hub=hub)
    assert (len(plan.held), plan.hold_cause) == (19, HoldCause.GUARD)
    assert "the limits are 10 nodes and 30 %" in plan.held_message(hub)


def test_plan_that_holds_nothing_has_no_message() -> None:
    assert planned(running("a", "b"), rows("a"), WEB).held_message(a_hub()) == ""


def test_disabled_guard_holds_no_doubtful_deletion() -> None:
    plan = planned(running("a", "b"), [ARow(None), ARow("b")], WEB, hub=an_unguarded_hub())
    assert list(deleted(plan)) == ["a-web"]


def test_deactivated_row_beside_a_spoilt_uid_is_deleted() -> None:
    hub = a_hub()
    inactive = frozenset({"a"})
    observation = Observation(inactive=inactive, last=Absences(tracked=inactive))
    table = [ARow(None), ARow("b")]
    plan = planned(running("a", "b"), table, WEB, hub=hub, observation=observation)
    assert list(deleted(plan)) == ["a-web"]


def test_plan_without_rows_deletes_only_nodes_of_deleted_forms() -> None:
    cluster = running("a", "b")
    synced(cluster, rows("a", "b"), WEB, DB)
    foreign = replace(cluster.nodes["a-web"])
    cluster.nodes["odd"] = replace(foreign, metadata=replace(foreign.metadata, name="odd"))
    hub = a_hub(
        deletion_guard=DeletionGuard(max_count=0, max_percent=0),
        annotations={"lynq.sh/approve-deletion": "0123456789abcdef"},
    )
    nodes = tuple(cluster.nodes.values())
    plan = plan_without_rows(
        PlanInputs(hub=hub, forms=[FormCandidate(WEB)], rows=(), nodes=nodes), NOON
    )
    assert [deletion.name for deletion in plan.deletes] == ["a-db", "b-db"]
    # The form is still being deleted.
    deleting = replace(DB, metadata=replace(DB.metadata, deletion_timestamp=NOON))
    forms = [FormCandidate(WEB), FormCandidate(deleting)]
    unguarded = plan_without_rows(
        PlanInputs(hub=an_unguarded_hub(), forms=forms, rows=(), nodes=nodes), NOON
    )
    assert unguarded.deletes == plan.deletes
    assert (plan.creates, plan.updates, plan.approval) == ((), (), NO_APPROVAL)


def test_source_that_changed_while_a_form_was_paused_is_held_by_its_own_limit() -> None:
    hub = a_hub()
    uids = [f"t{number:02}" for number in range(40)]
    cluster = running(*uids)
    paused = planned(cluster, rows(*uids[12:]), a_form(paused=True), hub=hub, source_changed=True)
    assert not deleted(paused)
    resumed = planned(cluster, rows(*uids[12:]), WEB, hub=hub, last_held=bool(paused.verdict.held))
    assert not deleted(resumed)
    assert len(resumed.verdict.held) == 12
