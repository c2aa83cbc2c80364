"""What a sync does: created, updated, removed, and left alone."""

import pytest
from msgspec.structs import replace

from lynq.api import DeletionGuard
from lynq.api.naming import NodePair
from lynq.core.hub.diff import DeletionCause, UpdateCause
from lynq.core.hub.plan import FormCandidate, HubPlan
from unit.core.hub.fixtures import (
    NOON,
    ARow,
    Cluster,
    a_form,
    a_hub,
    at,
    planned,
    resource,
    rows,
    synced,
)

WEB, DB = a_form("web"), a_form("db")


def running(*uids: str, form: str = "web") -> Cluster:
    """Return a cluster with a ready node for each uid."""
    cluster = Cluster()
    synced(cluster, rows(*uids), a_form(form))
    cluster.settle(NOON)
    return cluster


def created(order: HubPlan) -> list[str]:
    return [each.node.metadata.name for each in order.creates]


def updated(order: HubPlan) -> dict[str, UpdateCause]:
    return {each.before.metadata.name: each.cause for each in order.updates}


def deleted(order: HubPlan) -> dict[str, DeletionCause]:
    return {each.name: each.why for each in order.deletes}


def test_every_row_gets_a_node_of_every_form() -> None:
    order = planned(Cluster(), rows("b", "a"), WEB, DB)
    assert sorted(created(order)) == ["a-db", "a-web", "b-db", "b-web"]
    assert order.judgement.desired == 4
    assert (order.updates, order.deletes) == ((), ())


def test_a_second_look_finds_nothing() -> None:
    order = planned(running("a", "b"), rows("a", "b"), WEB)
    assert order.is_empty


def test_only_the_row_that_changed_is_written() -> None:
    order = planned(running("a", "b"), [ARow("a"), ARow("b", {"plan": "gold"})], WEB)
    assert updated(order) == {"b-web": UpdateCause.DATA}
    [update] = order.updates
    assert update.after.metadata.annotations["lynq.sh/extra"] == '{"plan":"gold"}'


def test_a_new_generation_of_the_form_is_written_to_all() -> None:
    order = planned(running("a", "b"), rows("a", "b"), a_form(generation=2), now=at(60))
    assert updated(order) == {"a-web": UpdateCause.FORM, "b-web": UpdateCause.FORM}
    assert {
        each.after.metadata.annotations["lynq.sh/rollout-update-start"] for each in order.updates
    } == {"2026-01-01T12:01:00.000000Z"}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"labels": {"lynq.sh/hub": "shop", "lynq.sh/uid": "x"}}, id="label"),
        pytest.param({"owner_references": []}, id="owner"),
        pytest.param({"finalizers": []}, id="finalizer"),
    ],
)
def test_edited_metadata_is_put_right(change: dict[str, object]) -> None:
    cluster = running("a")
    cluster.edit("a-web", **change)
    order = synced(cluster, rows("a"), WEB)
    assert updated(order) == {"a-web": UpdateCause.DRIFT}
    assert planned(cluster, rows("a"), WEB).is_empty


def test_an_edited_spec_is_put_right_without_a_new_time() -> None:
    cluster = running("a")
    node = cluster.nodes["a-web"]
    edited = replace(node.spec, uid="b", config_maps=(resource(name_template="hacked"),))
    cluster.nodes["a-web"] = replace(node, spec=edited)
    order = planned(cluster, rows("a"), WEB, now=at(60))
    assert updated(order) == {"a-web": UpdateCause.DRIFT}
    [update] = order.updates
    assert update.after == node


@pytest.mark.parametrize("has_digest", [True, False], ids=["ours", "the Go operator's"])
def test_an_edited_spec_that_cuts_the_name_elsewhere_is_put_right(*, has_digest: bool) -> None:
    cluster = running("a", form="b-c")
    node = cluster.nodes["a-b-c"]
    cluster.nodes["a-b-c"] = replace(node, spec=replace(node.spec, uid="a-b", template_ref="c"))
    if not has_digest:
        marks = dict(node.metadata.annotations)
        del marks["lynq.sh/spec-digest"]
        cluster.edit("a-b-c", annotations=marks)
    order = planned(cluster, rows("a"), a_form("b-c"))
    assert (updated(order), deleted(order)) == ({"a-b-c": UpdateCause.DRIFT}, {})


def test_an_edited_label_that_cuts_the_name_elsewhere_is_put_right() -> None:
    cluster = running("a", form="b-c")
    cluster.edit("a-b-c", labels={"lynq.sh/hub": "shop", "lynq.sh/uid": "a-b"})
    order = planned(cluster, rows("a"), a_form("b-c"))
    assert (updated(order), deleted(order)) == ({"a-b-c": UpdateCause.DRIFT}, {})


@pytest.mark.parametrize(
    ("digest", "is_written"),
    [pytest.param("0123456789abcdef", True, id="stale"), pytest.param(None, False, id="none")],
)
def test_the_digest_of_a_spec_that_the_go_operator_wrote_is_put_right(
    digest: str | None, *, is_written: bool
) -> None:
    cluster = running("a")
    right = cluster.nodes["a-web"].metadata.annotations
    others = {key: value for key, value in right.items() if key != "lynq.sh/spec-digest"}
    cluster.edit("a-web", annotations=others | ({"lynq.sh/spec-digest": digest} if digest else {}))
    order = synced(cluster, rows("a"), WEB)
    assert updated(order) == ({"a-web": UpdateCause.DRIFT} if is_written else {})
    assert cluster.nodes["a-web"].metadata.annotations == (right if is_written else others)
    assert planned(cluster, rows("a"), WEB).is_empty


def test_what_has_been_compared_is_not_rendered_again() -> None:
    cluster = running("a")
    marks = planned(cluster, rows("a"), WEB).marks
    assert marks.keys() == {"a-web"}
    # A form that cannot be rendered shows whether somebody tried.
    broken = a_form("web", resource(name_template="{{ .nope }}"))
    assert planned(cluster, rows("a"), broken, marks=marks).failures == ()
    cluster.edit("a-web", generation=2)
    assert len(planned(cluster, rows("a"), broken, marks=marks).failures) == 1


def test_the_node_of_a_vanished_row_goes() -> None:
    order = planned(running("a", "b"), rows("a"), WEB)
    assert deleted(order) == {"b-web": DeletionCause.ROW_GONE}
    assert order.deletes[0].pair == NodePair("b", "web")


def test_nodes_of_a_deleted_form_go_unguarded() -> None:
    uids = [f"a{number}" for number in range(40)]
    guard = a_hub(deletion_guard=DeletionGuard())
    cluster = running(*uids)
    order = planned(cluster, rows(*uids), DB, hub=guard)
    assert set(deleted(order).values()) == {DeletionCause.FORM_GONE}
    assert len(order.deletes) == 40
    assert order.held == ()


def test_nodes_of_a_deleted_form_do_not_make_the_others_look_few() -> None:
    uids = [f"a{number}" for number in range(20)]
    cluster = running(*uids)
    cluster.obey(planned(cluster, rows(*uids), WEB, DB))
    hub = a_hub(deletion_guard=DeletionGuard())
    order = planned(cluster, rows(*uids[12:]), DB, hub=hub)
    assert len(order.held) == 12


def test_a_form_that_cannot_be_decoded_is_not_gone() -> None:
    cluster = running("a", "b")
    assert planned(cluster, rows("a"), unreadable={"web"}).is_empty
    assert len(planned(cluster, rows("a")).deletes) == 2


def test_forms_of_other_hubs_and_forms_being_deleted_count_for_nothing() -> None:
    foreign = a_form("other", hub_id="elsewhere")
    going = replace(DB, metadata=replace(DB.metadata, deletion_timestamp=NOON))
    order = planned(running("a", form="db"), rows("a"), WEB, foreign, going)
    assert created(order) == ["a-web"]
    assert deleted(order) == {"a-db": DeletionCause.FORM_GONE}


def test_a_mass_deletion_is_held_until_it_is_approved() -> None:
    uids = [f"a{number}" for number in range(20)]
    guard = DeletionGuard()
    held = planned(running(*uids), rows("a0"), WEB, hub=a_hub(deletion_guard=guard))
    assert (len(held.held), held.deletes) == (19, ())
    approved = a_hub(
        deletion_guard=guard, annotations={"lynq.sh/approve-deletion": held.verdict.digest}
    )
    assert len(planned(running(*uids), rows("a0"), WEB, hub=approved).deletes) == 19


def test_what_is_left_of_an_approved_removal_goes_though_the_others_are_gone_for_good() -> None:
    uids = [f"a{number:02}" for number in range(60)]
    guarded = a_hub(deletion_guard=DeletionGuard())
    digest = planned(running(*uids), rows(), WEB, hub=guarded).verdict.digest
    approval = {"lynq.sh/approve-deletion": digest}
    hub = a_hub(deletion_guard=DeletionGuard(), annotations=approval)
    first = planned(running(*uids), rows(), WEB, hub=hub)
    left = running(*uids[30:])

    # One has come back meanwhile.
    order = planned(left, rows(uids[30]), WEB, hub=hub, approved=first.approved)

    assert [each.pair.uid for each in order.deletes] == uids[31:]
    assert order.approved == first.approved
    # Without the approval, or for one that nobody has approved, a person is asked again.
    assert planned(left, rows(), WEB, hub=guarded, approved=first.approved).held
    more = running(*uids[30:], "another")
    assert planned(more, rows(), WEB, hub=hub, approved=first.approved).held


def test_after_a_change_of_the_source_no_share_is_small() -> None:
    uids = [f"a{number}" for number in range(100)]
    hub = a_hub(deletion_guard=DeletionGuard())
    left = rows(*uids[11:])
    assert len(planned(running(*uids), left, WEB, hub=hub).deletes) == 11
    assert len(planned(running(*uids), left, WEB, hub=hub, source_changed=True).held) == 11


def test_a_rejected_row_keeps_its_node_as_it_is() -> None:
    order = planned(running("a"), [ARow("a", {"x": "x" * 300_000})], WEB)
    assert order.is_empty
    assert (order.kept, order.unmade) == (frozenset({"a-web"}), 0)
    assert len(order.judgement.rejections) == 1


def test_a_rejected_row_without_a_node_is_counted() -> None:
    order = planned(Cluster(), [ARow(None), ARow("UP"), ARow("a")], WEB, DB)
    assert created(order) == ["a-db", "a-web"]
    assert (order.judgement.desired, order.unmade) == (6, 4)


def test_of_two_rows_with_one_uid_the_one_in_use_stays() -> None:
    cluster = Cluster()
    first, second = ARow("a", {"v": "1"}), ARow("a", {"v": "2"})
    synced(cluster, [second], WEB)
    assert planned(cluster, [first, second], WEB).is_empty
    assert planned(cluster, [second, first], WEB).is_empty


def test_a_name_of_another_hubs_node_is_taken() -> None:
    order = planned(Cluster(), rows("a"), WEB, taken={"a-web": NodePair("a", "web-x")})
    assert created(order) == ["a-web"]
    order = planned(Cluster(), rows("a-b"), a_form("c"), taken={"a-b-c": NodePair("a", "b-c")})
    assert created(order) == []
    assert order.unmade == 1


def test_a_node_about_to_go_keeps_its_name_until_it_is_gone() -> None:
    cluster = running("a", form="b-c")
    order = planned(cluster, rows("a-b"), a_form("c"), a_form("b-c"))
    assert "a-b-c" in deleted(order)
    assert created(order) == ["a-b-b-c"]


def test_an_invalid_form_is_not_rolled_out_but_its_rows_may_go() -> None:
    invalid = FormCandidate(a_form(generation=2), valid=False)
    order = planned(running("a", "b"), [ARow("a", {"x": "new"}), ARow("c")], invalid)
    assert (order.creates, order.updates) == ((), ())
    assert deleted(order) == {"b-web": DeletionCause.ROW_GONE}


def test_a_paused_form_stays_as_it_is() -> None:
    paused = a_form(generation=2, paused=True)
    order = planned(running("a", "b"), rows("a", "c"), paused)
    assert order.is_empty


def test_a_paused_hub_stays_as_it_is() -> None:
    hub = a_hub(paused=True)
    assert planned(running("a", "b"), rows("a", "c"), DB, hub=hub).is_empty


def test_a_paused_node_stays_as_it_is() -> None:
    cluster = running("a", "b", "c")
    for name in ("a-web", "b-web"):
        known = cluster.nodes[name].metadata.annotations
        cluster.edit(name, annotations=known | {"lynq.sh/paused": "true"})
    order = planned(cluster, [ARow("a", {"x": "new"}), ARow("c")], WEB)
    assert order.is_empty


def test_a_protected_node_is_written_and_never_removed() -> None:
    cluster = running("a", "b")
    for name in ("a-web", "b-web"):
        known = cluster.nodes[name].metadata.annotations
        cluster.edit(name, annotations=known | {"lynq.sh/protect": "true"})
    order = planned(cluster, [ARow("a", {"x": "new"})], WEB)
    assert not order.deletes
    assert [update.pair.uid for update in order.updates] == ["a"]
    assert not planned(cluster, [], WEB).deletes


def test_a_node_that_is_leaving_is_waited_for() -> None:
    cluster = running("a", "b")
    for name in cluster.nodes:
        cluster.edit(name, deletion_timestamp=NOON)
    assert planned(cluster, [ARow("a", {"x": "new"})], WEB).is_empty


def test_a_node_that_no_hub_of_ours_made_is_left_alone() -> None:
    cluster = running("a")
    node = cluster.nodes.pop("a-web")
    cluster.nodes["pet"] = replace(
        node, metadata=replace(node.metadata, name="pet", owner_references=[])
    )
    assert planned(cluster, [], WEB).is_empty


def test_a_render_failure_stops_nobody_else() -> None:
    form = a_form("web", resource(name_template="{{ .plan }}"))
    order = planned(Cluster(), [ARow("a"), ARow("b", {"plan": "x"})], form)
    assert created(order) == ["b-web"]
    assert [each.pair for each in order.failures] == [("a", "web")]
    assert order.unmade == 1


def test_a_node_that_can_no_longer_be_rendered_is_kept() -> None:
    form = a_form("web", resource(name_template="{{ .plan }}"), generation=2)
    order = planned(running("a"), rows("a"), form)
    assert order.is_empty
    assert (order.kept, order.unmade) == (frozenset({"a-web"}), 0)


def test_no_more_than_max_skew_are_written() -> None:
    order = planned(Cluster(), rows("a", "b", "c"), a_form(max_skew=2))
    assert created(order) == ["a-web", "b-web"]
    [throttle] = order.throttled
    assert (throttle.form, throttle.waiting, throttle.max_skew) == ("web", ("c-web",), 2)


def test_a_row_that_cannot_be_rendered_takes_no_place() -> None:
    form = a_form("web", resource(name_template="{{ .plan }}"), max_skew=1)
    given = [ARow("a"), ARow("b"), ARow("c", {"plan": "x"}), ARow("d", {"plan": "y"})]
    order = planned(Cluster(), given, form)
    assert created(order) == ["c-web"]
    assert order.throttled[0].waiting == ("d-web",)
    assert len(order.failures) == 2


def test_workloads_that_are_behind_hold_a_place() -> None:
    cluster = running("a", "b")
    form = a_form(generation=2, max_skew=1)
    order = planned(
        cluster,
        rows("a", "b"),
        form,
        now=at(60),
        workloads_ready=lambda node: node.metadata.name != "b-web",
    )
    assert updated(order) == {"b-web": UpdateCause.FORM}


def test_a_slot_that_only_time_opens_is_looked_at_again() -> None:
    cluster = running("a")
    order = planned(cluster, rows("a", "b"), a_form(max_skew=1), now=at(1))
    assert order.look_again == at(2)
    assert planned(cluster, rows("a"), a_form(max_skew=1), now=at(1)).look_again is None
