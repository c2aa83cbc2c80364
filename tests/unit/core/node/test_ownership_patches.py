"""Merge patches of the ownership metadata: what they remove, restore and leave."""

from typing import Any

import pytest

from lynq.api import DeletionPolicy, Metadata, OwnerReference
from lynq.api.reasons import OrphanReason
from lynq.core.node.objects import LiveObject, ObjectRef
from lynq.core.node.ownership import with_ownership
from lynq.core.node.ownership_patches import (
    marks_removal_patch,
    orphan_patch,
    owner_removal_patch,
    restore_metadata_patch,
    without_adopted,
)
from lynq.core.readiness.verdict import READY
from unit.core.node.nodes import NOW, an_owner

ADOPTED = "lynq.sh/adopted"


def live(**more: Any) -> LiveObject:
    return LiveObject(uid="7", readiness=READY, **more)


def test_marks_are_removed_and_the_rest_stays() -> None:
    owner = an_owner()
    metadata = Metadata(
        labels={"lynq.sh/managed": "true", "app": "x"},
        annotations={"lynq.sh/adopted": "true", "a": "b"},
        owner_references=[OwnerReference(uid=owner.uid), OwnerReference(uid="other")],
        resource_version="7",
    )
    assert marks_removal_patch(metadata, owner) == {
        "metadata": {
            "labels": {"lynq.sh/managed": None},
            "annotations": {"lynq.sh/adopted": None},
            "ownerReferences": [{"uid": "other"}],
            "resourceVersion": "7",
        }
    }
    assert marks_removal_patch(Metadata(labels={"app": "x"}), owner) is None


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
                "lynq.sh/orphaned-from": "shop/acme-web",
                "lynq.sh/orphaned-reason": "RemovedFromTemplate",
                "lynq.sh/node-name": None,
                "lynq.sh/tracking-id": None,
            },
            "ownerReferences": [{"uid": "other"}],
        }
    }


def test_owner_references_of_others_are_not_written() -> None:
    metadata = Metadata(
        labels={"lynq.sh/managed": "true"},
        owner_references=[OwnerReference(uid="other")],
        resource_version="7",
    )
    removed = {"labels": {"lynq.sh/managed": None}, "resourceVersion": "7"}
    assert marks_removal_patch(metadata, an_owner()) == {"metadata": removed}


@pytest.mark.parametrize(
    ("uids", "rest"),
    [((), None), (("ours",), None), (("other", "ours"), [{"uid": "other"}])],
)
def test_list_of_owners_that_becomes_empty_is_removed(
    uids: tuple[str, ...], rest: list[dict[str, str]] | None
) -> None:
    references = [OwnerReference(uid=uid) for uid in uids]
    assert owner_removal_patch(references, an_owner()._replace(uid="ours")) == rest


@pytest.mark.parametrize(
    ("annotations", "live_annotations", "patched"),
    [
        pytest.param({"a": "b"}, {}, {"a": "b"}, id="not adopted"),
        pytest.param({"a": "b"}, {ADOPTED: "true"}, {"a": "b", ADOPTED: None}, id="was adopted"),
        pytest.param(None, {ADOPTED: "true"}, {ADOPTED: None}, id="no other annotation"),
        pytest.param({ADOPTED: "true"}, {ADOPTED: "true"}, {ADOPTED: "true"}, id="is adopted"),
        pytest.param({ADOPTED: "true"}, {}, {ADOPTED: "true"}, id="mark was removed"),
    ],
)
def test_mark_of_adoption_is_removed_unless_the_patch_sets_it(
    annotations: dict[str, str] | None,
    live_annotations: dict[str, str],
    patched: dict[str, str | None],
) -> None:
    patch = {"metadata": {"name": "x", "annotations": annotations}}
    result = without_adopted(patch, live(annotations=live_annotations))
    assert result == {"metadata": {"name": "x", "annotations": patched}}


@pytest.mark.parametrize("namespace", [{}, {"namespace": "shop"}])
def test_restore_has_the_place_and_our_marks_only(namespace: dict[str, str]) -> None:
    ref = ObjectRef("v1", "ConfigMap", namespace.get("namespace", ""), "x")
    metadata = {"name": "x", **namespace, "labels": {"app": "x", "lynq.sh/managed": "true"}}
    obj: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    obj = with_ownership(obj, ref, an_owner(), DeletionPolicy.RETAIN)
    restored = restore_metadata_patch(obj, live(), an_owner())
    labels = {key: text for key, text in obj["metadata"]["labels"].items() if key != "app"}
    annotations = obj["metadata"]["annotations"]
    assert restored == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", **namespace, "labels": labels, "annotations": annotations},
    }


@pytest.mark.parametrize(("uids", "is_restored"), [((), True), (("ours", "other"), False)])
def test_owner_reference_is_restored_only_if_it_is_lost(
    uids: tuple[str, ...], *, is_restored: bool
) -> None:
    owner = an_owner()._replace(uid="ours")
    ref = ObjectRef("v1", "ConfigMap", "shop", "x")
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "shop"}}
    obj = with_ownership(obj, ref, owner, DeletionPolicy.DELETE)
    restored = restore_metadata_patch(obj, live(owner_uids=uids), owner)
    assert ("ownerReferences" in restored["metadata"]) is is_restored
