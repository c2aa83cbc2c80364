"""The plan of one sync: nodes that are created, updated, deleted or left unchanged."""

import dataclasses
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from lynq.api import DeletionGuard, DeletionGuardStatus, DeletionPeriod, HubStatus, LynqNode
from lynq.api.conditions import new_condition
from lynq.api.digests import is_signed
from lynq.api.installation_key import InstallationKey
from lynq.api.names import ANNOTATION_ROLLOUT_BUDGET, ANNOTATION_ROW_CHANGED_AT
from lynq.api.naming import NodePair
from lynq.api.node_metadata import is_superseded, stamp, written_at
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.core.guard.absence import ReadTime
from lynq.core.guard.approval import NO_APPROVAL, digest_of
from lynq.core.hub.diff import DeletionCause, UpdateCause
from lynq.core.hub.plan import FormCandidate, HubPlan, PlanInputs, plan_without_rows
from lynq.core.hub.prune import Observation
from unit.core.hub.fixtures import (
    NOON,
    ARow,
    Cluster,
    a_form,
    a_hub,
    at,
    is_empty,
    planned,
    resource,
    rows,
    synced,
)

WEB, DB = a_form("web"), a_form("db")


def running(*uids: str, form: str = "web") -> Cluster:
    """Return a cluster that has a ready node for each uid."""
    cluster = Cluster()
    synced(cluster, rows(*uids), a_form(form))
    cluster.settle(NOON)
    return cluster


def created(plan: HubPlan) -> list[str]:
    return [creation.node.metadata.name for creation in plan.creates]


def updated(plan: HubPlan) -> dict[str, UpdateCause]:
    return {update.before.metadata.name: update.cause for update in plan.updates}


def deleted(plan: HubPlan) -> dict[str, DeletionCause]:
    return {deletion.name: deletion.cause for deletion in plan.deletes}


def test_each_row_gets_a_node_of_each_form() -> None:
    plan = planned(Cluster(), rows("b", "a"), WEB, DB)
    assert sorted(created(plan)) == ["a-db", "a-web", "b-db", "b-web"]
    assert plan.screened.desired == 4
    assert (plan.updates, plan.deletes) == ((), ())


def test_unchanged_rows_cause_no_writes() -> None:
    plan = planned(running("a", "b"), rows("a", "b"), WEB)
    assert is_empty(plan)


def test_only_the_node_of_a_changed_row_is_updated() -> None:
    plan = planned(running("a", "b"), [ARow("a"), ARow("b", {"plan": "gold"})], WEB)
    assert updated(plan) == {"b-web": UpdateCause.DATA}
    [update] = plan.updates
    assert update.after.metadata.annotations["lynq.sh/extra"] == '{"plan":"gold"}'


def test_new_form_generation_updates_all_nodes() -> None:
    plan = planned(running("a", "b"), rows("a", "b"), a_form(generation=2), now=at(60))
    assert updated(plan) == {"a-web": UpdateCause.FORM, "b-web": UpdateCause.FORM}
    assert {
        update.after.metadata.annotations["lynq.sh/rollout-update-start"] for update in plan.updates
    } == {"2026-01-01T12:01:00.000000Z"}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"labels": {"lynq.sh/hub": "shop", "lynq.sh/uid": "x"}}, id="label"),
        pytest.param({"owner_references": []}, id="owner"),
        pytest.param({"finalizers": []}, id="finalizer"),
    ],
)
def test_edited_metadata_is_reverted(change: dict[str, object]) -> None:
    cluster = running("a")
    cluster.edit("a-web", **change)
    plan = synced(cluster, rows("a"), WEB)
    assert updated(plan) == {"a-web": UpdateCause.DRIFT}
    assert is_empty(planned(cluster, rows("a"), WEB))


def test_edited_spec_is_reverted_with_the_same_update_start() -> None:
    cluster = running("a")
    node = cluster.nodes["a-web"]
    edited = replace(node.spec, uid="b", config_maps=(resource(name_template="hacked"),))
    cluster.nodes["a-web"] = replace(node, spec=edited)
    plan = planned(cluster, rows("a"), WEB, now=at(60))
    assert updated(plan) == {"a-web": UpdateCause.DRIFT}
    [update] = plan.updates
    assert update.after == node


@pytest.mark.parametrize("has_digest", [True, False], ids=["ours", "the Go operator's"])
def test_edited_spec_that_splits_the_name_differently_is_reverted(*, has_digest: bool) -> None:
    cluster = running("a", form="b-c")
    node = cluster.nodes["a-b-c"]
    cluster.nodes["a-b-c"] = replace(node, spec=replace(node.spec, uid="a-b", template_ref="c"))
    if not has_digest:
        annotations = dict(node.metadata.annotations)
        del annotations["lynq.sh/spec-digest"]
        cluster.edit("a-b-c", annotations=annotations)
    plan = planned(cluster, rows("a"), a_form("b-c"))
    assert (updated(plan), deleted(plan)) == ({"a-b-c": UpdateCause.DRIFT}, {})


def test_edited_label_that_splits_the_name_differently_is_reverted() -> None:
    cluster = running("a", form="b-c")
    cluster.edit("a-b-c", labels={"lynq.sh/hub": "shop", "lynq.sh/uid": "a-b"})
    plan = planned(cluster, rows("a"), a_form("b-c"))
    assert (updated(plan), deleted(plan)) == ({"a-b-c": UpdateCause.DRIFT}, {})


@pytest.mark.parametrize(
    ("digest", "is_written"),
    [pytest.param("0123456789abcdef", True, id="stale"), pytest.param(None, False, id="none")],
)
def test_stale_spec_digest_of_the_go_operator_is_corrected(
    digest: str | None, *, is_written: bool
) -> None:
    cluster = running("a")
    right = cluster.nodes["a-web"].metadata.annotations
    others = {key: value for key, value in right.items() if key != "lynq.sh/spec-digest"}
    cluster.edit("a-web", annotations=others | ({"lynq.sh/spec-digest": digest} if digest else {}))
    plan = synced(cluster, rows("a"), WEB)
    assert updated(plan) == ({"a-web": UpdateCause.DRIFT} if is_written else {})
    assert cluster.nodes["a-web"].metadata.annotations == (right if is_written else others)
    assert is_empty(planned(cluster, rows("a"), WEB))


def test_unsigned_nodes_are_signed_at_once_under_max_skew() -> None:
    key = InstallationKey(b"k" * 32)
    form = a_form(max_skew=1)
    cluster = Cluster()
    cluster.apply(planned(cluster, rows("a", "b", "c"), a_form()))
    before = {name: node.spec for name, node in cluster.nodes.items()}
    plan = synced(cluster, rows("a", "b", "c"), form, key=key)
    assert set(updated(plan).values()) == {UpdateCause.SIGNATURE}
    assert len(plan.updates) == 3
    assert all(is_signed(node, key) for node in cluster.nodes.values())
    assert {name: node.spec for name, node in cluster.nodes.items()} == before
    assert is_empty(planned(cluster, rows("a", "b", "c"), form, key=key))


@pytest.mark.parametrize("annotation", ["lynq.sh/signature", "lynq.sh/rollout-update-start"])
def test_edited_annotation_of_a_checked_node_is_signed_again(annotation: str) -> None:
    key = InstallationKey(b"k" * 32)
    cluster = Cluster()
    synced(cluster, rows("a"), WEB, key=key)
    checked = planned(cluster, rows("a"), WEB, key=key).checked_specs
    annotations = dict(cluster.nodes["a-web"].metadata.annotations)
    cluster.edit("a-web", annotations=annotations | {annotation: "2026-01-01T00:00:00Z"})
    plan = synced(cluster, rows("a"), WEB, key=key, checked_specs=checked)
    assert updated(plan) == {"a-web": UpdateCause.SIGNATURE}
    assert is_signed(cluster.nodes["a-web"], key)


KEY = InstallationKey(b"k" * 32)


def observed(cluster: Cluster) -> None:
    """Let the status of each node reflect its last write."""
    cluster.settle(NOON)
    for name, node in cluster.nodes.items():
        written = node.metadata.annotations["lynq.sh/rollout-update-start"]
        status = replace(node.status, observed_update_start=written)
        cluster.nodes[name] = replace(node, status=status)


def put_back(cluster: Cluster, old: LynqNode) -> None:
    """Put an old node back, as a user who may edit nodes and not their status."""
    node = cluster.nodes[old.metadata.name]
    cluster.nodes[old.metadata.name] = replace(old, status=node.status)


@pytest.mark.parametrize("skew", [0, -30])
def test_old_node_that_was_put_back_is_written_again(skew: float) -> None:
    """Also if the row has the old values again, and the clock of a new leader is behind."""
    cluster = Cluster()
    synced(cluster, rows("a", plan="pro"), WEB, key=KEY)
    observed(cluster)
    old = cluster.nodes["a-web"]
    for second, value in ((60, "max"), (120, "pro")):
        synced(cluster, rows("a", plan=value), WEB, key=KEY, now=at(second))
        observed(cluster)
    checked = planned(cluster, rows("a", plan="pro"), WEB, key=KEY).checked_specs
    put_back(cluster, old)
    now = at(120 + skew)
    assert is_superseded(cluster.nodes["a-web"], now)

    plan = synced(cluster, rows("a", plan="pro"), WEB, key=KEY, now=now, checked_specs=checked)
    assert updated(plan) == {"a-web": UpdateCause.DRIFT}
    assert written_at(cluster.nodes["a-web"]) == at(120)
    assert not is_superseded(cluster.nodes["a-web"], now)
    assert is_empty(planned(cluster, rows("a", plan="pro"), WEB, key=KEY, now=now))


def test_write_of_a_leader_whose_clock_is_behind_supersedes_the_last_one() -> None:
    cluster = Cluster()
    synced(cluster, rows("a", plan="pro"), WEB, key=KEY)
    observed(cluster)
    synced(cluster, rows("a", plan="max"), WEB, key=KEY, now=at(-30))
    node = cluster.nodes["a-web"]
    assert not is_superseded(node, at(-30))
    assert written_at(node) == NOON + timedelta(microseconds=1)


def test_write_after_a_clock_in_the_far_future_has_the_right_time() -> None:
    cluster = Cluster()
    synced(cluster, rows("a", plan="pro"), WEB, key=KEY, now=at(1e6))
    observed(cluster)
    synced(cluster, rows("a", plan="max"), WEB, key=KEY, now=NOON)
    node = cluster.nodes["a-web"]
    assert written_at(node) == NOON
    assert not is_superseded(node, NOON)


@pytest.mark.parametrize("edited", [at(-1e6), at(1e6)])
def test_edited_time_of_a_node_is_not_signed(edited: datetime) -> None:
    """The time is `now` in templates."""
    cluster = Cluster()
    synced(cluster, rows("a"), WEB, key=KEY)
    observed(cluster)
    annotations = dict(cluster.nodes["a-web"].metadata.annotations)
    annotations["lynq.sh/rollout-update-start"] = stamp(edited)
    cluster.edit("a-web", annotations=annotations)
    synced(cluster, rows("a"), WEB, key=KEY, now=at(60))
    assert is_signed(cluster.nodes["a-web"], KEY)
    assert written_at(cluster.nodes["a-web"]) == NOON


def test_checked_spec_is_not_rendered_again() -> None:
    cluster = running("a")
    checked = planned(cluster, rows("a"), WEB).checked_specs
    assert checked.keys() == {"a-web"}
    # A form that cannot be rendered shows whether a render was attempted.
    broken = a_form("web", resource(name_template="{{ .nope }}"))
    assert planned(cluster, rows("a"), broken, checked_specs=checked).failures == ()
    cluster.edit("a-web", generation=2)
    assert len(planned(cluster, rows("a"), broken, checked_specs=checked).failures) == 1


def test_node_of_a_vanished_row_is_deleted() -> None:
    plan = planned(running("a", "b"), rows("a"), WEB)
    assert deleted(plan) == {"b-web": DeletionCause.ROW_GONE}
    assert plan.deletes[0].pair == NodePair("b", "web")


def test_nodes_of_a_deleted_form_are_deleted_unguarded() -> None:
    uids = [f"a{number}" for number in range(40)]
    guard = a_hub(deletion_guard=DeletionGuard())
    cluster = running(*uids)
    plan = planned(cluster, rows(*uids), DB, hub=guard)
    assert set(deleted(plan).values()) == {DeletionCause.FORM_GONE}
    assert len(plan.deletes) == 40
    assert plan.held == ()


def test_nodes_of_a_deleted_form_do_not_raise_the_guards_limit() -> None:
    uids = [f"a{number}" for number in range(20)]
    cluster = running(*uids)
    cluster.apply(planned(cluster, rows(*uids), WEB, DB))
    hub = a_hub(deletion_guard=DeletionGuard())
    plan = planned(cluster, rows(*uids[12:]), DB, hub=hub)
    assert len(plan.held) == 12


def test_unreadable_form_keeps_its_nodes() -> None:
    cluster = running("a", "b")
    assert is_empty(planned(cluster, rows("a"), unreadable_forms={"web"}))
    assert len(planned(cluster, rows("a")).deletes) == 2


def test_forms_of_other_hubs_and_forms_being_deleted_are_ignored() -> None:
    foreign = a_form("other", hub_id="elsewhere")
    deleting = replace(DB, metadata=replace(DB.metadata, deletion_timestamp=NOON))
    plan = planned(running("a", form="db"), rows("a"), WEB, foreign, deleting)
    assert created(plan) == ["a-web"]
    assert deleted(plan) == {"a-db": DeletionCause.FORM_GONE}


def test_mass_deletion_is_held_until_approved() -> None:
    uids = [f"a{number}" for number in range(20)]
    guard = DeletionGuard()
    held = planned(running(*uids), rows("a0"), WEB, hub=a_hub(deletion_guard=guard))
    assert (len(held.held), held.deletes) == (19, ())
    approved = a_hub(
        deletion_guard=guard, annotations={"lynq.sh/approve-deletion": held.verdict.digest}
    )
    assert len(planned(running(*uids), rows("a0"), WEB, hub=approved).deletes) == 19


def test_rest_of_an_approved_deletion_stays_approved_once_other_nodes_are_gone() -> None:
    uids = [f"a{number:02}" for number in range(60)]
    guarded = a_hub(deletion_guard=DeletionGuard())
    digest = planned(running(*uids), rows(), WEB, hub=guarded).verdict.digest
    approval = {"lynq.sh/approve-deletion": digest}
    hub = a_hub(deletion_guard=DeletionGuard(), annotations=approval)
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
    hub = a_hub(deletion_guard=DeletionGuard())
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
    hub = a_hub(deletion_guard=DeletionGuard())
    paused = replace(WEB, spec=replace(WEB.spec, paused=True))
    plan = planned(running(*uids), rows(), paused, hub=hub, last_held=True)
    assert (len(plan.held), plan.deletes) == (15, ())
    cluster = running(*uids)
    cluster.edit("a00-web", annotations={"lynq.sh/paused": "true"})
    plan = planned(cluster, rows(*uids[1:]), WEB, hub=hub, last_held=True)
    assert (plan.held, plan.deletes) == (("a00-web",), ())
    # Without a hold, a paused form holds nothing.
    assert planned(running(*uids), rows(), paused, hub=hub).held == ()


def test_approval_of_a_hold_names_the_suspended_nodes_too() -> None:
    uids = [f"a{number:02}" for number in range(15)]
    hub = a_hub(deletion_guard=DeletionGuard())
    cluster = running(*uids)
    for uid, key in (("a00", "paused"), ("a01", "protect")):
        cluster.edit(f"{uid}-web", annotations={f"lynq.sh/{key}": "true"})
    plan = planned(cluster, rows(*uids[3:]), WEB, hub=hub, last_held=True)
    assert plan.held == ("a00-web", "a01-web", "a02-web")
    approval = {"lynq.sh/approve-deletion": plan.verdict.digest}
    approved = a_hub(deletion_guard=DeletionGuard(), annotations=approval)
    plan = planned(cluster, rows(*uids[3:]), WEB, hub=approved, last_held=True)
    assert list(deleted(plan)) == ["a02-web"]
    assert plan.approval.is_spent(plan.guarded, complete=True)
    # The approval of the others alone would end the hold of the suspended nodes.
    approval = {"lynq.sh/approve-deletion": digest_of(["a02-web"])}
    partly = a_hub(deletion_guard=DeletionGuard(), annotations=approval)
    plan = planned(cluster, rows(*uids[3:]), WEB, hub=partly, last_held=True)
    assert (len(plan.held), plan.deletes) == (3, ())


def test_protected_nodes_do_not_end_a_hold() -> None:
    uids = [f"a{number:02}" for number in range(15)]
    hub = a_hub(deletion_guard=DeletionGuard())
    cluster = running(*uids)
    cluster.edit("a00-web", annotations={"lynq.sh/protect": "true"})
    plan = planned(cluster, rows(*uids[1:]), WEB, hub=hub, last_held=True)
    assert (plan.held, plan.deletes) == (("a00-web",), ())


def test_deletions_that_the_status_counts_add_up() -> None:
    uids = [f"a{number:02}" for number in range(20)]
    period = DeletionPeriod(until=at(-60), nodes=28, deleted=8)
    status = HubStatus(deletion_guard=DeletionGuardStatus(periods=(period,)))
    hub = replace(a_hub(deletion_guard=DeletionGuard()), status=status)
    assert len(planned(running(*uids), rows(*uids[3:]), WEB, hub=hub).held) == 3
    assert len(planned(running(*uids), rows(*uids[2:]), WEB, hub=hub).deletes) == 2
    short = timedelta(seconds=30)
    plan = planned(running(*uids), rows(*uids[3:]), WEB, hub=hub, deletion_window=short)
    assert len(plan.deletes) == 3


def test_changed_source_disables_the_percentage_limit() -> None:
    uids = [f"a{number}" for number in range(100)]
    hub = a_hub(deletion_guard=DeletionGuard())
    left = rows(*uids[11:])
    assert len(planned(running(*uids), left, WEB, hub=hub).deletes) == 11
    assert len(planned(running(*uids), left, WEB, hub=hub, source_changed=True).held) == 11


def test_node_of_a_rejected_row_is_kept_unchanged() -> None:
    plan = planned(running("a"), [ARow("a", {"x": "x" * 300_000})], WEB)
    assert is_empty(plan)
    assert (plan.kept, plan.missing) == (frozenset({"a-web"}), 0)
    assert len(plan.screened.rejections) == 1


def test_rejected_rows_without_nodes_count_as_missing() -> None:
    plan = planned(Cluster(), [ARow(None), ARow("UP"), ARow("a")], WEB, DB)
    assert created(plan) == ["a-db", "a-web"]
    assert (plan.screened.desired, plan.missing) == (6, 4)


def test_of_two_rows_with_one_uid_the_deployed_one_is_used() -> None:
    cluster = Cluster()
    first, second = ARow("a", {"v": "1"}), ARow("a", {"v": "2"})
    synced(cluster, [second], WEB)
    assert is_empty(planned(cluster, [first, second], WEB))
    assert is_empty(planned(cluster, [second, first], WEB))


def test_name_of_another_hubs_node_is_not_reused() -> None:
    plan = planned(Cluster(), rows("a"), WEB, other_nodes={"a-web": NodePair("a", "web-x")})
    assert created(plan) == ["a-web"]
    plan = planned(Cluster(), rows("a-b"), a_form("c"), other_nodes={"a-b-c": NodePair("a", "b-c")})
    assert created(plan) == []
    assert plan.missing == 1


def test_node_to_delete_keeps_its_name_until_it_is_gone() -> None:
    cluster = running("a", form="b-c")
    plan = planned(cluster, rows("a-b"), a_form("c"), a_form("b-c"))
    assert "a-b-c" in deleted(plan)
    assert created(plan) == ["a-b-b-c"]


def test_invalid_form_is_not_rolled_out_but_nodes_without_rows_are_deleted() -> None:
    invalid = FormCandidate(a_form(generation=2), valid=False)
    plan = planned(running("a", "b"), [ARow("a", {"x": "new"}), ARow("c")], invalid)
    assert (plan.creates, plan.updates) == ((), ())
    assert deleted(plan) == {"b-web": DeletionCause.ROW_GONE}


def test_nodes_of_a_paused_form_are_unchanged() -> None:
    paused = a_form(generation=2, paused=True)
    plan = planned(running("a", "b"), rows("a", "c"), paused)
    assert is_empty(plan)


def test_nodes_of_a_paused_hub_are_unchanged() -> None:
    hub = a_hub(paused=True)
    assert is_empty(planned(running("a", "b"), rows("a", "c"), DB, hub=hub))


def test_paused_node_is_unchanged() -> None:
    cluster = running("a", "b", "c")
    for name in ("a-web", "b-web"):
        annotations = cluster.nodes[name].metadata.annotations
        cluster.edit(name, annotations=annotations | {"lynq.sh/paused": "true"})
    plan = planned(cluster, [ARow("a", {"x": "new"}), ARow("c")], WEB)
    assert is_empty(plan)


def test_protected_node_is_updated_but_never_deleted() -> None:
    cluster = running("a", "b")
    for name in ("a-web", "b-web"):
        annotations = cluster.nodes[name].metadata.annotations
        cluster.edit(name, annotations=annotations | {"lynq.sh/protect": "true"})
    plan = planned(cluster, [ARow("a", {"x": "new"})], WEB)
    assert not plan.deletes
    assert [update.pair.uid for update in plan.updates] == ["a"]
    assert not planned(cluster, [], WEB).deletes


def test_node_being_deleted_is_not_written() -> None:
    cluster = running("a", "b")
    for name in cluster.nodes:
        cluster.edit(name, deletion_timestamp=NOON)
    assert is_empty(planned(cluster, [ARow("a", {"x": "new"})], WEB))


def test_node_that_is_not_the_hubs_is_left_alone() -> None:
    cluster = running("a")
    node = cluster.nodes.pop("a-web")
    cluster.nodes["pet"] = replace(
        node, metadata=replace(node.metadata, name="pet", owner_references=[])
    )
    assert is_empty(planned(cluster, [], WEB))


def test_render_failure_does_not_block_other_nodes() -> None:
    form = a_form("web", resource(name_template="{{ .plan }}"))
    plan = planned(Cluster(), [ARow("a"), ARow("b", {"plan": "x"})], form)
    assert created(plan) == ["b-web"]
    assert [failure.pair for failure in plan.failures] == [("a", "web")]
    assert plan.missing == 1


def test_node_that_no_longer_renders_is_kept() -> None:
    form = a_form("web", resource(name_template="{{ .plan }}"), generation=2)
    plan = planned(running("a"), rows("a"), form)
    assert is_empty(plan)
    assert (plan.kept, plan.missing) == (frozenset({"a-web"}), 0)


def test_at_most_max_skew_nodes_are_written() -> None:
    plan = planned(Cluster(), rows("a", "b", "c"), a_form(max_skew=2))
    assert created(plan) == ["a-web", "b-web"]
    [throttle] = plan.throttled
    assert (throttle.form, throttle.waiting, throttle.max_skew) == ("web", ("c-web",), 2)


def test_row_that_fails_to_render_takes_no_slot() -> None:
    form = a_form("web", resource(name_template="{{ .plan }}"), max_skew=1)
    all_rows = [ARow("a"), ARow("b"), ARow("c", {"plan": "x"}), ARow("d", {"plan": "y"})]
    plan = planned(Cluster(), all_rows, form)
    assert created(plan) == ["c-web"]
    assert plan.throttled[0].waiting == ("d-web",)
    assert len(plan.failures) == 2


def test_node_that_was_broken_before_holds_no_slot_of_the_rollout() -> None:
    cluster = running("a", "b")
    form = a_form(generation=2, max_skew=1)
    plan = planned(
        cluster,
        rows("a", "b"),
        form,
        now=at(60),
        workloads_ready=lambda node: node.metadata.name != "b-web",
    )
    assert updated(plan) == {"a-web": UpdateCause.FORM, "b-web": UpdateCause.FORM}
    budgets = {
        write.after.metadata.name: write.after.metadata.annotations[ANNOTATION_ROLLOUT_BUDGET]
        for write in plan.updates
    }
    assert budgets == {"a-web": "Form", "b-web": "Row"}


def test_slot_that_frees_with_time_requeues_the_hub() -> None:
    cluster = running("a")
    plan = planned(cluster, rows("a", "b"), a_form(max_skew=1), now=at(1))
    assert plan.recheck_at == at(2)
    assert planned(cluster, rows("a"), a_form(max_skew=1), now=at(1)).recheck_at is None


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


def test_inactive_row_deletes_at_once() -> None:
    observation = Observation(confirm_after=5, inactive=frozenset({"a"}))
    plan = planned(running("a", "b"), rows("b"), WEB, observation=observation)
    assert deleted(plan) == {"a-web": DeletionCause.ROW_GONE}
    assert (plan.absent.unconfirmed, plan.absent.next_read) == (frozenset(), None)


def test_inactive_row_beside_the_active_one_does_not_confirm_its_absence() -> None:
    cluster, hub = running("a", "b"), a_hub(deletion_guard=DeletionGuard())
    history = Observation(confirm_after=5, inactive=frozenset({"a"}))
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
    assert (deleted(spoilt), spoilt.in_doubt) == ({}, ("a-web",))


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
    assert (deleted(held), held.held, held.in_doubt) == ({}, ("a-web",), ("a-web",))
    digest = held.held_message(a_hub()).rpartition(", ")[2]
    approved = a_hub(deletion_guard=guard, annotations={"lynq.sh/approve-deletion": digest})
    plan = planned(cluster, table, WEB, hub=approved)
    assert (list(deleted(plan)), plan.held) == (["a-web"], ())
    assert plan.approval.is_spent(plan.guarded, complete=True)


def test_disabled_guard_holds_no_doubtful_deletion() -> None:
    plan = planned(running("a", "b"), [ARow(None), ARow("b")], WEB)
    assert list(deleted(plan)) == ["a-web"]


def test_inactive_row_is_not_doubtful() -> None:
    hub = a_hub(deletion_guard=DeletionGuard())
    observation = Observation(inactive=frozenset({"a"}))
    table = [ARow(None), ARow("b")]
    plan = planned(running("a", "b"), table, WEB, hub=hub, observation=observation)
    assert list(deleted(plan)) == ["a-web"]


def test_nodes_of_a_protected_form_that_is_being_deleted_are_left_unchanged() -> None:
    metadata = replace(
        WEB.metadata, deletion_timestamp=NOON, annotations={"lynq.sh/protect": "true"}
    )
    protected = replace(WEB, metadata=metadata)
    assert is_empty(planned(running("a", "b"), rows("a", "c", plan="new"), protected))
    deleted = replace(WEB, metadata=replace(metadata, annotations={}))
    assert len(planned(running("a", "b"), rows("a"), deleted).deletes) == 2


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
    assert (plan.creates, plan.updates, plan.approval) == ((), (), NO_APPROVAL)


def test_change_of_a_row_is_timed_from_its_first_read() -> None:
    form = a_form(max_skew=1)
    first = planned(Cluster(), rows("a", "b"), form, rows_changed_at=at(-3))
    [creation] = first.creates
    assert creation.node.metadata.annotations[ANNOTATION_ROW_CHANGED_AT] == stamp(at(-3))
    assert first.row_changes == {"b-web": at(-3)}
    cluster, changes = running("a"), first.row_changes
    later = planned(
        cluster, rows("a", "b"), form, now=at(60), rows_changed_at=at(9), row_changes=changes
    )
    [creation] = later.creates
    assert creation.node.metadata.annotations[ANNOTATION_ROW_CHANGED_AT] == stamp(at(-3))
    assert later.row_changes == {}


def test_change_of_a_form_is_no_change_of_a_row() -> None:
    cluster = Cluster()
    synced(cluster, rows("a"), a_form(), rows_changed_at=NOON)
    cluster.settle(NOON)
    [update] = planned(cluster, rows("a"), a_form(generation=2), now=at(60)).updates
    assert ANNOTATION_ROW_CHANGED_AT in update.before.metadata.annotations
    assert ANNOTATION_ROW_CHANGED_AT not in update.after.metadata.annotations
