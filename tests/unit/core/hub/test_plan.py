"""The plan of one sync: nodes that are created, updated or left unchanged."""

from typing import Any

import pytest
from msgspec.structs import replace

from lynq.api.names import ANNOTATION_ROLLOUT_BUDGET, ANNOTATION_ROW_CHANGED_AT
from lynq.api.naming import NodePair
from lynq.api.node_metadata import stamp
from lynq.core.hub.diff import DeletionCause, UpdateCause
from lynq.core.hub.plan import FormCandidate
from unit.core.hub.fixtures import (
    DB,
    NOON,
    WEB,
    ARow,
    Cluster,
    a_form,
    a_hub,
    at,
    created,
    deleted,
    is_empty,
    planned,
    resource,
    rows,
    running,
    synced,
    updated,
)


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


def test_first_slot_that_frees_with_time_requeues_the_hub() -> None:
    cluster = running("a")
    synced(cluster, rows("a"), WEB, a_form("db"), now=at(1))
    cluster.settle(at(1))
    forms = a_form("web", max_skew=1), a_form("db", max_skew=1)
    assert planned(cluster, rows("a", "b"), *forms, now=at(1.5)).recheck_at == at(2)


@pytest.mark.parametrize(
    ("form", "metadata", "holds_slot"),
    [
        pytest.param("web", {}, True, id="of the form"),
        pytest.param("my-web", {}, False, id="of another form"),
        pytest.param("web", {"deletion_timestamp": NOON}, False, id="being deleted"),
        pytest.param("web", {"name": "pet-web"}, False, id="whose name fits no row"),
    ],
)
def test_unsettled_node_of_the_form_holds_a_slot(
    form: str, metadata: dict[str, Any], *, holds_slot: bool
) -> None:
    cluster = Cluster()
    synced(cluster, rows("a"), a_form(form))
    node = cluster.nodes[f"a-{form}"]
    edited = replace(node, metadata=replace(node.metadata, **metadata))
    plan = planned(Cluster([edited]), rows("b"), a_form("web", max_skew=1))
    assert created(plan) == ([] if holds_slot else ["b-web"])


def test_nodes_of_a_protected_form_that_is_being_deleted_are_left_unchanged() -> None:
    metadata = replace(
        WEB.metadata, deletion_timestamp=NOON, annotations={"lynq.sh/protect": "true"}
    )
    protected = replace(WEB, metadata=metadata)
    assert is_empty(planned(running("a", "b"), rows("a", "c", plan="new"), protected))
    deleted = replace(WEB, metadata=replace(metadata, annotations={}))
    assert len(planned(running("a", "b"), rows("a"), deleted).deletes) == 2


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
