"""Which objects left the form, and which of them are held back."""

import dataclasses

import pytest
from msgspec.structs import replace

from lynq.api import LynqNode, NodeStatus, OwnerReference, ResourceState
from lynq.api.digests import spec_digest
from lynq.api.names import ANNOTATION_SPEC_DIGEST
from lynq.core.graph.build import build_graph
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import ObjectRef
from lynq.core.node.prune import find_stale, pending_outcomes, select_prunable
from lynq.core.node.state import ResourceFacts
from lynq.core.node.successor import Successors
from unit.core.node.fixtures import successors
from unit.core.node.nodes import a_node, a_resource, an_item, an_owner


def edited(node: LynqNode, *, has_hub: bool) -> LynqNode:
    """Return the node with a spec digest that does not match, with or without a hub."""
    metadata = replace(
        node.metadata,
        annotations={ANNOTATION_SPEC_DIGEST: "another"},
        owner_references=[OwnerReference(kind="LynqHub", controller=True)] if has_hub else [],
    )
    return replace(node, metadata=metadata)


NO_SUCCESSORS = Successors(an_owner(), NodeStatus(), build_graph(()), {}, {})


def test_items_that_are_not_desired_are_stale() -> None:
    stale = find_stale([an_item("a"), an_item("b")], (), desired=[an_item("a").ref], unresolved=())
    assert stale == (an_item("b"),)


def test_unlisted_object_is_stale_once_and_only_if_it_is_not_desired() -> None:
    unlisted = [InventoryItem("", an_item(id_).ref) for id_ in ("a", "b", "c")]
    stale = find_stale([an_item("b")], unlisted, desired=[an_item("a").ref], unresolved=())
    assert stale == (an_item("b"), InventoryItem("", an_item("c").ref))


def test_unlisted_object_is_not_stale_while_a_resource_is_unresolved() -> None:
    unlisted = [InventoryItem("", an_item("b").ref)]
    assert find_stale((), unlisted, desired=(), unresolved=[a_resource("a")]) == ()


def test_stale_objects_without_successors_are_selected() -> None:
    selection = select_prunable(a_node(), [an_item("a"), an_item("b")], (), NO_SUCCESSORS)
    assert (selection.items, selection.held) == ((an_item("a"), an_item("b")), {})


def test_unresolved_resource_keeps_its_objects() -> None:
    broken = a_resource("a", name_template="other")
    selection = select_prunable(a_node(), [an_item("a")], [broken], NO_SUCCESSORS)
    assert selection.items == ()
    assert '"a"' in selection.held[an_item("a")]


def test_object_that_an_unresolved_resource_may_desire_is_held_back() -> None:
    renamed = a_resource("new", name_template="n-old")
    selection = select_prunable(
        a_node(), [an_item("old"), an_item("gone")], [renamed], NO_SUCCESSORS
    )
    assert selection.items == (an_item("gone"),)
    assert selection.held == {an_item("old"): '"new" can be rendered, which may desire it'}


def test_object_without_accepted_successor_is_held_back() -> None:
    selection = select_prunable(a_node(), [an_item("a")], (), successors(a_resource("a")))
    assert selection.items == ()
    assert '"a"' in selection.held[an_item("a")]


def test_object_stays_while_a_dependent_that_uses_it_cannot_be_rendered() -> None:
    """Secret "a" was renamed, and the template of Deployment "b", which uses it, is broken."""
    broken = a_resource("b", depend_ids=("a",))
    given_ = successors(a_resource("a"), broken, accepted="a")
    facts = {**given_.facts, "b": ResourceFacts(resource=broken, render_error="no value")}
    given_ = dataclasses.replace(given_, facts=facts)
    selection = select_prunable(a_node(), [an_item("a"), an_item("b")], [broken], given_)
    assert selection.items == ()
    assert selection.held == {
        an_item("a"): '"b" is accepted, which may still use it',
        an_item("b"): '"b" can be rendered and observed',
    }


def test_unresolved_resource_holds_no_object_that_nothing_depends_on() -> None:
    broken = a_resource("b", name_template="other")
    facts = {"b": ResourceFacts(resource=broken, render_error="no value")}
    given_ = dataclasses.replace(successors(broken), facts=facts)
    secret = InventoryItem("s", ObjectRef("v1", "Secret", "shop", "s"))
    selection = select_prunable(a_node(), [an_item("b"), secret], [broken], given_)
    assert (selection.items, list(selection.held)) == ((secret,), [an_item("b")])


def test_objects_are_pending_until_the_resources_are_applied() -> None:
    (outcome,) = pending_outcomes([an_item("a")])
    assert (outcome.id, outcome.ref, outcome.state) == (
        "a",
        an_item("a").ref,
        ResourceState.DELETING,
    )
    message = "no longer desired; kept until the resources of the node are applied"
    assert (outcome.reason, outcome.message) == ("HeldBack", message)


@pytest.mark.parametrize(("has_hub", "selected"), [(True, ()), (False, (an_item("a"),))])
def test_edited_node_of_a_hub_prunes_nothing(
    selected: tuple[InventoryItem, ...], *, has_hub: bool
) -> None:
    node = edited(a_node(), has_hub=has_hub)
    selection = select_prunable(node, [an_item("a")], (), NO_SUCCESSORS)
    assert selection.items == selected
    assert list(selection.held) == ([an_item("a")] if has_hub else [])


def test_untouched_node_of_a_hub_prunes() -> None:
    node = edited(a_node(), has_hub=True)
    digest = spec_digest(node.spec, node.metadata.annotations)
    metadata = replace(node.metadata, annotations={ANNOTATION_SPEC_DIGEST: digest})
    selection = select_prunable(replace(node, metadata=metadata), [an_item("a")], (), NO_SUCCESSORS)
    assert (selection.items, selection.held) == ((an_item("a"),), {})
