"""What goes when it is no longer wanted, in which order, and what is never touched."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lynq.api import DeletionPolicy, ResourceState
from lynq.api.reasons import OrphanReason
from lynq.core.graph.model import Entry
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import LiveObject, ObjectRef
from lynq.core.node.prune import PruneCandidate, PruneStep, next_prune_step
from lynq.core.readiness.verdict import READY
from unit.core.graph.strategies import acyclic_entries, transitive_dependencies
from unit.core.node.nodes import an_owner

REASON = OrphanReason.LYNQ_NODE_DELETED
KINDS = st.sampled_from(["ours", "ours by labels", "foreign", "another node's", "orphan", "gone"])


def live(kind: str = "ours", uid: str = "7", **more: Any) -> LiveObject | None:
    node = {"lynq.sh/node": "acme-web", "lynq.sh/node-namespace": "shop"}
    marks: dict[str, dict[str, Any]] = {
        "ours": {"owners": (an_owner().uid,)},
        "ours by labels": {"labels": node},
        "foreign": {"owners": ("other",)},
        "another node's": {"labels": {**node, "lynq.sh/node": "other"}},
        "orphan": {"labels": {**node, "lynq.sh/orphaned": "true"}},
    }
    return None if kind == "gone" else LiveObject(uid=uid, verdict=READY, **{**marks[kind], **more})


def item(this: str) -> InventoryItem:
    return InventoryItem(this, ObjectRef("v1", "ConfigMap", "shop", f"n-{this}"))


def removals(*leftovers: PruneCandidate, entries: tuple[Entry, ...] = ()) -> PruneStep:
    return next_prune_step(entries, leftovers, an_owner(), REASON)


@settings(max_examples=80)
@given(acyclic_entries(), st.data())
def test_only_what_is_ours_goes_and_dependents_go_first(
    entries: list[Entry], data: st.DataObject
) -> None:
    kinds = {entry.id: data.draw(KINDS) for entry in entries}
    world = {this: live(kind, uid=this) for this, kind in kinds.items()}
    order: list[str] = []
    while True:
        leftovers = [PruneCandidate(item(this), known) for this, known in world.items()]
        step = next_prune_step(entries, leftovers, an_owner(), REASON)
        if step.is_done:
            break
        assert step.removals
        for removal in step.removals:
            assert removal.uid == removal.item.id
            order.append(removal.item.id)
            world[removal.item.id] = None
    assert sorted(order) == sorted(this for this, kind in kinds.items() if kind.startswith("ours"))
    for dependent, dependency in transitive_dependencies(entries):
        if dependent in order and dependency in order:
            assert order.index(dependent) < order.index(dependency)


@pytest.mark.parametrize("kind", ["foreign", "another node's", "orphan", "gone"])
def test_what_is_not_ours_is_let_go_without_a_touch(kind: str) -> None:
    step = removals(PruneCandidate(item("a"), live(kind)))
    assert (step.removals, step.is_done) == ((), True)


@pytest.mark.parametrize(
    ("spec", "annotation", "retain"),
    [
        (None, None, False),
        (None, "Delete", False),
        (None, "Retain", True),
        (DeletionPolicy.RETAIN, "Delete", True),
        (DeletionPolicy.DELETE, "Retain", False),
    ],
)
def test_the_spec_decides_and_else_the_annotation(
    spec: DeletionPolicy | None, annotation: str | None, *, retain: bool
) -> None:
    annotations = {"lynq.sh/deletion-policy": annotation} if annotation else {}
    step = removals(PruneCandidate(item("a"), live(annotations=annotations), spec))
    assert [removal.retain for removal in step.removals] == [retain]


@pytest.mark.parametrize(("name", "retain"), [("shop", True), ("acme", False)])
def test_the_namespace_that_a_node_lives_in_never_goes_with_it(name: str, *, retain: bool) -> None:
    home = InventoryItem("home", ObjectRef("v1", "Namespace", "", name))
    step = removals(PruneCandidate(home, live("ours by labels"), DeletionPolicy.DELETE))
    assert [removal.retain for removal in step.removals] == [retain]


def test_what_is_going_already_is_not_deleted_again_but_waited_for() -> None:
    entries = (Entry("db"), Entry("web", ("db",)))
    step = removals(
        PruneCandidate(item("web"), live(deleting=True)),
        PruneCandidate(item("db"), live()),
        entries=entries,
    )
    assert step.removals == ()
    assert [(o.id, o.state, o.reason) for o in step.outcomes] == [
        ("web", ResourceState.DELETING, "Deleting"),
        ("db", ResourceState.DELETING, "WaitingForDependents"),
    ]


def test_what_failed_to_go_is_named_and_tried_again() -> None:
    step = removals(PruneCandidate(item("a"), live(), problem="a finalizer of x holds it"))
    (outcome,) = step.outcomes
    assert (outcome.reason, outcome.message) == ("RemovalFailed", "a finalizer of x holds it")
    assert len(step.removals) == 1


def test_what_cannot_be_looked_up_keeps_the_node_and_holds_up_nobody() -> None:
    entries = (Entry("db"), Entry("web", ("db",)))
    unknown = PruneCandidate(item("web"), is_unknown=True, problem="no right to list widgets")
    step = removals(unknown, PruneCandidate(item("db"), live()), entries=entries)
    assert [removal.item.id for removal in step.removals] == ["db"]
    assert not step.is_done


def test_two_objects_of_one_entry_go_together() -> None:
    old = InventoryItem("a", ObjectRef("v1", "ConfigMap", "shop", "old"))
    step = removals(PruneCandidate(item("a"), live()), PruneCandidate(old, live()))
    assert len(step.removals) == 2
