"""Objects that left the form are held until their successors are accepted."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import CreationPolicy, NodeStatus
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import ObjectRef
from lynq.core.node.state import ResourceFacts
from lynq.core.node.successor import Successors, held_for_successors
from lynq.core.readiness.verdict import READY
from unit.core.node.fixtures import Cluster, successors
from unit.core.node.nodes import a_resource, an_owner


def old(resource_id: str, kind: str = "ConfigMap") -> InventoryItem:
    return InventoryItem(resource_id, ObjectRef("v1", kind, "shop", f"old-{resource_id}"))


def with_live(given_: Successors, resource_id: str, **changes: Any) -> Successors:
    """Return the successors with a changed live object."""
    facts = given_.facts[resource_id]
    assert facts.live is not None
    live = msgspec.structs.replace(facts.live, **changes)
    return replace(
        given_, facts={**given_.facts, resource_id: msgspec.structs.replace(facts, live=live)}
    )


def test_object_with_accepted_successor_is_not_held() -> None:
    assert held_for_successors([old("a")], successors(a_resource("a"), accepted="a")) == {}


def test_object_with_rejected_successor_is_held_and_the_message_says_why_and_what_to_do() -> None:
    held = held_for_successors([old("a")], successors(a_resource("a")))
    assert held == {
        old("a"): '"a", which renders ConfigMap shop/acme-a now, is accepted; correct the form or '
        "the row, or delete this object if it holds what the new one needs. "
        "Failed: 422 Invalid: metadata.name"
    }


def test_object_is_held_while_its_successor_waits() -> None:
    waiting = a_resource("b", depend_ids=("a",))
    held = held_for_successors([old("b")], successors(a_resource("a"), waiting))
    assert "Skipped" in held[old("b")]


def test_successor_that_was_accepted_earlier_may_be_rejected_now() -> None:
    earlier = successors(a_resource("a"), updates_rejected="a", recorded={"a": "acme-a"})
    assert held_for_successors([old("a")], earlier) == {}


def test_object_of_another_entry_is_no_accepted_successor() -> None:
    """The entry took over the name of another one, and its content was rejected."""
    taken_over = successors(a_resource("a"), updates_rejected="a", recorded={"b": "acme-a"})
    assert list(held_for_successors([old("a")], taken_over)) == [old("a")]


def test_object_that_is_only_listed_was_not_accepted() -> None:
    """Every object is listed before its first write; only an accepted one has a digest."""
    given_ = successors(a_resource("a"), updates_rejected="a", recorded={"a": "acme-a"})
    entries = tuple(msgspec.structs.replace(e, fields_digest="") for e in given_.status.resources)
    listed = replace(given_, status=NodeStatus(resources=entries))
    assert list(held_for_successors([old("a")], listed)) == [old("a")]


def test_successor_without_tracking_id_is_accepted_by_its_labels() -> None:
    labels = {"lynq.sh/node": "acme-web", "lynq.sh/node-namespace": "shop"}
    given_ = successors(a_resource("a"), accepted="a")
    labeled = with_live(given_, "a", owner_uids=(), labels=labels)
    assert held_for_successors([old("a")], labeled) == {}


@pytest.mark.parametrize(
    "change", [{"is_deleting": True}, {"owner_uids": ("other",), "labels": {}}]
)
def test_successor_must_be_owned_and_not_be_deleted(change: dict[str, Any]) -> None:
    recorded = successors(a_resource("a"), accepted="a", recorded={"a": "acme-a"})
    assert held_for_successors([old("a")], with_live(recorded, "a", **change))


def test_once_object_is_accepted_whatever_its_content() -> None:
    once = a_resource("a", creation_policy=CreationPolicy.ONCE)
    assert held_for_successors([old("a")], successors(once, updates_rejected="a")) == {}


def test_removed_entry_is_held_while_a_new_entry_of_its_kind_was_never_accepted() -> None:
    held = held_for_successors([old("gone")], successors(a_resource("n")))
    assert '"n"' in held[old("gone")]


def test_removed_entry_is_held_while_the_kind_of_a_new_entry_is_unknown() -> None:
    new = a_resource("n", {"apiVersion": "v1", "kind": "{{ .kind }}"})
    given_ = successors(a_resource("n"))
    unknown = replace(given_, facts={"n": ResourceFacts(resource=new)})
    held = held_for_successors([old("gone")], unknown)
    assert held[old("gone")].startswith('"n" is accepted')


def test_object_that_a_held_object_may_use_is_held() -> None:
    given_ = successors(a_resource("a"), a_resource("b"), accepted="b")
    held = held_for_successors([old("a"), old("b")], given_)
    assert held[old("b")] == "ConfigMap shop/old-a can be pruned, which may use it"


@pytest.mark.parametrize(
    "given_",
    [
        pytest.param(successors(), id="no other entry"),
        pytest.param(successors(a_resource("n"), accepted="n"), id="accepted now"),
        pytest.param(successors(a_resource("n"), recorded={"n": "old"}), id="not a new entry"),
        pytest.param(successors(a_resource("n"), updates_rejected="n"), id="live before us"),
        pytest.param(
            successors(a_resource("n", {"apiVersion": "v1", "kind": "Secret"})), id="other kind"
        ),
    ],
)
def test_removed_entry_is_pruned_without_a_new_entry_of_its_kind(given_: Successors) -> None:
    assert held_for_successors([old("gone")], given_) == {}


def test_object_is_held_while_the_update_of_its_dependent_is_rejected() -> None:
    dependent = a_resource("b", depend_ids=("a",))
    given_ = successors(a_resource("a"), accepted="a")
    assert held_for_successors([old("a")], given_) == {}
    both = Cluster([a_resource("a"), dependent])
    both.accept(both.step().writes[0], READY)
    both.accept(both.step().writes[0], READY)
    outcomes = {outcome.id: outcome for outcome in both.step().outcomes}
    accepted = Successors(an_owner(), NodeStatus(), both.graph, both.facts, outcomes)
    assert held_for_successors([old("a")], accepted) == {}
    facts = both.facts["b"]
    assert facts.desired is not None
    desired = msgspec.structs.replace(facts.desired, hash="another")
    changed = msgspec.structs.replace(facts, desired=desired)
    rejected = replace(accepted, facts={**both.facts, "b": changed})
    assert '"b"' in held_for_successors([old("a")], rejected)[old("a")]


def test_dependent_without_any_object_holds_nothing() -> None:
    dependent = a_resource("b", depend_ids=("a",))
    assert (
        held_for_successors([old("a")], successors(a_resource("a"), dependent, accepted="a")) == {}
    )


@pytest.mark.parametrize("is_live", [False, True])
def test_old_object_of_a_dependent_that_cannot_be_rendered_may_use_the_object(
    *, is_live: bool
) -> None:
    dependent = a_resource("b", depend_ids=("a",))
    given_ = successors(a_resource("a"), dependent, accepted="a")
    live = given_.facts["a"].live if is_live else None
    failed = ResourceFacts(resource=dependent, live=live, render_error="no value")
    given_ = replace(given_, facts={**given_.facts, "b": failed})
    stale = [old("a")] if is_live else [old("a"), old("b")]
    held = held_for_successors(stale, given_, unresolved={"b"})
    assert held == {old("a"): '"b" is accepted, which may still use it'}


def test_old_object_of_a_dependent_whose_successor_is_rejected_may_use_the_object() -> None:
    dependent = a_resource("b", depend_ids=("a",))
    given_ = successors(a_resource("a"), dependent, accepted="a")
    held = held_for_successors([old("a"), old("b")], given_)
    assert held[old("a")] == '"b" is accepted, which may still use it'


IDS = st.sets(st.sampled_from("abcd"))


@given(IDS, IDS, IDS)
def test_nothing_is_pruned_while_a_successor_is_not_accepted(
    ids: set[str], accepted: set[str], stale: set[str]
) -> None:
    items = [old(resource_id) for resource_id in sorted(stale)]
    given_ = successors(*map(a_resource, sorted(ids)), accepted="".join(accepted & ids))
    rejected = ids - accepted
    must_hold = bool(stale & rejected) or (bool(stale - ids) and bool(rejected))
    assert list(held_for_successors(items, given_)) == (items if must_hold else [])
