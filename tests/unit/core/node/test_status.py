"""The status of a node after a reconcile, and when it is equal to the previous one."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lynq.api import Condition, NodeStatus, ResourceState
from lynq.core.graph.build import build_graph
from lynq.core.graph.model import Entry
from lynq.core.graph.problems import GraphError
from lynq.core.node.inventory import InventoryItem, read_inventory
from lynq.core.node.objects import ObjectRef
from lynq.core.node.render import RenderError
from lynq.core.node.schedule import force_due_at
from lynq.core.node.state import ResourceOutcome
from lynq.core.node.status import (
    InvalidNode,
    StatusReport,
    invalid_status,
    inventory_status,
    next_status,
    readiness_losses,
    with_paused,
)
from lynq.core.node.variables import VariablesError
from unit.core.node.nodes import NOW

S = ResourceState
LATER = NOW + timedelta(minutes=3)
MINUTE = timedelta(minutes=1)
STATES = st.lists(st.sampled_from([state for state in S if state is not S.DELETING]), max_size=5)


def outcome(resource_id: str, state: ResourceState = S.READY, **more: Any) -> ResourceOutcome:
    ref = ObjectRef("apps/v1", "Deployment", "shop", f"acme-{resource_id}")
    return ResourceOutcome(
        **{"id": resource_id, "ref": ref, "state": state, "reason": "Reason", **more}
    )


def report(outcomes: Sequence[ResourceOutcome], **more: Any) -> StatusReport:
    return StatusReport(**{"namespace": "shop", "generation": 3, "outcomes": outcomes, **more})


def after(*states: ResourceState) -> NodeStatus:
    outcomes = [outcome(f"r{position}", state) for position, state in enumerate(states)]
    return next_status(NodeStatus(), report(outcomes), NOW)


def conditions(status: NodeStatus) -> dict[str, tuple[str, str]]:
    return {
        condition.type: (str(condition.status), condition.reason) for condition in status.conditions
    }


def condition(status: NodeStatus, type_: str) -> Condition:
    return next(condition for condition in status.conditions if condition.type == type_)


@pytest.mark.parametrize(
    ("states", "ready", "degraded"),
    [
        ([], "Reconciled", "Healthy"),
        ([S.READY, S.READY], "Reconciled", "Healthy"),
        ([S.READY, S.PROGRESSING], "NotAllResourcesReady", "ResourcesNotReady"),
        ([S.PROGRESSING, S.WAITING], "NotAllResourcesReady", "ResourcesNotReady"),
        ([S.READY, S.FAILED], "ResourcesFailed", "ResourceFailures"),
        ([S.FAILED, S.SKIPPED], "ResourcesFailed", "ResourceFailures"),
        ([S.CONFLICTED], "ResourcesConflicted", "ResourceConflicts"),
        ([S.FAILED, S.CONFLICTED], "ResourcesFailedAndConflicted", "ResourceFailuresAndConflicts"),
    ],
)
def test_conflict_outranks_failure_and_failure_outranks_not_ready(
    states: list[ResourceState], ready: str, degraded: str
) -> None:
    status = after(*states)
    is_ready = ready == "Reconciled"
    has_conflict = S.CONFLICTED in states
    assert conditions(status) == {
        "Ready": ("True" if is_ready else "False", ready),
        "Progressing": (
            ("True", "Reconciling") if S.PROGRESSING in states else ("False", "ReconcileComplete")
        ),
        "Conflicted": (("True", "ResourceConflict") if has_conflict else ("False", "NoConflict")),
        "Degraded": ("False" if is_ready else "True", degraded),
    }


@given(STATES)
def test_counts_match_the_states(states: list[ResourceState]) -> None:
    status = after(*states)
    assert status.desired_resources == len(states)
    assert status.ready_resources == states.count(S.READY)
    assert status.failed_resources == states.count(S.FAILED) + states.count(S.CONFLICTED)
    assert status.skipped_resources == len(status.skipped_resource_ids) == states.count(S.SKIPPED)
    assert len(status.resources) == len(status.applied_resources) == len(states)


@given(STATES, STATES)
def test_unchanged_status_is_equal_at_any_later_time(
    before: list[ResourceState], states: list[ResourceState]
) -> None:
    outcomes = [outcome(f"r{position}", state) for position, state in enumerate(states)]
    first = next_status(after(*before), report(outcomes), LATER)
    wire = msgspec.json.decode(msgspec.json.encode(first), type=NodeStatus)
    assert next_status(wire, report(outcomes), LATER + timedelta(days=1)) == wire


def test_transition_time_moves_with_the_status_and_not_with_the_reason() -> None:
    first = after(S.PROGRESSING)
    second = next_status(first, report([outcome("r0", S.FAILED)]), LATER)
    third = next_status(second, report([outcome("r0", S.READY)]), LATER)
    assert condition(second, "Ready").reason != condition(first, "Ready").reason
    assert condition(second, "Ready").last_transition_time == NOW
    assert condition(third, "Ready").last_transition_time == LATER


def test_since_of_a_resource_moves_with_its_state_only() -> None:
    first = after(S.PROGRESSING, S.PROGRESSING)
    changed = [outcome("r0", S.PROGRESSING, message="another"), outcome("r1", S.READY)]
    second = next_status(first, report(changed), LATER)
    assert [entry.since for entry in second.resources] == [NOW, LATER]


def test_fields_digest_stays_until_the_next_write() -> None:
    first = next_status(NodeStatus(), report([outcome("a", fields_digest=b"\x01")]), NOW)
    unknown = next_status(first, report([outcome("a", S.CONFLICTED)]), LATER)
    written = next_status(unknown, report([outcome("a", fields_digest=b"\x02")]), LATER)
    digests = [status.resources[0].fields_digest for status in (first, unknown, written)]
    assert digests == ["01", "01", "02"]


def test_times_have_whole_seconds() -> None:
    status = next_status(NodeStatus(), report([outcome("a")]), NOW + timedelta(microseconds=5))
    assert status.resources[0].since == NOW
    assert status.last_full_reconcile_at == NOW


def test_skipped_ids_are_cleared_when_no_resource_is_skipped() -> None:
    first = after(S.SKIPPED)
    assert first.skipped_resource_ids == ("r0",)
    assert next_status(first, report([outcome("r0")]), NOW).skipped_resource_ids == ()


def test_every_object_is_listed_with_kind_namespace_and_name() -> None:
    status = next_status(
        NodeStatus(),
        report(
            [outcome("web", S.FAILED, message="no quota"),
             outcome("ns", ref=ObjectRef("v1", "Namespace", "", "acme"))],
            pruning=[outcome("old", S.DELETING)],
        ),
        NOW,
    )  # fmt: skip
    assert status.applied_resources == (
        "Deployment/shop/acme-old@old",
        "Deployment/shop/acme-web@web",
        "Namespace/shop/acme@ns",
    )
    assert [(entry.id, entry.state, entry.namespace) for entry in status.resources] == [
        ("web", S.FAILED, "shop"),
        ("ns", S.READY, ""),
        ("old", S.DELETING, "shop"),
    ]
    assert status.desired_resources == 2


def test_unresolved_resource_keeps_its_objects_in_the_inventory() -> None:
    item = InventoryItem("cert", ObjectRef("cert-manager.io/v1", "Certificate", "tenant", "x"))
    nameless = outcome("cert", S.FAILED, ref=ObjectRef("cert-manager.io/v1", "Certificate", "", ""))
    status = next_status(NodeStatus(), report([nameless], unresolved=[item]), NOW)
    assert status.applied_resources == ("Certificate/tenant/x@cert",)
    assert read_inventory(status, "shop", {}) == (item,)
    assert status.failed_resources == 1


def test_resource_that_was_never_rendered_is_listed_without_a_name() -> None:
    nameless = outcome("a", S.FAILED, ref=ObjectRef("v1", "Secret", "", ""))
    status = next_status(NodeStatus(), report([nameless]), NOW)
    assert [(entry.id, entry.name) for entry in status.resources] == [("a", "")]
    assert status.applied_resources == ()


def test_no_two_entries_have_the_same_key() -> None:
    ref = ObjectRef("extensions/v1", "Deployment", "shop", "acme-a")
    pruning = [outcome("a", S.DELETING, ref=ref)]
    status = next_status(NodeStatus(), report([outcome("a")], pruning=pruning), NOW)
    # The key has no group. The object of the other group must not leave the inventory.
    entries = [(entry.id, entry.api_version, entry.state) for entry in status.resources]
    assert entries == [("a", "apps/v1", S.READY), ("", "extensions/v1", S.DELETING)]


def test_node_is_progressing_while_resources_are_applied() -> None:
    status = next_status(NodeStatus(), report([outcome("a")], is_applying=True), NOW)
    assert conditions(status)["Progressing"] == ("True", "Reconciling")


def test_message_names_failed_and_counts_ready_resources() -> None:
    status = after(S.READY, S.FAILED, S.CONFLICTED, S.SKIPPED)
    assert condition(status, "Degraded").message == (
        "not all resources are ready: 1/4 ready; 2 failed: r1, r2; "
        "of these in conflict: r2; 1 skipped: r3"
    )
    many = after(*[S.FAILED] * 6)
    assert "6 failed: r0, r1, r2 and 3 more" in condition(many, "Ready").message


def test_message_quotes_the_failure_of_a_resource() -> None:
    problem = RenderError("c", "data.x", 'there is no variable "plan"', line=2, variable="plan")
    nameless = ObjectRef("v1", "ConfigMap", "", "")
    unrendered = outcome("c", S.FAILED, ref=nameless, message=str(problem))
    status = next_status(NodeStatus(), report([outcome("a"), unrendered]), NOW)
    message = (
        "not all resources are ready: 1/2 ready; 1 failed: c. "
        '"c" could not be rendered: data.x, line 2: there is no variable "plan"'
    )
    assert condition(status, "Ready").message == message
    assert condition(status, "Degraded").message == message


def test_message_quotes_three_failures_with_ids_and_limited_length() -> None:
    long = "no quota\n" + "x" * 1000
    failed = [outcome(f"r{number}", S.FAILED, message=long) for number in range(4)]
    conflicted = outcome("r4", S.CONFLICTED, message="taken.")
    status = next_status(NodeStatus(), report([conflicted, *failed]), NOW)
    message = condition(status, "Degraded").message
    assert '. "r4": taken. "r0": no quota xx' in message
    assert '"r1": no quota' in message
    assert '"r2"' not in message
    assert len(message) < 900


def test_message_does_not_quote_progressing_resources() -> None:
    progressing = outcome("a", S.PROGRESSING, message="0 of 2 ready")
    status = next_status(NodeStatus(), report([progressing]), NOW)
    assert condition(status, "Degraded").message == "not all resources are ready: 0/1 ready"


@given(st.text(max_size=40), st.sampled_from([0, 500, 100_000]))
def test_messages_have_one_line_and_limited_length(text: str, more: int) -> None:
    long = outcome("a" * more, S.FAILED, message=text + "\n" + "x" * more)
    status = next_status(NodeStatus(), report([long]), NOW)
    assert len(status.resources[0].message) <= 1000
    assert status.resources[0].message.isprintable()
    assert all(len(condition.message) <= 32768 for condition in status.conditions)


def test_conditions_have_the_observed_generation() -> None:
    assert {condition.observed_generation for condition in after(S.READY).conditions} == {3}
    assert after().observed_generation == 3


def test_first_reconcile_is_the_baseline_and_only_a_forced_one_moves_it() -> None:
    first = next_status(NodeStatus(), report([]), NOW)
    second = next_status(first, report([]), LATER)
    third = next_status(second, report([], was_forced=True), LATER)
    baselines = [status.last_full_reconcile_at for status in (first, second, third)]
    assert baselines == [NOW, NOW, LATER]


@pytest.mark.parametrize(
    ("ahead", "baseline"),
    [
        (timedelta(days=-1), NOW - timedelta(days=1)),
        (timedelta(0), NOW),
        (timedelta(seconds=1), NOW),
        (timedelta(days=365 * 70), NOW),
    ],
)
def test_baseline_in_the_future_is_replaced_by_now(ahead: timedelta, baseline: datetime) -> None:
    before = replace(after(S.READY), last_full_reconcile_at=NOW + ahead)
    status = next_status(before, report([]), NOW)
    assert status.last_full_reconcile_at == baseline
    assert next_status(status, report([]), LATER).last_full_reconcile_at == baseline
    due = force_due_at(baseline, timedelta(minutes=10), "x")
    assert due is not None
    assert due <= NOW + timedelta(minutes=11)


@pytest.mark.parametrize(
    ("invalid", "ready", "degraded"),
    [
        (
            InvalidNode.with_variables(VariablesError("x")),
            "VariablesBuildError",
            "VariablesBuildError",
        ),
        (InvalidNode.with_graph(GraphError(())), "DependencyError", "DependencyCycle"),
    ],
)
def test_invalid_node_keeps_its_resources(invalid: InvalidNode, ready: str, degraded: str) -> None:
    before = after(S.READY)
    status = invalid_status(before, invalid, 4, LATER)
    assert conditions(status)["Ready"] == ("False", ready)
    assert conditions(status)["Degraded"] == ("True", degraded)
    assert list(conditions(status)) == list(conditions(before))
    assert (status.resources, status.applied_resources) == (
        before.resources,
        before.applied_resources,
    )
    assert status.observed_generation == 4


def test_dependency_cycle_is_reported() -> None:
    with pytest.raises(GraphError) as error:
        build_graph([Entry("a", ("b",)), Entry("b", ("a",))])
    status = invalid_status(NodeStatus(), InvalidNode.with_graph(error.value), 1, NOW)
    assert "circular dependency" in condition(status, "Ready").message


def test_condition_paused_appears_with_the_first_pause() -> None:
    running = after(S.READY)
    assert with_paused(running, 3, LATER, is_paused=False) == running
    paused = with_paused(running, 3, LATER, is_paused=True)
    assert conditions(paused)["Paused"] == ("True", "Paused")
    resumed = with_paused(paused, 3, LATER, is_paused=False)
    assert conditions(resumed)["Paused"] == ("False", "NotPaused")
    next_pass = next_status(resumed, report([outcome("r0")]), LATER)
    assert conditions(next_pass)["Paused"] == ("False", "NotPaused")


def test_next_status_and_invalid_status_end_a_pause() -> None:
    paused = with_paused(after(S.READY), 3, NOW, is_paused=True)
    invalid = InvalidNode.with_variables(VariablesError("x"))
    for status in (
        next_status(paused, report([outcome("r0")]), LATER),
        invalid_status(paused, invalid, 3, LATER),
    ):
        assert conditions(status)["Paused"] == ("False", "NotPaused")
        assert condition(status, "Paused").last_transition_time == LATER


def test_inventory_is_written_before_a_new_object_is_applied() -> None:
    applying = report([outcome("a", S.FAILED)], is_applying=True, force_reconcile="1")
    status = inventory_status(NodeStatus(), applying, (), NOW)
    assert status is not None
    (entry,) = status.resources
    assert (entry.state, entry.reason, entry.message) == (
        S.WAITING,
        "Applying",
        "pending: not evaluated yet",
    )
    assert status.applied_resources == ("Deployment/shop/acme-a@a",)
    assert status.last_handled_force_reconcile == ""


def test_inventory_write_keeps_the_rest_of_an_existing_status() -> None:
    before = after(S.READY)
    applying = report([outcome("r0", S.PROGRESSING), outcome("new")], is_applying=True)
    status = inventory_status(before, applying, read_inventory(before, "shop", {}), LATER)
    assert status is not None
    assert status.conditions == before.conditions
    assert status.resources[0] == before.resources[0]
    assert [entry.id for entry in status.resources] == ["r0", "new"]


@pytest.mark.parametrize("is_applying", [True, False])
def test_inventory_is_not_written_without_new_objects_or_without_writes(
    *, is_applying: bool
) -> None:
    before = after(S.READY)
    outcomes = [outcome("r0"), *(() if is_applying else [outcome("new")])]
    inventory = read_inventory(before, "shop", {})
    assert (
        inventory_status(before, report(outcomes, is_applying=is_applying), inventory, NOW) is None
    )


def test_loss_of_readiness_is_recorded_until_the_object_is_ready_again() -> None:
    ready = after(S.READY)
    lost = next_status(ready, report([outcome("r0", S.PROGRESSING)]), NOW + MINUTE)
    (entry,) = lost.resources
    assert entry.readiness_lost_at == NOW + MINUTE
    timed_out = next_status(lost, report([outcome("r0", S.FAILED)]), NOW + 2 * MINUTE)
    assert timed_out.resources[0].readiness_lost_at == NOW + MINUTE
    again = next_status(timed_out, report([outcome("r0", S.READY)]), NOW + 3 * MINUTE)
    assert again.resources[0].readiness_lost_at is None


def test_object_that_was_never_ready_has_lost_no_readiness() -> None:
    status = next_status(after(S.PROGRESSING), report([outcome("r0", S.FAILED)]), NOW + MINUTE)
    assert status.resources[0].readiness_lost_at is None
    assert readiness_losses(status, NOW) == {}


def test_ready_object_loses_its_readiness_now() -> None:
    status = after(S.READY)
    later = NOW + MINUTE
    assert list(readiness_losses(status, later).values()) == [later]
