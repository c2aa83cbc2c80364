"""What a hub's status says after a read, a failed read, and none at all."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lynq.api import (
    ChangeDetection,
    DeletionGuard,
    HubSource,
    HubStatus,
    LynqForm,
    LynqHub,
    SourceType,
)
from lynq.core.hub.node_counts import NodeCounts
from lynq.core.hub.status import PushState, ReadFailure, SyncResult, is_worth_writing, next_status
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

PUSHED = HubSource(type=SourceType.SQLITE, changes=ChangeDetection.PUSH)
LOST = ReadFailure("no route to host", generation=2)


def counted(cluster: Cluster) -> NodeCounts:
    tally = NodeCounts()
    for node in cluster.nodes.values():
        tally.put(node)
    return tally


def after(
    cluster: Cluster, given_rows: list[ARow], *forms: LynqForm, hub: LynqHub | None = None
) -> HubStatus:
    """Return the status after a sync, with all nodes ready that there are."""
    hub = hub or a_hub()
    order = synced(cluster, given_rows, *forms, hub=hub)
    cluster.settle(NOON)
    return next_status(
        hub, counted(cluster), forms=len(forms), synced=SyncResult.by(order, hub, NOON), now=NOON
    )


def said(status: HubStatus) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status.value, each.reason) for each in status.conditions}


def test_a_complete_read() -> None:
    status = after(Cluster(), rows("a", "b", "c"), a_form("web"), a_form("db"))
    assert (status.referencing_templates, status.desired) == (2, 6)
    assert (status.ready, status.failed) == (6, 0)
    assert (status.last_sync_time, status.observed_generation) == (NOON, 2)
    assert status.rejected_rows is None
    assert said(status) == {
        "Ready": ("True", "DatabaseConnected"),
        "DeletionHeld": ("False", "WithinLimits"),
        "Paused": ("False", "NotPaused"),
    }
    assert {each.observed_generation for each in status.conditions} == {2}


def test_a_rejected_row_stays_desired_and_counts_as_failed() -> None:
    status = after(Cluster(), [ARow("a"), ARow("UP"), ARow(None)], a_form())
    assert (status.desired, status.ready, status.failed) == (3, 1, 2)
    assert status.rejected_rows is not None
    assert status.rejected_rows.count == 2


def test_a_row_that_cannot_be_rendered_counts_as_failed() -> None:
    form = a_form("web", resource(name_template="{{ .plan }}"))
    status = after(Cluster(), [ARow("a"), ARow("b", {"plan": "x"})], form)
    assert (status.desired, status.ready, status.failed) == (2, 1, 1)


def test_a_rejected_row_whose_node_is_not_ready_counts_as_failed_once() -> None:
    cluster = Cluster()
    hub = a_hub()
    synced(cluster, rows("a"), a_form())
    order = planned(cluster, [ARow("a", {"x": "x" * 300_000})], a_form())
    for ready in (True, False):
        cluster.settle(NOON, ready=ready)
        seen = SyncResult.by(order, hub, NOON)
        status = next_status(hub, counted(cluster), forms=1, synced=seen, now=NOON)
        assert (status.desired, status.failed) == (1, 1)


def test_a_failed_read_changes_nothing_but_the_condition() -> None:
    before = after(Cluster(), rows("a", "b"), a_form())
    hub = replace(a_hub(), status=before)
    # After a restart nothing else is known than the status.
    status = next_status(hub, NodeCounts(), forms=1, synced=None, unread=LOST, now=at(60))
    assert replace(status, conditions=before.conditions) == before
    assert said(status)["Ready"] == ("False", "DatabaseConnectionFailed")
    [ready] = [each for each in status.conditions if each.type == "Ready"]
    assert ready.message.endswith(": no route to host")
    assert ready.last_transition_time == at(60)


def test_a_cause_without_end_comes_to_an_end() -> None:
    unread = ReadFailure("x" * 100_000, generation=2)
    status = next_status(a_hub(), NodeCounts(), forms=1, synced=None, unread=unread, now=NOON)
    assert all(len(each.message) < 32768 for each in status.conditions)


def test_before_the_first_read_the_status_stays() -> None:
    before = after(Cluster(), rows("a", "b"), a_form())
    hub = replace(a_hub(), status=before)
    assert next_status(hub, NodeCounts(), forms=1, synced=None, now=at(60)) == before


def test_a_new_hub_says_nothing_it_does_not_know() -> None:
    status = next_status(a_hub(), NodeCounts(), forms=0, synced=None, now=NOON)
    assert said(status) == {"Paused": ("False", "NotPaused")}
    assert status.observed_generation == 0


def test_a_spec_that_was_not_read_with_yet_is_not_observed() -> None:
    before = after(Cluster(), rows("a"), a_form())
    hub = a_hub()
    order = planned(Cluster(), rows("a"), a_form())
    seen = SyncResult.by(order, hub, NOON)
    newer = replace(hub, metadata=replace(hub.metadata, generation=3), status=before)
    status = next_status(newer, NodeCounts(), forms=1, synced=seen, now=at(1))
    assert status.observed_generation == 2


def test_held_removals() -> None:
    hub = a_hub(deletion_guard=DeletionGuard(max_count=1, max_percent=0))
    cluster = Cluster()
    synced(cluster, rows("a", "b"), a_form(), hub=hub)
    status = after(cluster, [], a_form(), hub=hub)
    assert said(status)["DeletionHeld"] == ("True", "DeletionGuardExceeded")
    [held] = [each for each in status.conditions if each.type == "DeletionHeld"]
    assert "2 nodes, " in held.message
    restarted = replace(hub, status=status)
    assert next_status(restarted, NodeCounts(), forms=1, synced=None, now=at(60)) == status


def test_a_paused_hub() -> None:
    status = next_status(a_hub(paused=True), NodeCounts(), forms=1, synced=None, now=NOON)
    assert said(status) == {"Paused": ("True", "Paused")}
    assert status.observed_generation == 2


@pytest.mark.parametrize(
    ("source", "push", "expected"),
    [
        (PUSHED, PushState(connected=True, message="listening"), ("True", "ChannelConnected")),
        (PUSHED, PushState(connected=False, message="gone"), ("False", "ChannelLost")),
        (PUSHED, None, None),
        (HubSource(type=SourceType.SQLITE), PushState(connected=True, message=""), None),
    ],
)
def test_the_push_channel(source: HubSource, push: PushState | None, expected: Any) -> None:
    hub = a_hub(source=source)
    status = next_status(hub, NodeCounts(), forms=1, synced=None, push=push, now=NOON)
    assert said(status).get("PushConnected") == expected


@given(st.integers(0, 600))
def test_an_idle_hub_is_written_now_and_then_only(seconds: int) -> None:
    before = after(Cluster(), rows("a"), a_form())
    later = replace(before, last_sync_time=NOON + timedelta(seconds=seconds))
    assert is_worth_writing(before, later) == (seconds >= 300)
    assert is_worth_writing(before, replace(later, ready=7))


def test_a_first_read_is_worth_writing() -> None:
    assert is_worth_writing(HubStatus(), HubStatus(last_sync_time=NOON))
    assert not is_worth_writing(HubStatus(), HubStatus())
