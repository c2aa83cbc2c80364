"""Events of a sync."""

from typing import Any

import pytest
from msgspec.structs import replace

from lynq.api import DeletionGuard, LynqForm
from lynq.api.events import Event, EventReason
from lynq.api.naming import NodePair
from lynq.core.hub.diff import DeletionCause, NodeDeletion
from lynq.core.hub.events import (
    cleanup_failed,
    deleted,
    deleting,
    deletion_failed,
    new_events,
    ongoing_events,
    protected_without_row,
    query_failed,
    retain_failed,
    row_rejected,
    update_event,
)
from unit.core.hub.fixtures import (
    ARow,
    Cluster,
    a_form,
    a_hub,
    an_unguarded_hub,
    planned,
    resource,
    rows,
    synced,
)


def of_kind(name: str, kind: str) -> Any:
    return resource(name, spec={"apiVersion": "v1", "kind": kind})


def change(row: ARow, form: LynqForm, cluster: Cluster | None = None) -> Event:
    if cluster is None:
        cluster = Cluster()
        synced(cluster, rows("a"), a_form(generation=3))
    [update] = planned(cluster, [row], form).updates
    event = update_event(update)
    assert event
    return event


def test_form_update_names_generations_and_kinds() -> None:
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
        "applied form generation 3 -> 4, 7 resources [2 Deployment(s) 1 DaemonSet(s) "
        "1 ConfigMap(s) 1 Namespace(s) 1 Certificate(s) 1 Resource(s)] "
        '(form "web", hub "shop", uid "a")',
    )


@pytest.mark.parametrize(
    "row", [ARow("a", activate="yes"), ARow("a", host_or_url="x"), ARow("a", {"plan": "gold"})]
)
def test_data_update_shows_no_values(row: ARow) -> None:
    event = change(row, a_form(generation=3))
    assert event.reason == "DataUpdated"
    assert event.message == 'applied new values of the row (form "web", hub "shop", uid "a")'


def test_reverted_edit_emits_drift_corrected() -> None:
    cluster = Cluster()
    synced(cluster, rows("a"), a_form())
    node = cluster.nodes["a-web"]
    cluster.nodes["a-web"] = replace(node, spec=replace(node.spec, config_maps=()))
    assert change(ARow("a"), a_form(), cluster).reason == "DriftCorrected"


def test_unknown_old_generation_is_a_question_mark() -> None:
    cluster = Cluster()
    synced(cluster, rows("a"), a_form())
    cluster.edit("a-web", annotations={})
    assert "generation ? -> 1," in change(ARow("a"), a_form(), cluster).message


def test_deletion_events_name_row_form_and_cause() -> None:
    deletion = NodeDeletion(NodePair("a", "web"), "a-web", "uid-1", DeletionCause.ROW_GONE, "1")
    events = [deleting(deletion), deleted(deletion), deletion_failed(deletion, "forbidden")]
    assert [(event.reason.value, event.warns) for event in events] == [
        ("LynqNodeDeleting", False),
        ("LynqNodeDeleted", False),
        ("LynqNodeDeletionFailed", True),
    ]
    assert events[0].message == (
        'deleting LynqNode "a-web" (form "web", uid "a"): its row was deleted or deactivated'
    )
    assert events[2].message.endswith("forbidden; retrying")


def test_throttled_rollout_emits_event() -> None:
    plan = planned(Cluster(), rows("a", "b", "c"), a_form(max_skew=1))
    [event] = ongoing_events(a_hub(), plan)
    assert event.reason == "RolloutThrottled"
    assert event.message == '2 nodes of form "web" wait to be updated: maxSkew is 1, 0 not ready'


def test_held_deletion_event_has_digest() -> None:
    hub = a_hub(deletion_guard=DeletionGuard(max_count=1, max_percent=0))
    cluster = Cluster()
    synced(cluster, rows("a", "b"), a_form())
    plan = planned(cluster, [], a_form(), hub=hub)
    [event] = ongoing_events(hub, plan)
    assert (event.reason.value, event.warns) == ("DeletionHeld", True)
    assert event.message.endswith(f"2 nodes, {plan.verdict.digest}")


def test_protected_nodes_without_row_are_reported_together_and_each() -> None:
    cluster = Cluster()
    synced(cluster, rows("a", "b"), a_form())
    cluster.edit("a-web", annotations={"lynq.sh/protect": "true"})
    plan = planned(cluster, rows("b"), a_form())
    [event] = ongoing_events(a_hub(), plan)
    assert (event.reason.value, event.warns) == ("DeletionBlocked", True)
    assert event.message == (
        'LynqNode "a-web" (form "web", uid "a") and its objects are kept, although its row was '
        "deleted or deactivated: it has the annotation lynq.sh/protect; remove the annotation to "
        "delete it"
    )
    assert protected_without_row(plan.protected[0]) == event
    cluster.edit("b-web", annotations={"lynq.sh/protect": "true"})
    hub = an_unguarded_hub()
    [event] = ongoing_events(hub, planned(cluster, [], a_form(), hub=hub))
    assert event.message == (
        "2 LynqNodes and their objects are kept, although their rows or forms do not exist or are "
        "inactive: they have the annotation lynq.sh/protect: a-web, b-web; remove the annotation "
        "to delete them"
    )


def test_template_that_fails_for_many_rows_emits_one_event() -> None:
    form = a_form("web", resource(name_template="{{ .plan }}"))
    [event] = ongoing_events(a_hub(), planned(Cluster(), rows("c", "a", "b"), form))
    assert (event.reason.value, event.warns) == ("TemplateRenderFailed", True)
    assert event.message == (
        'uid "a" and 2 more: form "web", resource "app", nameTemplate, line 1: '
        'map has no entry for key "plan" at <.plan>'
    )


def test_events_of_last_reconcile_are_not_emitted_again() -> None:
    plan = planned(Cluster(), rows("a", "b"), a_form(max_skew=1))
    events = ongoing_events(a_hub(), plan)
    assert new_events(events, ()) == events
    assert new_events(events, events) == ()


def test_rejected_rows_and_failed_reads_emit_warnings() -> None:
    [rejection] = planned(Cluster(), rows("UP_"), a_form()).screened.rejections
    event = row_rejected(rejection)
    assert (event.reason.value, event.warns) == ("RowRejected", True)
    assert event.message.startswith("InvalidUid: ")
    event = query_failed("no route to host")
    assert (event.reason.value, event.warns) == ("DatabaseQueryFailed", True)
    assert event.message.endswith(": no route to host")


def test_failed_cleanup_names_three_nodes_and_the_first_error() -> None:
    event = cleanup_failed({name: f"{name} is forbidden" for name in ("d", "c", "b", "a")})
    assert event == Event(
        EventReason.CLEANUP_FAILED,
        "nodes could not be deleted, retrying: a, b, c and 1 more; first error: a is forbidden",
        warns=True,
    )


def test_failed_retain_names_objects_and_errors() -> None:
    event = retain_failed({"ConfigMap prod/a": "forbidden", "ConfigMap prod/b": "timeout"})
    assert event == Event(
        EventReason.RETAIN_RESOURCE_PROCESS_FAILED,
        "objects could not be retained: ConfigMap prod/a: forbidden; ConfigMap prod/b: timeout",
        warns=True,
    )
