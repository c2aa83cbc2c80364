"""What a node's status says after a pass, and when it need not be written."""

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
from lynq.core.node.state import ResourceOutcome
from lynq.core.node.status import (
    InvalidNode,
    StatusReport,
    force_due_at,
    invalid_status,
    next_status,
    with_paused,
)
from lynq.core.node.variables import VariablesError
from unit.core.node.nodes import NOW

S = ResourceState
LATER = NOW + timedelta(minutes=3)
STATES = st.lists(st.sampled_from([state for state in S if state is not S.DELETING]), max_size=5)


def outcome(this: str, state: ResourceState = S.READY, **more: Any) -> ResourceOutcome:
    ref = ObjectRef("apps/v1", "Deployment", "shop", f"acme-{this}")
    return ResourceOutcome(**{"id": this, "ref": ref, "state": state, "reason": "Reason", **more})


def report(outcomes: Sequence[ResourceOutcome], **more: Any) -> StatusReport:
    return StatusReport(**{"namespace": "shop", "generation": 3, "outcomes": outcomes, **more})


def after(*states: ResourceState) -> NodeStatus:
    outcomes = [outcome(f"r{place}", state) for place, state in enumerate(states)]
    return next_status(NodeStatus(), report(outcomes), NOW)


def told(status: NodeStatus) -> dict[str, tuple[str, str]]:
    return {this.type: (str(this.status), this.reason) for this in status.conditions}


def condition(status: NodeStatus, type_: str) -> Condition:
    return next(this for this in status.conditions if this.type == type_)


@pytest.mark.parametrize(
    ("states", "ready", "degraded"),
    [
        ([], "Reconciled", "Healthy"),
        ([S.READY, S.READY], "Reconciled", "Healthy"),
        ([S.READY, S.PROGRESSING], "NotAllResourcesReady", "ResourcesNotReady"),
        ([S.PROGRESSING, S.WAITING], "NotAllResourcesReady", "ResourcesNotReady"),
        ([S.READY, S.FAILED], "ResourcesFailed", "ResourceFailures"),
        ([S.FAILED, S.SKIPPED], "ResourcesFailed", "ResourceFailures"),
        ([S.CONFLICTED], "ResourcesFailedAndConflicted", "ResourceFailuresAndConflicts"),
        ([S.FAILED, S.CONFLICTED], "ResourcesFailedAndConflicted", "ResourceFailuresAndConflicts"),
    ],
)
def test_the_reasons_by_priority(states: list[ResourceState], ready: str, degraded: str) -> None:
    status = after(*states)
    is_well = ready == "Reconciled"
    has_conflict = S.CONFLICTED in states
    assert told(status) == {
        "Ready": ("True" if is_well else "False", ready),
        "Progressing": ("False", "ReconcileComplete"),
        "Conflicted": (("True", "ResourceConflict") if has_conflict else ("False", "NoConflict")),
        "Degraded": ("False" if is_well else "True", degraded),
    }


@given(STATES)
def test_the_counts(states: list[ResourceState]) -> None:
    status = after(*states)
    assert status.desired_resources == len(states)
    assert status.ready_resources == states.count(S.READY)
    assert status.failed_resources == states.count(S.FAILED) + states.count(S.CONFLICTED)
    assert status.skipped_resources == len(status.skipped_resource_ids) == states.count(S.SKIPPED)
    assert len(status.resources) == len(status.applied_resources) == len(states)


@given(STATES, STATES)
def test_an_unchanged_status_is_equal_however_much_later(
    before: list[ResourceState], states: list[ResourceState]
) -> None:
    outcomes = [outcome(f"r{place}", state) for place, state in enumerate(states)]
    first = next_status(after(*before), report(outcomes), LATER)
    wire = msgspec.json.decode(msgspec.json.encode(first), type=NodeStatus)
    assert next_status(wire, report(outcomes), LATER + timedelta(days=1)) == wire


def test_a_status_flip_moves_the_time_and_a_new_reason_does_not() -> None:
    first = after(S.PROGRESSING)
    second = next_status(first, report([outcome("r0", S.FAILED)]), LATER)
    third = next_status(second, report([outcome("r0", S.READY)]), LATER)
    assert condition(second, "Ready").reason != condition(first, "Ready").reason
    assert condition(second, "Ready").last_transition_time == NOW
    assert condition(third, "Ready").last_transition_time == LATER


def test_a_resource_is_in_its_state_since_it_came_into_it() -> None:
    first = after(S.PROGRESSING, S.PROGRESSING)
    changed = [outcome("r0", S.PROGRESSING, message="another"), outcome("r1", S.READY)]
    second = next_status(first, report(changed), LATER)
    assert [this.since for this in second.resources] == [NOW, LATER]


def test_the_fields_that_we_left_are_known_until_we_write_again() -> None:
    first = next_status(NodeStatus(), report([outcome("a", fields_digest=b"\x01")]), NOW)
    unknown = next_status(first, report([outcome("a", S.CONFLICTED)]), LATER)
    written = next_status(unknown, report([outcome("a", fields_digest=b"\x02")]), LATER)
    digests = [this.resources[0].fields_digest for this in (first, unknown, written)]
    assert digests == ["01", "01", "02"]


def test_times_are_whole_seconds_as_kubernetes_writes_them() -> None:
    status = next_status(NodeStatus(), report([outcome("a")]), NOW + timedelta(microseconds=5))
    assert status.resources[0].since == NOW
    assert status.last_full_reconcile_at == NOW


def test_skipped_ids_are_cleared() -> None:
    first = after(S.SKIPPED)
    assert first.skipped_resource_ids == ("r0",)
    assert next_status(first, report([outcome("r0")]), NOW).skipped_resource_ids == ()


def test_every_object_is_listed_with_its_place() -> None:
    status = next_status(
        NodeStatus(),
        report(
            [outcome("web", S.FAILED, message="no quota"),
             outcome("ns", ref=ObjectRef("v1", "Namespace", "", "acme"))],
            leaving=[outcome("old", S.DELETING)],
        ),
        NOW,
    )  # fmt: skip
    assert status.applied_resources == (
        "Deployment/shop/acme-old@old",
        "Deployment/shop/acme-web@web",
        "Namespace/shop/acme@ns",
    )
    assert [(this.id, this.state, this.namespace) for this in status.resources] == [
        ("web", S.FAILED, "shop"),
        ("ns", S.READY, ""),
        ("old", S.DELETING, "shop"),
    ]
    assert status.desired_resources == 2


def test_an_entry_that_cannot_be_rendered_keeps_its_objects() -> None:
    known = InventoryItem("cert", ObjectRef("cert-manager.io/v1", "Certificate", "tenant", "x"))
    nameless = outcome("cert", S.FAILED, ref=ObjectRef("cert-manager.io/v1", "Certificate", "", ""))
    status = next_status(NodeStatus(), report([nameless], undecided=[known]), NOW)
    assert status.applied_resources == ("Certificate/tenant/x@cert",)
    assert read_inventory(status, "shop", {}) == (known,)
    assert status.failed_resources == 1


def test_an_entry_that_was_never_rendered_is_listed_without_a_name() -> None:
    nameless = outcome("a", S.FAILED, ref=ObjectRef("v1", "Secret", "", ""))
    status = next_status(NodeStatus(), report([nameless]), NOW)
    assert [(this.id, this.name) for this in status.resources] == [("a", "")]
    assert status.applied_resources == ()


def test_no_two_entries_have_the_same_keys() -> None:
    ref = ObjectRef("extensions/v1", "Deployment", "shop", "acme-a")
    leaving = [outcome("a", S.DELETING, ref=ref)]
    status = next_status(NodeStatus(), report([outcome("a")], leaving=leaving), NOW)
    assert [this.state for this in status.resources] == [S.READY]


def test_while_it_writes_a_node_is_progressing() -> None:
    status = next_status(NodeStatus(), report([outcome("a")], is_writing=True), NOW)
    assert told(status)["Progressing"] == ("True", "Reconciling")


def test_messages_name_the_failed_and_count_the_ready() -> None:
    status = after(S.READY, S.FAILED, S.CONFLICTED, S.SKIPPED)
    assert condition(status, "Degraded").message == (
        "not all resources are ready: 1/4 ready; 2 failed: r1, r2; "
        "of these in conflict: r2; 1 skipped: r3"
    )
    many = after(*[S.FAILED] * 6)
    assert "6 failed: r0, r1, r2 and 3 more" in condition(many, "Ready").message


def test_a_failure_is_told_in_the_resources_own_words() -> None:
    problem = RenderError("c", "data.x", 'there is no variable "plan"', line=2, variable="plan")
    nameless = ObjectRef("v1", "ConfigMap", "", "")
    unrendered = outcome("c", S.FAILED, ref=nameless, message=str(problem))
    status = next_status(NodeStatus(), report([outcome("a"), unrendered]), NOW)
    told = (
        "not all resources are ready: 1/2 ready; 1 failed: c. "
        '"c" could not be rendered: data.x, line 2: there is no variable "plan"'
    )
    assert [condition(status, each).message for each in ("Ready", "Degraded")] == [told, told]


def test_three_failures_speak_each_with_its_id_and_to_a_limit() -> None:
    long = "no quota\n" + "x" * 1000
    failed = [outcome(f"r{each}", S.FAILED, message=long) for each in range(4)]
    conflicted = outcome("r4", S.CONFLICTED, message="taken.")
    status = next_status(NodeStatus(), report([conflicted, *failed]), NOW)
    message = condition(status, "Degraded").message
    assert '. "r4": taken. "r0": no quota xx' in message
    assert '"r1": no quota' in message
    assert '"r2"' not in message
    assert len(message) < 900


def test_what_has_not_failed_says_nothing() -> None:
    going = outcome("a", S.PROGRESSING, message="0 of 2 ready")
    status = next_status(NodeStatus(), report([going]), NOW)
    assert condition(status, "Degraded").message == "not all resources are ready: 0/1 ready"


@given(st.text(max_size=40), st.sampled_from([0, 500, 100_000]))
def test_messages_take_one_line_and_come_to_an_end(text: str, more: int) -> None:
    long = outcome("a" * more, S.FAILED, message=text + "\n" + "x" * more)
    status = next_status(NodeStatus(), report([long]), NOW)
    assert len(status.resources[0].message) <= 1000
    assert status.resources[0].message.isprintable()
    assert all(len(this.message) <= 32768 for this in status.conditions)


def test_conditions_say_which_generation_they_speak_about() -> None:
    assert {this.observed_generation for this in after(S.READY).conditions} == {3}
    assert after().observed_generation == 3


def test_the_first_pass_is_the_baseline_and_only_a_forced_one_moves_it() -> None:
    first = next_status(NodeStatus(), report([]), NOW)
    second = next_status(first, report([]), LATER)
    third = next_status(second, report([], was_forced=True), LATER)
    stamps = [this.last_full_reconcile_at for this in (first, second, third)]
    assert stamps == [NOW, NOW, LATER]


@pytest.mark.parametrize(
    ("ahead", "baseline"),
    [
        (timedelta(days=-1), NOW - timedelta(days=1)),
        (timedelta(0), NOW),
        (timedelta(seconds=1), NOW),
        (timedelta(days=365 * 70), NOW),
    ],
)
def test_a_baseline_from_a_clock_that_was_ahead_counts_as_now(
    ahead: timedelta, baseline: datetime
) -> None:
    before = replace(after(S.READY), last_full_reconcile_at=NOW + ahead)
    status = next_status(before, report([]), NOW)
    assert status.last_full_reconcile_at == baseline
    assert next_status(status, report([]), LATER).last_full_reconcile_at == baseline
    due = force_due_at(baseline, timedelta(minutes=10), "x")
    assert due is not None
    assert due <= NOW + timedelta(minutes=11)


@pytest.mark.parametrize(
    ("trouble", "ready", "degraded"),
    [
        (
            InvalidNode.with_variables(VariablesError("x")),
            "VariablesBuildError",
            "VariablesBuildError",
        ),
        (InvalidNode.with_graph(GraphError(())), "DependencyError", "DependencyCycle"),
    ],
)
def test_when_nothing_can_be_tried_all_that_is_known_stays(
    trouble: InvalidNode, ready: str, degraded: str
) -> None:
    before = after(S.READY)
    status = invalid_status(before, trouble, 4, LATER)
    assert told(status)["Ready"] == ("False", ready)
    assert told(status)["Degraded"] == ("True", degraded)
    assert [this.type for this in status.conditions] == [this.type for this in before.conditions]
    assert (status.resources, status.applied_resources) == (
        before.resources,
        before.applied_resources,
    )
    assert status.observed_generation == 4


def test_the_circle_is_named() -> None:
    with pytest.raises(GraphError) as error:
        build_graph([Entry("a", ("b",)), Entry("b", ("a",))])
    status = invalid_status(NodeStatus(), InvalidNode.with_graph(error.value), 1, NOW)
    assert "circular dependency" in condition(status, "Ready").message


def test_paused_is_shown_once_it_ever_was() -> None:
    running = after(S.READY)
    assert with_paused(running, 3, LATER, is_paused=False) == running
    paused = with_paused(running, 3, LATER, is_paused=True)
    assert told(paused)["Paused"] == ("True", "Paused")
    resumed = with_paused(paused, 3, LATER, is_paused=False)
    assert told(resumed)["Paused"] == ("False", "NotPaused")
    next_pass = next_status(resumed, report([outcome("r0")]), LATER)
    assert told(next_pass)["Paused"] == ("False", "NotPaused")


@given(st.uuids().map(str))
def test_forced_passes_are_spread_over_a_tenth_of_the_interval(uid: str) -> None:
    due = force_due_at(NOW, timedelta(minutes=10), uid)
    assert due is not None
    assert timedelta(minutes=10) <= due - NOW <= timedelta(minutes=11)
    assert due == force_due_at(NOW, timedelta(minutes=10), uid)


def test_without_a_baseline_nothing_is_due() -> None:
    assert force_due_at(None, timedelta(minutes=10), "x") is None
