"""The status of a hub after a complete read, a failed read, and before the first read."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given
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
from lynq.api.installation_key import NO_KEY, MissingKey
from lynq.core.hub.node_counts import NodeCounts
from lynq.core.hub.status import (
    PushState,
    ReadFailure,
    SyncResult,
    is_urgent,
    is_worth_writing,
    next_status,
)
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
    counts = NodeCounts()
    for node in cluster.nodes.values():
        counts.put(node)
    return counts


def after(
    cluster: Cluster, active_rows: list[ARow], *forms: LynqForm, hub: LynqHub | None = None
) -> HubStatus:
    """Return the status after a sync when all existing nodes are ready."""
    hub = hub or a_hub()
    plan = synced(cluster, active_rows, *forms, hub=hub)
    cluster.settle(NOON)
    return next_status(
        hub,
        counted(cluster),
        forms=len(forms),
        last_sync=SyncResult.from_plan(plan, hub, NOON),
        now=NOON,
    )


def conditions_of(status: HubStatus) -> dict[str, tuple[str, str]]:
    return {
        condition.type: (condition.status.value, condition.reason)
        for condition in status.conditions
    }


def test_complete_read() -> None:
    status = after(Cluster(), rows("a", "b", "c"), a_form("web"), a_form("db"))
    assert (status.referencing_templates, status.desired) == (2, 6)
    assert (status.ready, status.failed) == (6, 0)
    assert (status.last_sync_time, status.observed_generation) == (NOON, 2)
    assert status.rejected_rows is None
    assert conditions_of(status) == {
        "Ready": ("True", "DatabaseConnected"),
        "DeletionHeld": ("False", "WithinLimits"),
        "Paused": ("False", "NotPaused"),
    }
    assert {condition.observed_generation for condition in status.conditions} == {2}
    [held] = [condition for condition in status.conditions if condition.type == "DeletionHeld"]
    assert held.message == "no deletion is held"


def test_rejected_row_is_desired_and_failed() -> None:
    status = after(Cluster(), [ARow("a"), ARow("UP"), ARow(None)], a_form())
    assert (status.desired, status.ready, status.failed) == (3, 1, 2)
    assert status.rejected_rows is not None
    assert status.rejected_rows.count == 2


def test_row_that_cannot_be_rendered_counts_as_failed() -> None:
    form = a_form("web", resource(name_template="{{ .plan }}"))
    status = after(Cluster(), [ARow("a"), ARow("b", {"plan": "x"})], form)
    assert (status.desired, status.ready, status.failed) == (2, 1, 1)


def test_rejected_row_with_unready_node_counts_as_failed_once() -> None:
    cluster = Cluster()
    hub = a_hub()
    synced(cluster, rows("a"), a_form())
    plan = planned(cluster, [ARow("a", {"x": "x" * 300_000})], a_form())
    for ready in (True, False):
        cluster.settle(NOON, ready=ready)
        last_sync = SyncResult.from_plan(plan, hub, NOON)
        status = next_status(hub, counted(cluster), forms=1, last_sync=last_sync, now=NOON)
        assert (status.desired, status.failed) == (1, 1)


def test_failed_read_changes_only_the_condition() -> None:
    before = after(Cluster(), rows("a", "b"), a_form())
    hub = replace(a_hub(), status=before)
    # After a restart there is no state but the status.
    status = next_status(hub, NodeCounts(), forms=1, last_sync=None, read_failure=LOST, now=at(60))
    assert replace(status, conditions=before.conditions) == before
    assert conditions_of(status)["Ready"] == ("False", "DatabaseConnectionFailed")
    [ready] = [condition for condition in status.conditions if condition.type == "Ready"]
    assert ready.message.endswith(": no route to host")
    assert ready.last_transition_time == at(60)


def test_hub_that_waits_for_the_key_says_why() -> None:
    before = after(Cluster(), rows("a", "b"), a_form())
    hub = replace(a_hub(), status=before)
    missing = MissingKey("grant get on the Secret")

    def waiting(key: MissingKey | None, failure: ReadFailure | None = None) -> HubStatus:
        return next_status(
            hub,
            NodeCounts(),
            forms=1,
            last_sync=None,
            read_failure=failure,
            missing_key=key,
            now=at(60),
        )

    status = waiting(missing)
    assert replace(status, conditions=before.conditions) == before
    [ready] = [condition for condition in status.conditions if condition.type == "Ready"]
    assert (ready.status, ready.reason) == ("False", "WaitingForKey")
    assert ready.message.endswith("without the installation key: grant get on the Secret")
    # A read that failed is more urgent, and a key that is being loaded is no problem yet.
    assert conditions_of(waiting(missing, LOST))["Ready"][1] == "DatabaseConnectionFailed"
    assert waiting(NO_KEY) == before


def test_long_error_is_cut() -> None:
    read_failure = ReadFailure("x" * 100_000, generation=2)
    status = next_status(
        a_hub(), NodeCounts(), forms=1, last_sync=None, read_failure=read_failure, now=NOON
    )
    assert all(len(condition.message) < 32768 for condition in status.conditions)


def test_status_is_unchanged_before_first_read() -> None:
    before = after(Cluster(), rows("a", "b"), a_form())
    hub = replace(a_hub(), status=before)
    assert next_status(hub, NodeCounts(), forms=1, last_sync=None, now=at(60)) == before


def test_new_hub_has_only_paused_condition() -> None:
    status = next_status(a_hub(), NodeCounts(), forms=0, last_sync=None, now=NOON)
    assert conditions_of(status) == {"Paused": ("False", "NotPaused")}
    assert status.observed_generation == 0


def test_generation_is_observed_after_read() -> None:
    before = after(Cluster(), rows("a"), a_form())
    hub = a_hub()
    plan = planned(Cluster(), rows("a"), a_form())
    last_sync = SyncResult.from_plan(plan, hub, NOON)
    newer = replace(hub, metadata=replace(hub.metadata, generation=3), status=before)
    status = next_status(newer, NodeCounts(), forms=1, last_sync=last_sync, now=at(1))
    assert status.observed_generation == 2
    failed = next_status(
        newer,
        NodeCounts(),
        forms=1,
        last_sync=last_sync,
        read_failure=ReadFailure("no route to host", generation=3),
        now=at(1),
    )
    assert failed.observed_generation == 3


@pytest.mark.parametrize(
    ("active", "source_changed", "identity"),
    [
        pytest.param((), True, "old", id="held, and the source has changed"),
        pytest.param((), False, "new", id="held"),
        pytest.param(("a", "b"), True, "new", id="nothing is held"),
    ],
)
def test_previous_source_stays_in_the_status_while_its_deletions_are_held(
    active: tuple[str, ...], identity: str, *, source_changed: bool
) -> None:
    guard = DeletionGuard(max_count=0, max_percent=0)
    hub = replace(a_hub(deletion_guard=guard), status=HubStatus(source_identity="old"))
    cluster = Cluster()
    synced(cluster, rows("a", "b"), a_form())
    plan = planned(cluster, rows(*active), a_form(), hub=hub)
    last_sync = SyncResult.from_plan(
        plan, hub, NOON, source_identity="new", source_changed=source_changed
    )
    status = next_status(hub, counted(cluster), forms=1, last_sync=last_sync, now=NOON)
    assert status.source_identity == identity


def test_held_deletions() -> None:
    hub = a_hub(deletion_guard=DeletionGuard(max_count=1, max_percent=0))
    cluster = Cluster()
    synced(cluster, rows("a", "b"), a_form(), hub=hub)
    status = after(cluster, [], a_form(), hub=hub)
    assert conditions_of(status)["DeletionHeld"] == ("True", "DeletionGuardExceeded")
    [held] = [condition for condition in status.conditions if condition.type == "DeletionHeld"]
    assert "2 nodes, " in held.message
    assert status.held_deletions is not None
    assert (status.held_deletions.count, status.held_deletions.nodes) == (2, ("a-web", "b-web"))
    assert held.message.endswith(status.held_deletions.digest)
    restarted = replace(hub, status=status)
    assert next_status(restarted, NodeCounts(), forms=1, last_sync=None, now=at(60)) == status


def test_paused_hub() -> None:
    status = next_status(a_hub(paused=True), NodeCounts(), forms=1, last_sync=None, now=NOON)
    assert conditions_of(status) == {"Paused": ("True", "Paused")}
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
def test_push_connected(source: HubSource, push: PushState | None, expected: Any) -> None:
    hub = a_hub(source=source)
    status = next_status(hub, NodeCounts(), forms=1, last_sync=None, push=push, now=NOON)
    assert conditions_of(status).get("PushConnected") == expected


def test_hold_is_urgent_and_so_is_its_end() -> None:
    cluster, hub = Cluster(), a_hub(deletion_guard=DeletionGuard(max_count=0, max_percent=0))
    before = after(cluster, rows("a", "b"), a_form(), hub=hub)
    held = after(cluster, [], a_form(), hub=hub)
    assert is_urgent(before, held)
    assert is_urgent(held, before)
    assert not is_urgent(before, replace(before, ready=7))
    assert not is_urgent(held, replace(held, ready=7))


@given(st.integers(0, 600))
@example(300)
def test_idle_hub_is_written_every_five_minutes(seconds: int) -> None:
    before = after(Cluster(), rows("a"), a_form())
    later = replace(before, last_sync_time=NOON + timedelta(seconds=seconds))
    assert is_worth_writing(before, later) == (seconds >= 300)
    assert is_worth_writing(before, replace(later, ready=7))


def test_first_read_is_written() -> None:
    assert is_worth_writing(HubStatus(), HubStatus(last_sync_time=NOON))
    assert not is_worth_writing(HubStatus(), HubStatus())


def test_status_without_a_read_replaces_that_of_a_read() -> None:
    assert is_worth_writing(HubStatus(last_sync_time=NOON), HubStatus())
