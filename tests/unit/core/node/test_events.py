"""Events about a node: each state change once."""

import pytest
from msgspec.structs import replace

from lynq.api import NodeStatus, ResourceState
from lynq.api.events import EventReason
from lynq.api.reasons import OrphanReason, StateReason
from lynq.core.node import events
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import ObjectRef
from lynq.core.node.render import RenderError
from lynq.core.node.state import ResourceOutcome
from lynq.core.node.status import InvalidNode, StatusReport, invalid_status, next_status
from lynq.core.node.variables import VariablesError
from unit.core.node.nodes import NOW, a_node, a_resource

REF = ObjectRef("v1", "ConfigMap", "shop", "acme-config")


def outcome(state: ResourceState, reason: str, message: str = "words") -> ResourceOutcome:
    return ResourceOutcome(id="config", ref=REF, state=state, reason=reason, message=message)


def status_of(*outcomes: ResourceOutcome) -> NodeStatus:
    report = StatusReport(namespace="shop", generation=1, outcomes=outcomes)
    return next_status(NodeStatus(), report, NOW)


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        (ResourceState.FAILED, "ApplyFailed", EventReason.APPLY_FAILED),
        (ResourceState.FAILED, "TemplateRenderError", EventReason.TEMPLATE_RENDER_ERROR),
        (ResourceState.FAILED, "ReadinessTimeout", EventReason.READINESS_TIMEOUT),
        (ResourceState.FAILED, "JobFailed", EventReason.RESOURCE_FAILED),
        (ResourceState.CONFLICTED, "ResourceConflict", EventReason.RESOURCE_CONFLICT),
        (ResourceState.SKIPPED, "DependencySkipped", EventReason.DEPENDENCY_SKIPPED),
    ],
)
def test_failure_is_reported_once(state: ResourceState, reason: str, expected: EventReason) -> None:
    failed = outcome(state, reason)
    (event,) = events.state_events(NodeStatus(), [failed])
    assert (event.reason, event.warns) == (expected, True)
    assert "config" in event.message
    assert list(events.state_events(status_of(failed), [failed])) == []


def test_render_error_names_kind_and_id() -> None:
    problem = RenderError("config", "data.x", 'there is no variable "plan"', line=2)
    nameless = ObjectRef("v1", "ConfigMap", "", "")
    failed = outcome(ResourceState.FAILED, "TemplateRenderError", str(problem))
    (event,) = events.state_events(NodeStatus(), [replace(failed, ref=nameless)])
    assert event.message == (
        'ConfigMap "config" could not be rendered: data.x, line 2: there is no variable "plan"'
    )
    (event,) = events.state_events(NodeStatus(), [replace(failed, ref=ObjectRef("", "", "", ""))])
    assert event.message.startswith('"config" could not be rendered: ')


def test_render_error_of_a_resource_with_an_object_is_reported_once() -> None:
    nameless = ObjectRef("v1", "ConfigMap", "", "")
    failed = replace(outcome(ResourceState.FAILED, "TemplateRenderError"), ref=nameless)
    unresolved = [InventoryItem("config", REF)]
    report = StatusReport(namespace="shop", generation=1, outcomes=[failed], unresolved=unresolved)
    before = status_of(outcome(ResourceState.READY, "Ready"))
    assert len([*events.state_events(before, [failed])]) == 1
    assert [*events.state_events(next_status(before, report, NOW), [failed])] == []


def test_event_names_the_object_if_it_has_a_name() -> None:
    skipped = outcome(ResourceState.SKIPPED, "DependencySkipped", '"database" has failed')
    (event,) = events.state_events(NodeStatus(), [skipped])
    assert event.message == '"config" (ConfigMap shop/acme-config): "database" has failed'
    nameless = replace(skipped, ref=ObjectRef("v1", "ConfigMap", "", ""))
    (event,) = events.state_events(NodeStatus(), [nameless])
    assert event.message == '"config" (ConfigMap): "database" has failed'


def test_new_cause_of_a_failure_is_reported() -> None:
    before = status_of(outcome(ResourceState.FAILED, "ApplyFailed", "no namespace"))
    after = outcome(ResourceState.FAILED, "ApplyFailed", "no right")
    assert len(list(events.state_events(before, [after]))) == 1


def test_timeout_is_reported_once_even_if_its_message_changes() -> None:
    before = status_of(outcome(ResourceState.FAILED, "ReadinessTimeout", "0 of 2 ready"))
    after = outcome(ResourceState.FAILED, "ReadinessTimeout", "1 of 2 ready")
    assert list(events.state_events(before, [after])) == []


def test_progressing_and_ready_resources_are_not_reported() -> None:
    outcomes = [
        outcome(ResourceState.PROGRESSING, "ReplicasNotReady"),
        outcome(ResourceState.WAITING, "DependencyNotReady"),
        outcome(ResourceState.READY, "Ready"),
    ]
    assert list(events.state_events(NodeStatus(), outcomes)) == []


def test_proceeding_is_reported_with_the_write_or_the_failure() -> None:
    despite = replace(outcome(ResourceState.READY, "Ready"), failed_dependency="database")
    failed = replace(outcome(ResourceState.FAILED, "ReadinessTimeout"), id="database")
    previous = status_of(failed)
    (event,) = events.proceeding_events(previous, [despite], {"config"})
    assert event.reason is EventReason.DEPENDENCY_FAILED_BUT_PROCEEDING
    assert "database" in event.message
    assert list(events.proceeding_events(previous, [despite], set())) == []
    assert list(events.proceeding_events(NodeStatus(), [despite], set())) == [event]


def test_becoming_ready_is_reported_once() -> None:
    ready = status_of(outcome(ResourceState.READY, str(StateReason.READY)))
    (event,) = events.ready_events(NodeStatus(), ready)
    assert event.reason is EventReason.LYNQ_NODE_READY
    assert events.ready_events(ready, ready) == ()


def test_change_event_names_form_kinds_hub_and_row() -> None:
    node = a_node(a_resource(), a_resource("more"), hubId="shop", template_generation="4")
    ready = status_of(outcome(ResourceState.READY, str(StateReason.READY)))
    event = events.change_event(node, ready, changed=1)
    assert (event.reason, event.warns) == (EventReason.TEMPLATE_APPLIED_SUCCESS, False)
    assert "1 of 1 resources are ready" in event.message
    for part in ('"web"', "generation 4", "2 resources", "2 ConfigMap(s)", '"shop"', '"acme"'):
        assert part in event.message


def test_change_event_depends_on_resources_that_failed_or_wait() -> None:
    node = a_node(a_resource())
    failed = status_of(outcome(ResourceState.FAILED, str(EventReason.APPLY_FAILED)))
    event = events.change_event(node, failed, changed=1)
    assert (event.reason, event.warns) == (EventReason.TEMPLATE_APPLIED_PARTIAL, True)
    waiting = status_of(outcome(ResourceState.WAITING, str(StateReason.DEPENDENCY_NOT_READY)))
    event = events.change_event(node, waiting, changed=1)
    assert (event.reason, event.warns) == (EventReason.TEMPLATE_RESOURCES_APPLYING, False)


def test_invalid_node_is_reported_once() -> None:
    invalid = InvalidNode.with_variables(VariablesError("not readable"))
    assert len(events.invalid_events(NodeStatus(), invalid)) == 1
    status = invalid_status(NodeStatus(), invalid, 1, NOW)
    assert events.invalid_events(status, invalid) == ()


def test_object_removed_from_the_form_is_reported_as_deleted_or_retained() -> None:
    item = InventoryItem("config", REF)
    deleted, kept = (
        events.removed_from_form(item, retained=retained) for retained in (False, True)
    )
    assert deleted.reason is EventReason.ORPHANED_RESOURCE_DELETED
    assert kept.reason is EventReason.ORPHANED_RESOURCE_RETAINED
    assert events.retained(item).reason is EventReason.RESOURCE_RETAINED


def test_failed_cleanup_names_three_objects_and_counts_the_rest() -> None:
    failed = [outcome(ResourceState.DELETING, "RemovalFailed")] * 5
    event = events.cleanup_failed(failed)
    assert event.reason is EventReason.CLEANUP_PARTIAL_FAILURE
    assert event.message.count("acme-config") == 3
    assert "2 more" in event.message


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        (OrphanReason.REMOVED_FROM_TEMPLATE, "it was removed from the LynqForm"),
        (OrphanReason.LYNQ_NODE_DELETED, "its LynqNode was deleted"),
    ],
)
def test_orphaned_object_gets_an_event_with_the_cause(reason: OrphanReason, cause: str) -> None:
    event = events.orphaned(reason)
    assert event.reason is EventReason.ORPHAN_MARKERS_ADDED
    assert event.message == f"retained as an orphan: {cause}"
    assert events.adopted().reason is EventReason.ORPHAN_MARKERS_REMOVED


def test_takeover_names_object_and_field_managers() -> None:
    event = events.fields_taken_over(REF, "kubectl: .data.plan")
    assert (event.reason, event.warns) == (EventReason.FORCE_APPLY, True)
    assert event.message == (
        "ConfigMap shop/acme-config: took over fields of other field managers: kubectl: .data.plan"
    )


def test_end_of_the_finalizer_is_reported() -> None:
    assert events.node_deleted().reason is EventReason.LYNQ_NODE_DELETED
    preserved = events.retained_without_hub(InventoryItem("config", REF))
    assert preserved.reason is EventReason.RETAIN_RESOURCE_PRESERVED
    assert "ConfigMap shop/acme-config" in preserved.message
