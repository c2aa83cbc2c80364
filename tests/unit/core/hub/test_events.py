"""What is told about a sync."""

from typing import Any

import pytest
from msgspec.structs import replace

from lynq.api import DeletionGuard, LynqForm
from lynq.api.events import Event, EventReason
from lynq.api.naming import NodePair
from lynq.core.hub.diff import DeletionCause, NodeDeletion
from lynq.core.hub.events import (
    deleted,
    deleting,
    deletion_failed,
    fresh,
    query_failed,
    row_rejected,
    standing_events,
    update_event,
)
from unit.core.hub.fixtures import ARow, Cluster, a_form, a_hub, planned, resource, rows, synced


def of_kind(name: str, kind: str) -> Any:
    return resource(name, spec={"apiVersion": "v1", "kind": kind})


def change(row: ARow, form: LynqForm, cluster: Cluster | None = None) -> Event:
    if cluster is None:
        cluster = Cluster()
        synced(cluster, rows("a"), a_form(generation=3))
    [update] = planned(cluster, [row], form).updates
    return update_event(update)


def test_a_new_form_is_told_with_both_generations_and_every_kind() -> None:
    form = a_form(
        "web",
        of_kind("c", "ConfigMap"),
        generation=4,
        deployments=(of_kind("a", "Deployment"), of_kind("b", "Deployment")),
        daemon_sets=(of_kind("d", "DaemonSet"),),
        namespaces=(of_kind("n", "Namespace"),),
        manifests=(of_kind("m", "Certificate"), resource("x", spec={})),
    )
    assert change(ARow("a"), form) == Event(
        EventReason.TEMPLATE_APPLIED,
        "the form's generation 3 -> 4, 7 resources [2 Deployment(s) 1 DaemonSet(s) 1 ConfigMap(s) "
        '1 Namespace(s) 1 Certificate(s) 1 Resource(s)] (form "web", hub "shop", uid "a")',
    )


@pytest.mark.parametrize(
    "row", [ARow("a", activate="yes"), ARow("a", host_or_url="x"), ARow("a", {"plan": "gold"})]
)
def test_new_values_are_told_without_what_they_are(row: ARow) -> None:
    event = change(row, a_form(generation=3))
    assert event.reason == "DataUpdated"
    assert event.message == 'the row has new values (form "web", hub "shop", uid "a")'


def test_undoing_an_edit_is_told() -> None:
    cluster = Cluster()
    synced(cluster, rows("a"), a_form())
    node = cluster.nodes["a-web"]
    cluster.nodes["a-web"] = replace(node, spec=replace(node.spec, config_maps=()))
    assert change(ARow("a"), a_form(), cluster).reason == "DriftCorrected"


def test_an_unknown_old_generation_is_a_question_mark() -> None:
    cluster = Cluster()
    synced(cluster, rows("a"), a_form())
    cluster.edit("a-web", annotations={})
    assert "generation ? -> 1," in change(ARow("a"), a_form(), cluster).message


def test_removals_are_told_with_row_form_and_reason() -> None:
    removal = NodeDeletion(NodePair("a", "web"), "a-web", "uid-1", DeletionCause.ROW_GONE)
    told = [deleting(removal), deleted(removal), deletion_failed(removal, "forbidden")]
    assert [(each.reason.value, each.warns) for each in told] == [
        ("LynqNodeDeleting", False),
        ("LynqNodeDeleted", False),
        ("LynqNodeDeletionFailed", True),
    ]
    assert told[0].message == (
        'deleting LynqNode "a-web" (form "web", uid "a"): its row is gone or inactive'
    )
    assert told[2].message.endswith("forbidden; it will be tried again")


def test_waiting_nodes_are_told() -> None:
    order = planned(Cluster(), rows("a", "b", "c"), a_form(max_skew=1))
    [event] = standing_events(a_hub(), order)
    assert event.reason == "RolloutThrottled"
    assert event.message == '2 nodes wait for form "web": maxSkew is 1, 0 are on their way'


def test_held_removals_are_told_with_their_digest() -> None:
    hub = a_hub(deletion_guard=DeletionGuard(max_count=1, max_percent=0))
    cluster = Cluster()
    synced(cluster, rows("a", "b"), a_form())
    order = planned(cluster, [], a_form(), hub=hub)
    [event] = standing_events(hub, order)
    assert (event.reason.value, event.warns) == ("DeletionHeld", True)
    assert event.message.endswith(f"2 nodes, {order.verdict.digest}")


def test_a_template_that_fails_for_many_rows_is_told_once() -> None:
    form = a_form("web", resource(name_template="{{ .plan }}"))
    [event] = standing_events(a_hub(), planned(Cluster(), rows("c", "a", "b"), form))
    assert (event.reason.value, event.warns) == ("TemplateRenderFailed", True)
    assert event.message == (
        'uid "a" and 2 more: form "web", resource "app", nameTemplate, line 1: '
        'map has no entry for key "plan" at <.plan>'
    )


def test_what_was_told_in_the_last_pass_is_not_told_again() -> None:
    order = planned(Cluster(), rows("a", "b"), a_form(max_skew=1))
    events = standing_events(a_hub(), order)
    assert fresh(events, ()) == events
    assert fresh(events, events) == ()


def test_rejected_rows_and_failed_reads_are_told() -> None:
    [rejection] = planned(Cluster(), rows("UP_"), a_form()).screened.rejections
    event = row_rejected(rejection)
    assert (event.reason.value, event.warns) == ("RowRejected", True)
    assert event.message.startswith("InvalidUid: ")
    event = query_failed("no route to host")
    assert (event.reason.value, event.warns) == ("DatabaseQueryFailed", True)
    assert event.message.endswith(": no route to host")
