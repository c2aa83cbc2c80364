"""Objects that may have moved to another form of the row."""

from dataclasses import replace as with_fields
from datetime import timedelta

import pytest
from msgspec.structs import replace

from lynq.api import LynqForm, LynqNode, ResourceState, ResourceStatus
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import stamp
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import ObjectRef
from lynq.core.node.prune import select_prunable
from lynq.core.node.siblings import NO_SIBLINGS, Sibling, Siblings, held_for_siblings
from unit.core.hub.fixtures import a_form
from unit.core.node.fixtures import successors
from unit.core.node.nodes import NOW, a_node, a_resource

GRACE = timedelta(seconds=5)
MOVED = InventoryItem("shared", ObjectRef("v1", "ConfigMap", "shop", "acme-shared"))
SERVICE = InventoryItem("svc", ObjectRef("v1", "Service", "shop", "acme"))
FORM = a_form("db", a_resource("data"), generation=2)


def sibling_node(
    *, generation: str = "2", observed: int = 3, state: ResourceState | None = None
) -> LynqNode:
    """Return the node of the other form, with the state of the moved object in its status."""
    node = a_node(name="acme-db", template_generation=generation)
    entries: tuple[ResourceStatus, ...] = ()
    if state:
        ref = MOVED.ref
        entries = (
            ResourceStatus(
                id="data",
                api_version=ref.api_version,
                kind=ref.kind,
                namespace=ref.namespace,
                name=ref.name,
                state=state,
            ),
        )
    status = replace(node.status, observed_generation=observed, resources=entries)
    return replace(node, status=status)


def siblings(node: LynqNode | None, form: LynqForm = FORM) -> Siblings:
    return Siblings((Sibling(form, ObjectKey("shop", "acme-db"), node),))


def test_object_of_a_hub_with_one_form_cannot_move() -> None:
    node = a_node(rollout_update_start=stamp(NOW))
    assert Siblings.of(node, (), GRACE, NOW) == NO_SIBLINGS
    assert held_for_siblings([MOVED], NO_SIBLINGS) == {}


@pytest.mark.parametrize(
    ("seconds", "remaining"), [(0, 5), (4, 1), (5, None), (60, None), (-30, 35)]
)
def test_grace_counts_from_the_last_write_of_the_node(seconds: int, remaining: int | None) -> None:
    node = a_node(rollout_update_start=stamp(NOW - timedelta(seconds=seconds)))
    ends = Siblings.of(node, siblings(None).members, GRACE, NOW).grace_ends
    assert ends == (None if remaining is None else NOW + timedelta(seconds=remaining))


def test_node_of_the_go_operator_has_no_grace() -> None:
    assert Siblings.of(a_node(), siblings(None).members, GRACE, NOW).grace_ends is None


@pytest.mark.parametrize(
    ("node", "until"),
    [
        (None, "reports generation 2"),
        (sibling_node(generation="1"), "reports generation 2"),
        (sibling_node(observed=2), "reports generation 2"),
        (sibling_node(), ""),
        (sibling_node(state=ResourceState.DELETING), ""),
        (sibling_node(state=ResourceState.WAITING), "reports the conflict"),
        (sibling_node(state=ResourceState.PROGRESSING), "reports the conflict"),
        (sibling_node(generation="1", state=ResourceState.CONFLICTED), ""),
    ],
)
def test_object_stays_until_the_other_node_of_the_row_has_decided(
    node: LynqNode | None, until: str
) -> None:
    held = held_for_siblings([MOVED], siblings(node))
    assert (MOVED in held) is bool(until)
    assert until in held.get(MOVED, "")


def test_form_without_the_kind_holds_nothing() -> None:
    assert held_for_siblings([SERVICE], siblings(None)) == {}
    several = a_form("db", a_resource("data"), a_resource("svc", {"kind": "Service"}), generation=2)
    assert SERVICE in held_for_siblings([SERVICE], siblings(None, several))
    any_kind = a_form("db", a_resource("data", {"kind": "{{ .kind }}"}), generation=2)
    assert SERVICE in held_for_siblings([SERVICE], siblings(None, any_kind))


def test_grace_holds_every_object_but_one_that_another_node_waits_for() -> None:
    conflicted = siblings(sibling_node(state=ResourceState.CONFLICTED))
    within_grace = with_fields(conflicted, grace_ends=NOW + GRACE)
    held = held_for_siblings([MOVED, SERVICE], within_grace)
    assert list(held) == [SERVICE]
    assert "may have moved" in held[SERVICE]


def test_conflict_of_one_of_several_nodes_hands_the_object_over() -> None:
    conflicted = siblings(sibling_node(state=ResourceState.CONFLICTED)).members
    outdated = siblings(sibling_node(generation="1")).members
    assert held_for_siblings([MOVED], Siblings((*outdated, *conflicted))) == {}
    assert MOVED in held_for_siblings([MOVED], Siblings(outdated))


def test_selection_is_repeated_at_the_end_of_the_grace() -> None:
    within_grace = with_fields(siblings(sibling_node()), grace_ends=NOW + GRACE)
    selection = select_prunable(a_node(), [MOVED], (), successors(), within_grace)
    assert (selection.items, selection.requeue_at) == ((), NOW + GRACE)
    selection = select_prunable(a_node(), [MOVED], (), successors(), siblings(sibling_node()))
    assert (selection.items, selection.requeue_at) == ((MOVED,), None)
