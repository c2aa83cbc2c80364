"""A contested object stays contested as long as the node may desire it, whatever hides that."""

from typing import Any

import pytest

from lynq.api import NodeStatus, ResourceState
from lynq.core.node.events import state_events
from lynq.core.node.inventory import InventoryItem, unresolved_items
from lynq.core.node.objects import ObjectRef, contested_objects
from lynq.core.node.state import ResourceOutcome
from lynq.core.node.status import StatusReport, inventory_status, next_status
from unit.core.node.nodes import NOW, a_resource

SHARED = ObjectRef("v1", "ConfigMap", "shop", "acme-shared")
NAMELESS = ObjectRef("v1", "ConfigMap", "", "")
S = ResourceState


def outcome(
    resource_id: str, state: ResourceState = S.CONFLICTED, ref: ObjectRef = SHARED, **more: Any
) -> ResourceOutcome:
    return ResourceOutcome(**{"id": resource_id, "ref": ref, "state": state, "reason": "R", **more})


def report(*outcomes: ResourceOutcome, **more: Any) -> StatusReport:
    return StatusReport(namespace="shop", generation=3, outcomes=outcomes, **more)


CONFLICTED = next_status(NodeStatus(), report(outcome("a")), NOW)


def unresolved(*ids: str, name: str = "acme-shared") -> list[InventoryItem]:
    resources = [a_resource(resource_id, name_template=name) for resource_id in ids]
    items = [InventoryItem("a", SHARED)]
    return [*unresolved_items(items, resources, frozenset(contested_objects(CONFLICTED)))]


def test_unresolved_resource_still_desires_the_object_of_another_node() -> None:
    unknown = report(outcome("a", S.PROGRESSING, NAMELESS), unresolved=unresolved("a"))
    status = next_status(CONFLICTED, unknown, NOW)
    assert [*contested_objects(status)] == [SHARED.identity]
    ready = report(outcome("a", S.READY))
    assert not [*contested_objects(next_status(status, ready, NOW))]


def test_resource_that_was_renamed_and_is_not_rendered_still_desires_the_object() -> None:
    unknown = report(outcome("b", S.FAILED, NAMELESS), unresolved=unresolved("b"))
    status = next_status(CONFLICTED, unknown, NOW)
    assert [*contested_objects(status)] == [SHARED.identity]
    assert [entry.id for entry in status.resources] == ["b"]


def test_object_that_no_unresolved_resource_may_desire_is_given_up() -> None:
    assert unresolved("b", name="acme-other") == []


@pytest.mark.parametrize("resource_id", ["a", "b"])
def test_object_that_no_status_lists_is_observed_first(resource_id: str) -> None:
    items = [InventoryItem("a", SHARED, is_listed=False)]
    resource = a_resource(resource_id, name_template="acme-shared")
    assert not [*unresolved_items(items, [resource], {SHARED.identity})]


def test_object_of_the_node_is_not_renamed_with_its_resource() -> None:
    """It is held back from pruning under its own id."""
    resource = a_resource("b", name_template="acme-shared")
    assert not [*unresolved_items([InventoryItem("a", SHARED)], [resource], frozenset())]


@pytest.mark.parametrize("resource_id", ["a", "renamed"])
def test_object_stays_contested_while_others_are_applied(resource_id: str) -> None:
    new = outcome("new", S.PROGRESSING, ObjectRef("v1", "ConfigMap", "shop", "acme-new"))
    applying = report(outcome(resource_id), new, is_applying=True)
    status = inventory_status(CONFLICTED, applying, [InventoryItem("a", SHARED)], NOW)
    assert status
    assert [*contested_objects(status)] == [SHARED.identity]


@pytest.mark.parametrize(
    ("ref", "reason"), [(SHARED, "ApplyFailed"), (NAMELESS, "TemplateRenderError")]
)
def test_failure_of_an_unresolved_resource_is_reported_once(ref: ObjectRef, reason: str) -> None:
    """Its entry stays Conflicted, and has the name of the object that the outcome lacks."""
    failed = outcome("a", S.FAILED, ref, reason=reason, message="forbidden")
    status = next_status(CONFLICTED, report(failed, unresolved=unresolved("a")), NOW)
    assert [event.reason for event in state_events(CONFLICTED, [failed])] == [reason]
    assert [*state_events(status, [failed])] == []
