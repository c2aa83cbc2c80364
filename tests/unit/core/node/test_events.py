"""What is told about a node: every turn once."""

from dataclasses import replace

import pytest

from lynq.api import NodeStatus, ResourceState
from lynq.api.events import EventReason
from lynq.core.node import events
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import ObjectRef
from lynq.core.node.render import RenderError
from lynq.core.node.state import ResourceOutcome, StateReason
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
    ("state", "reason", "told"),
    [
        (ResourceState.FAILED, "ApplyFailed", EventReason.APPLY_FAILED),
        (ResourceState.FAILED, "TemplateRenderError", EventReason.TEMPLATE_RENDER_ERROR),
        (ResourceState.FAILED, "ReadinessTimeout", EventReason.READINESS_TIMEOUT),
        (ResourceState.FAILED, "JobFailed", EventReason.RESOURCE_FAILED),
        (ResourceState.CONFLICTED, "ResourceConflict", EventReason.RESOURCE_CONFLICT),
        (ResourceState.SKIPPED, "DependencySkipped", EventReason.DEPENDENCY_SKIPPED),
    ],
)
def test_what_is_wrong_is_told_once(state: ResourceState, reason: str, told: EventReason) -> None:
    wrong = outcome(state, reason)
    (event,) = events.state_events(NodeStatus(), [wrong])
    assert (event.reason, event.warns) == (told, True)
    assert "config" in event.message
    assert list(events.state_events(status_of(wrong), [wrong])) == []


def test_what_could_not_be_rendered_is_told_by_kind_and_id() -> None:
    problem = RenderError("config", "data.x", 'there is no variable "plan"', line=2)
    nameless = ObjectRef("v1", "ConfigMap", "", "")
    wrong = outcome(ResourceState.FAILED, "TemplateRenderError", str(problem))
    (event,) = events.state_events(NodeStatus(), [replace(wrong, ref=nameless)])
    assert event.message == (
        'ConfigMap "config" could not be rendered: data.x, line 2: there is no variable "plan"'
    )
    (event,) = events.state_events(NodeStatus(), [replace(wrong, ref=ObjectRef("", "", "", ""))])
    assert event.message.startswith('"config" could not be rendered: ')


def test_an_object_is_named_where_it_has_a_name() -> None:
    skipped = outcome(ResourceState.SKIPPED, "DependencySkipped", '"database" has failed')
    (event,) = events.state_events(NodeStatus(), [skipped])
    assert event.message == '"config", ConfigMap shop/acme-config: "database" has failed'
    nameless = replace(skipped, ref=ObjectRef("v1", "ConfigMap", "", ""))
    (event,) = events.state_events(NodeStatus(), [nameless])
    assert event.message == '"config", ConfigMap: "database" has failed'


def test_another_cause_is_told_too() -> None:
    before = status_of(outcome(ResourceState.FAILED, "ApplyFailed", "no namespace"))
    after = outcome(ResourceState.FAILED, "ApplyFailed", "no right")
    assert len(list(events.state_events(before, [after]))) == 1


def test_a_timeout_is_told_once_whatever_the_object_says_next() -> None:
    before = status_of(outcome(ResourceState.FAILED, "ReadinessTimeout", "0 of 2 ready"))
    after = outcome(ResourceState.FAILED, "ReadinessTimeout", "1 of 2 ready")
    assert list(events.state_events(before, [after])) == []


def test_nothing_is_told_of_what_is_on_its_way() -> None:
    going = [
        outcome(ResourceState.PROGRESSING, "ReplicasNotReady"),
        outcome(ResourceState.WAITING, "DependencyNotReady"),
        outcome(ResourceState.READY, "Ready"),
    ]
    assert list(events.state_events(NodeStatus(), going)) == []


def test_proceeding_is_told_with_the_write_or_the_failure() -> None:
    despite = replace(outcome(ResourceState.READY, "Ready"), failed_dependency="database")
    failed = replace(outcome(ResourceState.FAILED, "ReadinessTimeout"), id="database")
    known = status_of(failed)
    (event,) = events.proceeded(known, [despite], {"config"})
    assert event.reason is EventReason.DEPENDENCY_FAILED_BUT_PROCEEDING
    assert "database" in event.message
    assert list(events.proceeded(known, [despite], set())) == []
    # Whether it could be written itself is another matter.
    assert list(events.proceeded(NodeStatus(), [despite], set())) == [event]


def test_becoming_ready_is_told_once() -> None:
    ready = status_of(outcome(ResourceState.READY, str(StateReason.READY)))
    (event,) = events.became_ready(NodeStatus(), ready)
    assert event.reason is EventReason.LYNQ_NODE_READY
    assert events.became_ready(ready, ready) == ()


def test_a_pass_tells_form_kinds_hub_and_row() -> None:
    node = a_node(a_resource(), a_resource("more"), hubId="shop", template_generation="4")
    event = events.applying(node)
    assert event.reason is EventReason.TEMPLATE_RESOURCES_APPLYING
    for part in ('"web"', "generation 4", "2 resources", "2 ConfigMap(s)", '"shop"', '"acme"'):
        assert part in event.message
    assert events.applied(node, changed=2, failed=0).reason is EventReason.TEMPLATE_APPLIED_SUCCESS
    partial = events.applied(node, changed=1, failed=1)
    assert (partial.reason, partial.warns) == (EventReason.TEMPLATE_APPLIED_PARTIAL, True)


def test_trouble_is_told_once() -> None:
    trouble = InvalidNode.with_variables(VariablesError("not readable"))
    assert len(events.in_trouble(NodeStatus(), trouble)) == 1
    told = invalid_status(NodeStatus(), trouble, 1, NOW)
    assert events.in_trouble(told, trouble) == ()


def test_what_left_the_form_is_told_by_what_became_of_it() -> None:
    item = InventoryItem("config", REF)
    deleted, kept = (events.left_the_form(item, retained=each) for each in (False, True))
    assert deleted.reason is EventReason.ORPHANED_RESOURCE_DELETED
    assert kept.reason is EventReason.ORPHANED_RESOURCE_RETAINED
    assert events.retained(item).reason is EventReason.RESOURCE_RETAINED


def test_a_failed_clean_up_names_three_objects_and_counts_the_rest() -> None:
    stuck = [outcome(ResourceState.DELETING, "RemovalFailed")] * 5
    event = events.cleanup_failed(stuck)
    assert event.reason is EventReason.CLEANUP_PARTIAL_FAILURE
    assert event.message.count("acme-config") == 3
    assert "2 more" in event.message
