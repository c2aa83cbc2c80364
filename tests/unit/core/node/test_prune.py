"""Which objects are pruned, in which order, and which are held back or never touched."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lynq.api import DeletionPolicy, ResourceState
from lynq.api.reasons import OrphanReason
from lynq.core.graph.model import Entry
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import LiveObject, ObjectRef
from lynq.core.node.prune import (
    PruneCandidate,
    PruneStep,
    next_prune_step,
    with_contenders,
)
from lynq.core.readiness.verdict import READY
from unit.core.graph.strategies import acyclic_entries, transitive_dependencies
from unit.core.node.nodes import an_item, an_owner

REASON = OrphanReason.LYNQ_NODE_DELETED
KINDS = st.sampled_from(["ours", "ours by labels", "foreign", "another node's", "orphan", "gone"])


def live(kind: str = "ours", uid: str = "7", **more: Any) -> LiveObject | None:
    node = {"lynq.sh/node": "acme-web", "lynq.sh/node-namespace": "shop"}
    marks: dict[str, dict[str, Any]] = {
        "ours": {"owner_uids": (an_owner().uid,)},
        "ours by labels": {"labels": node},
        "foreign": {"owner_uids": ("other",)},
        "another node's": {"labels": {**node, "lynq.sh/node": "other"}},
        "orphan": {"labels": {**node, "lynq.sh/orphaned": "true"}},
    }
    return (
        None if kind == "gone" else LiveObject(uid=uid, readiness=READY, **{**marks[kind], **more})
    )


def prune_step(*candidates: PruneCandidate, entries: tuple[Entry, ...] = ()) -> PruneStep:
    return next_prune_step(entries, candidates, an_owner(), REASON)


@settings(max_examples=80)
@given(acyclic_entries(), st.data())
def test_only_owned_objects_are_pruned_and_dependents_first(
    entries: list[Entry], data: st.DataObject
) -> None:
    kinds = {entry.id: data.draw(KINDS) for entry in entries}
    objects = {id_: live(kind, uid=id_) for id_, kind in kinds.items()}
    order: list[str] = []
    while True:
        candidates = [PruneCandidate(an_item(id_), obj) for id_, obj in objects.items()]
        step = next_prune_step(entries, candidates, an_owner(), REASON)
        if step.is_done:
            break
        assert step.deletions
        for deletion in step.deletions:
            assert deletion.uid == deletion.item.id
            order.append(deletion.item.id)
            objects[deletion.item.id] = None
    assert sorted(order) == sorted(id_ for id_, kind in kinds.items() if kind.startswith("ours"))
    for dependent, dependency in transitive_dependencies(entries):
        if dependent in order and dependency in order:
            assert order.index(dependent) < order.index(dependency)


@pytest.mark.parametrize("kind", ["foreign", "another node's", "orphan", "gone"])
def test_object_of_another_owner_is_not_touched(kind: str) -> None:
    step = prune_step(PruneCandidate(an_item("a"), live(kind)))
    assert (step.deletions, step.is_done) == ((), True)


@pytest.mark.parametrize(
    ("spec", "annotation", "retain"),
    [
        (None, None, False),
        (None, "Delete", False),
        (None, "Retain", True),
        (DeletionPolicy.RETAIN, "Delete", True),
        # The write of the changed policy was rejected.
        (DeletionPolicy.DELETE, "Retain", True),
        (DeletionPolicy.DELETE, "Delete", False),
    ],
)
def test_object_is_retained_if_the_spec_or_the_annotation_says_so(
    spec: DeletionPolicy | None, annotation: str | None, *, retain: bool
) -> None:
    annotations = {"lynq.sh/deletion-policy": annotation} if annotation else {}
    step = prune_step(PruneCandidate(an_item("a"), live(annotations=annotations), spec))
    assert [deletion.retain for deletion in step.deletions] == [retain]


def test_policy_that_was_never_written_to_the_object_counts() -> None:
    recorded = InventoryItem("a", an_item("a").ref, is_retained=True)
    annotations = {"lynq.sh/deletion-policy": "Delete"}
    candidate = PruneCandidate(recorded, live(annotations=annotations), DeletionPolicy.DELETE)
    assert [deletion.retain for deletion in prune_step(candidate).deletions] == [True]


@pytest.mark.parametrize(
    ("api_version", "kind", "is_foreground"),
    [
        ("apps/v1", "Deployment", True),
        ("apps/v1", "StatefulSet", True),
        ("apps/v1", "DaemonSet", True),
        ("apps/v1", "ReplicaSet", True),
        ("batch/v1", "Job", True),
        ("batch/v1", "CronJob", True),
        ("v1", "ReplicationController", True),
        ("v1", "Pod", False),
        ("v1", "Secret", False),
        ("example.com/v1", "Deployment", False),
    ],
)
def test_workloads_are_deleted_after_their_pods(
    api_version: str, kind: str, *, is_foreground: bool
) -> None:
    workload = InventoryItem("a", ObjectRef(api_version, kind, "shop", "web"))
    (deletion,) = prune_step(PruneCandidate(workload, live())).deletions
    assert deletion.is_foreground is is_foreground


@pytest.mark.parametrize(
    ("ref", "retain"),
    [
        (ObjectRef("v1", "Namespace", "", "shop"), True),
        (ObjectRef("v1", "Namespace", "", "acme"), False),
        (ObjectRef("v1", "ConfigMap", "shop", "shop"), False),
    ],
)
def test_own_namespace_of_a_node_is_always_retained(ref: ObjectRef, *, retain: bool) -> None:
    home = InventoryItem("home", ref)
    step = prune_step(PruneCandidate(home, live("ours by labels"), DeletionPolicy.DELETE))
    assert [deletion.retain for deletion in step.deletions] == [retain]


@pytest.mark.parametrize(
    ("annotations", "uid", "release"),
    [
        ({}, "", False),
        ({"lynq.sh/adopted": "true"}, "", True),
        ({}, "77", True),
        ({}, "another", False),
        ({"lynq.sh/adopted": "true", "lynq.sh/deletion-policy": "Retain"}, "", False),
    ],
)
def test_adopted_object_is_released_and_not_deleted(
    annotations: dict[str, str], uid: str, *, release: bool
) -> None:
    adopted = dataclasses.replace(an_item("a"), adopted_uid=uid)
    step = prune_step(PruneCandidate(adopted, live(annotations=annotations, uid="77")))
    assert [deletion.release for deletion in step.deletions] == [release]


def test_object_that_another_node_desires_is_handed_over() -> None:
    step = prune_step(PruneCandidate(an_item("a"), live(), contender='LynqNode "beta"'))
    assert [deletion.retain for deletion in step.deletions] == [True]
    assert 'handed over to LynqNode "beta"' in step.outcomes[0].message


def test_unlisted_object_without_tracking_id_is_not_touched() -> None:
    labeled = live("ours by labels")
    assert prune_step(PruneCandidate(an_item("a"), labeled)).deletions
    unlisted = dataclasses.replace(an_item("a"), is_listed=False)
    assert not prune_step(PruneCandidate(unlisted, labeled)).deletions


def test_object_that_is_being_deleted_blocks_its_dependencies() -> None:
    entries = (Entry("db"), Entry("web", ("db",)))
    step = prune_step(
        PruneCandidate(an_item("web"), live(is_deleting=True)),
        PruneCandidate(an_item("db"), live()),
        entries=entries,
    )
    assert step.deletions == ()
    assert [(o.id, o.state, o.reason) for o in step.outcomes] == [
        ("web", ResourceState.DELETING, "Deleting"),
        ("db", ResourceState.DELETING, "WaitingForDependents"),
    ]


DISK = InventoryItem("disk", ObjectRef("v1", "PersistentVolumeClaim", "shop", "n-disk"))


def test_claim_that_waits_for_its_pods_blocks_no_workload() -> None:
    """A claim that left the form is unknown to the spec, and deleted before everything else."""
    step = prune_step(
        PruneCandidate(DISK, live(is_deleting=True)),
        PruneCandidate(an_item("app"), live()),
        entries=(Entry("app"),),
    )
    assert [deletion.item.id for deletion in step.deletions] == ["app"]
    assert [(o.id, o.reason) for o in step.outcomes] == [("disk", "Deleting"), ("app", "Deleting")]


@pytest.mark.parametrize(
    ("left", "is_deleting"), [(DISK, False), (an_item("old"), True), (an_item("old"), False)]
)
def test_other_object_that_left_the_form_is_deleted_first(
    left: InventoryItem, *, is_deleting: bool
) -> None:
    step = prune_step(
        PruneCandidate(left, live(is_deleting=is_deleting)),
        PruneCandidate(an_item("app"), live()),
        entries=(Entry("app"),),
    )
    deleted = [deletion.item.id for deletion in step.deletions]
    assert deleted == ([] if is_deleting else [left.id])


def test_unobserved_claim_blocks_no_other() -> None:
    unobserved = PruneCandidate(DISK, is_unobserved=True, problem="no right to list claims")
    step = prune_step(unobserved, PruneCandidate(an_item("app"), live()), entries=(Entry("app"),))
    assert [deletion.item.id for deletion in step.deletions] == ["app"]


def test_failed_deletion_is_reported_and_retried() -> None:
    step = prune_step(PruneCandidate(an_item("a"), live(), problem="a finalizer of x holds it"))
    (outcome,) = step.outcomes
    assert (outcome.reason, outcome.message) == ("RemovalFailed", "a finalizer of x holds it")
    assert len(step.deletions) == 1


def test_unobserved_object_remains_and_blocks_no_other() -> None:
    entries = (Entry("db"), Entry("web", ("db",)))
    unobserved = PruneCandidate(
        an_item("web"), is_unobserved=True, problem="no right to list widgets"
    )
    step = prune_step(unobserved, PruneCandidate(an_item("db"), live()), entries=entries)
    assert [deletion.item.id for deletion in step.deletions] == ["db"]
    assert [outcome.id for outcome in step.outcomes] == ["web", "db"]


def test_two_objects_of_one_resource_are_deleted_together() -> None:
    old = InventoryItem("a", ObjectRef("v1", "ConfigMap", "shop", "old"))
    step = prune_step(PruneCandidate(an_item("a"), live()), PruneCandidate(old, live()))
    assert len(step.deletions) == 2


@pytest.mark.parametrize(
    "kept",
    [
        {"live": live(), "held_until": "it rains"},
        {"is_unobserved": True, "problem": "no right to list widgets"},
    ],
)
def test_object_is_deleted_without_another_one_of_its_resource(kept: dict[str, Any]) -> None:
    old = InventoryItem("a", ObjectRef("v1", "ConfigMap", "shop", "old"))
    step = prune_step(PruneCandidate(an_item("a"), live()), PruneCandidate(old, **kept))
    assert [deletion.item for deletion in step.deletions] == [an_item("a")]
    assert [outcome.ref for outcome in step.outcomes] == [an_item("a").ref, old.ref]


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ({}, "being deleted"),
        ({"lynq.sh/deletion-policy": "Retain"}, "being retained as an orphan"),
        ({"lynq.sh/adopted": "true"}, "being released: it existed before"),
    ],
)
def test_message_says_what_becomes_of_the_object(annotations: dict[str, str], message: str) -> None:
    (outcome,) = prune_step(PruneCandidate(an_item("a"), live(annotations=annotations))).outcomes
    assert (outcome.reason, outcome.message) == ("Deleting", message)


def test_held_object_is_reported_and_not_deleted_and_blocks_no_other() -> None:
    step = prune_step(
        PruneCandidate(an_item("a"), live(), held_until="it rains"),
        PruneCandidate(an_item("b"), live()),
        entries=(Entry("b"),),
    )
    assert [deletion.item.id for deletion in step.deletions] == ["b"]
    held, _ = step.outcomes
    assert (held.state, held.reason) == (ResourceState.DELETING, "HeldBack")
    assert held.message == "no longer desired; kept until it rains"


def test_held_object_that_does_not_exist_is_not_reported() -> None:
    assert prune_step(PruneCandidate(an_item("a"), None, held_until="it rains")).is_done


def test_node_that_is_read_before_a_deletion_gets_the_object() -> None:
    candidates = [PruneCandidate(an_item("a"), live()), PruneCandidate(an_item("b"), live())]
    contested = with_contenders(candidates, {an_item("a").ref.identity: 'LynqNode "other"'})
    before, after = prune_step(*candidates), prune_step(*contested)
    assert [deletion.retain for deletion in before.deletions] == [False, False]
    assert [deletion.retain for deletion in after.deletions] == [True, False]
    assert after.outcomes[0].message == 'being handed over to LynqNode "other"'


def test_node_that_was_known_to_desire_an_object_is_not_forgotten() -> None:
    candidate = PruneCandidate(an_item("a"), live(), contender='LynqNode "beta"')
    assert with_contenders([candidate], {}) == [candidate]


def test_retained_objects_need_no_contenders() -> None:
    candidate = PruneCandidate(an_item("a"), live(), version="7")
    assert prune_step(candidate).needs_contenders(())
    assert not prune_step(candidate).needs_contenders([candidate.item.ref])
    assert [deletion.version for deletion in prune_step(candidate).deletions] == ["7"]
    retained = dataclasses.replace(candidate, policy=DeletionPolicy.RETAIN)
    assert not prune_step(retained).needs_contenders(())
    adopted = live(annotations={"lynq.sh/adopted": "true"})
    assert prune_step(dataclasses.replace(candidate, live=adopted)).needs_contenders(())
    held = dataclasses.replace(candidate, held_until="later")
    assert not prune_step(held).needs_contenders(())
