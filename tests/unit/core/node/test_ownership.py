"""How an object is tied to its node, adopted and orphaned."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import DeletionPolicy, OwnerReference
from lynq.api.reasons import OrphanReason
from lynq.core.node.objects import LiveObject, ObjectRef, Owner
from lynq.core.node.ownership import (
    adoption_patch,
    is_orphan,
    is_owned_by,
    is_owned_by_another_node,
    orphan_patch,
    with_ownership,
)
from lynq.core.readiness.rules import evaluate_readiness
from unit.core.node.nodes import NOW, an_owner

HERE = ObjectRef("v1", "ConfigMap", "shop", "x")
ELSEWHERE = HERE._replace(namespace="tenant-acme")
CLUSTER = ObjectRef("v1", "Namespace", "", "tenant-acme")
LONG = "x" * 64
DELETE, RETAIN = DeletionPolicy.DELETE, DeletionPolicy.RETAIN


def an_object(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", **metadata}}


def live_from(obj: dict[str, Any]) -> LiveObject:
    metadata = obj["metadata"]
    return LiveObject(
        uid="77",
        readiness=evaluate_readiness({}),
        labels={k: v for k, v in metadata.get("labels", {}).items() if v is not None},
        annotations={k: v for k, v in metadata.get("annotations", {}).items() if v is not None},
        owner_uids=tuple(reference["uid"] for reference in metadata.get("ownerReferences") or ()),
    )


def test_object_in_the_nodes_namespace_has_an_owner_reference() -> None:
    owner = an_owner()
    other = {"kind": "ConfigMap", "uid": "other"}
    metadata = with_ownership(an_object(ownerReferences=[other]), HERE, owner, DELETE)["metadata"]
    assert metadata["ownerReferences"] == [
        other,
        {
            "apiVersion": "operator.lynq.sh/v1",
            "kind": "LynqNode",
            "name": "acme-web",
            "uid": owner.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        },
    ]
    assert "labels" not in metadata


@pytest.mark.parametrize(
    ("ref", "policy"),
    [(ELSEWHERE, DELETE), (CLUSTER, DELETE), (HERE, RETAIN), (ELSEWHERE, RETAIN)],
)
def test_retained_and_remote_objects_are_tracked_by_labels(
    ref: ObjectRef, policy: DeletionPolicy
) -> None:
    obj = with_ownership(an_object(labels={"a": "b"}), ref, an_owner(), policy)
    assert obj["metadata"] == {
        "name": "x",
        "labels": {"a": "b", "lynq.sh/node": "acme-web", "lynq.sh/node-namespace": "shop"},
    }


def test_long_node_name_is_kept_in_an_annotation() -> None:
    metadata = with_ownership(an_object(), ELSEWHERE, an_owner(LONG), DELETE)["metadata"]
    label = metadata["labels"]["lynq.sh/node"]
    assert (len(label), label[:55]) == (63, "x" * 54 + "-")
    assert metadata["annotations"] == {"lynq.sh/node-name": LONG}


@given(
    st.from_regex(r"[a-z]([a-z-]{0,80}[a-z])?", fullmatch=True),
    st.sampled_from([HERE, ELSEWHERE, CLUSTER]),
    st.sampled_from([DELETE, RETAIN]),
)
def test_tracked_object_belongs_to_its_node_only(
    name: str, ref: ObjectRef, policy: DeletionPolicy
) -> None:
    owner = an_owner(name)
    live = live_from(
        with_ownership(an_object(labels={"lynq.sh/managed": "true"}), ref, owner, policy)
    )
    assert is_owned_by(live, owner)
    other = Owner("shop", f"{name}x", "another")
    assert not is_owned_by(live, other)
    assert is_owned_by_another_node(live, other)


def test_short_name_equal_to_a_hashed_label_is_no_proof() -> None:
    live = live_from(with_ownership(an_object(), ELSEWHERE, an_owner(LONG), DELETE))
    look_alike = an_owner(live.labels["lynq.sh/node"])._replace(uid="another")
    assert not is_owned_by(live, look_alike)


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"lynq.sh/node": "acme-web"},
        {"lynq.sh/node": "acme-web", "lynq.sh/node-namespace": "other"},
        {"lynq.sh/node": "", "lynq.sh/node-namespace": "shop"},
        {"lynq.sh/managed": "true"},
    ],
)
def test_ownership_needs_both_labels(labels: dict[str, str]) -> None:
    assert not is_owned_by(live_from(an_object(labels=labels)), an_owner())


def test_node_without_uid_owns_nothing_by_reference() -> None:
    live = live_from(an_object(ownerReferences=[{"uid": ""}]))
    assert not is_owned_by(live, an_owner()._replace(uid=""))


def test_object_without_tracking_belongs_to_no_other_node() -> None:
    live = live_from(an_object(labels={"lynq.sh/managed": "true"}))
    assert not is_owned_by_another_node(live, an_owner())


def test_foreign_object_belongs_to_no_node() -> None:
    live = live_from(an_object(ownerReferences=[{"uid": "a-deployment"}]))
    assert not is_owned_by_another_node(live, an_owner())


def test_orphan_patch_removes_our_ownership_only() -> None:
    owner = an_owner()
    references = [OwnerReference(kind="LynqNode", uid=owner.uid), OwnerReference(uid="other")]
    assert orphan_patch(references, owner, OrphanReason.REMOVED_FROM_TEMPLATE, NOW) == {
        "metadata": {
            "labels": {
                "lynq.sh/orphaned": "true",
                "lynq.sh/node": None,
                "lynq.sh/node-namespace": None,
            },
            "annotations": {
                "lynq.sh/orphaned-at": "2026-03-01T12:00:00Z",
                "lynq.sh/orphaned-reason": "RemovedFromTemplate",
                "lynq.sh/node-name": None,
            },
            "ownerReferences": [{"uid": "other"}],
        }
    }


def test_orphan_has_no_owner_until_it_is_adopted_in_one_write() -> None:
    owner = an_owner()
    orphan = live_from(orphan_patch((), owner, OrphanReason.LYNQ_NODE_DELETED, NOW))
    assert is_orphan(orphan)
    assert not is_owned_by(orphan, owner)
    assert not is_owned_by_another_node(orphan, owner)
    adopted = adoption_patch(with_ownership(an_object(), HERE, owner, RETAIN))
    assert adopted["metadata"]["labels"]["lynq.sh/orphaned"] is None
    assert adopted["metadata"]["annotations"] == {
        "lynq.sh/orphaned-at": None,
        "lynq.sh/orphaned-reason": None,
    }
    assert is_owned_by(live_from(adopted), owner)
    assert not is_orphan(live_from(adopted))
