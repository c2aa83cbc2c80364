"""How an object is tied to its node, adopted and orphaned."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lynq.api import DeletionPolicy
from lynq.api.reasons import OrphanReason
from lynq.core.node.objects import NOT_APPLIED, ObjectRef, Owner
from lynq.core.node.ownership import (
    claimant_of,
    has_lost_ties,
    has_surplus_reference,
    is_copy,
    is_lost,
    is_orphan,
    is_owned_by,
    is_takeover,
    tracking_id,
    with_ownership,
)
from lynq.core.node.ownership_patches import adoption_patch, orphan_patch
from unit.core.node.nodes import NOW, an_owner
from unit.core.node.owned_objects import (
    CLUSTER,
    DELETE,
    ELSEWHERE,
    HERE,
    LONG,
    MANAGED,
    RETAIN,
    Fleet,
    a_node_of,
    an_object,
    desired,
    live_from,
    tracked,
    without_proof,
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
    assert metadata["labels"] == {"lynq.sh/bucket": "32"}


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
        "labels": {
            "a": "b",
            "lynq.sh/bucket": "32",
            "lynq.sh/node": "acme-web",
            "lynq.sh/node-namespace": "shop",
        },
        "annotations": {"lynq.sh/tracking-id": tracking_id(ref, an_owner())},
    }


def test_long_node_name_is_kept_in_an_annotation() -> None:
    metadata = with_ownership(an_object(), ELSEWHERE, an_owner(LONG), DELETE)["metadata"]
    label = metadata["labels"]["lynq.sh/node"]
    assert (len(label), label[:55]) == (63, "x" * 54 + "-")
    assert metadata["annotations"] == {
        "lynq.sh/node-name": LONG,
        "lynq.sh/tracking-id": tracking_id(ELSEWHERE, an_owner(LONG)),
    }


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
    for is_listed in (False, True):
        assert is_owned_by(live, ref, owner, is_listed=is_listed)
        assert not is_owned_by(live, ref, Owner("shop", name, "another"), is_listed=is_listed)
    assert claimant_of(live, ref, owner, NOT_APPLIED, Fleet()) == ""
    other = Owner("shop", f"{name}x", "another")
    assert claimant_of(live, ref, other, NOT_APPLIED, Fleet(a_node_of(owner)))


def test_short_name_equal_to_a_hashed_label_is_no_proof() -> None:
    live = live_from(with_ownership(an_object(), ELSEWHERE, an_owner(LONG), DELETE))
    live = without_proof(live)
    look_alike = an_owner(live.labels["lynq.sh/node"])._replace(uid="another")
    assert is_owned_by(live, ELSEWHERE, an_owner(LONG), is_listed=True)
    assert not is_owned_by(live, ELSEWHERE, look_alike, is_listed=True)


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
    live = live_from(an_object(labels=labels))
    assert not is_owned_by(live, ELSEWHERE, an_owner(), is_listed=True)


@pytest.mark.parametrize("ref", [ELSEWHERE, CLUSTER])
def test_owner_reference_proves_nothing_outside_the_nodes_namespace(ref: ObjectRef) -> None:
    owner = an_owner()
    copy = live_from(with_ownership(an_object(), HERE, owner, DELETE))
    assert is_owned_by(copy, HERE, owner, is_listed=False)
    for is_listed in (False, True):
        assert not is_owned_by(copy, ref, owner, is_listed=is_listed)


def test_node_without_uid_owns_nothing() -> None:
    owner = an_owner()._replace(uid="")
    assert not is_owned_by(
        live_from(an_object(ownerReferences=[{"uid": ""}])), HERE, owner, is_listed=True
    )
    assert not is_owned_by(tracked(owner), ELSEWHERE, owner, is_listed=True)


def test_object_without_tracking_id_is_owned_only_if_it_is_listed() -> None:
    live = without_proof(tracked())
    assert is_owned_by(live, ELSEWHERE, an_owner(), is_listed=True)
    assert not is_owned_by(live, ELSEWHERE, an_owner(), is_listed=False)


@pytest.mark.parametrize(
    "place",
    [
        ELSEWHERE._replace(namespace="tenant-copy"),
        ELSEWHERE._replace(name="y"),
        ELSEWHERE._replace(kind="Secret"),
        ELSEWHERE._replace(api_version="acme.io/v1"),
    ],
)
def test_copy_at_another_place_belongs_to_no_node(place: ObjectRef) -> None:
    live, owner = tracked(), an_owner()
    assert is_copy(live, place)
    assert not is_copy(live, ELSEWHERE)
    assert not is_owned_by(live, place, owner, is_listed=True)
    assert not is_takeover(live, place, owner, NOT_APPLIED)
    assert claimant_of(live, place, Owner("shop", "beta-web", "2"), NOT_APPLIED, Fleet()) == ""


def test_tracking_id_without_a_uid_proves_nothing() -> None:
    proof = tracking_id(ELSEWHERE, an_owner()._replace(uid=""))
    live = replace(tracked(), annotations={"lynq.sh/tracking-id": proof})
    assert is_copy(live, ELSEWHERE)
    assert not is_takeover(live, ELSEWHERE, an_owner(), NOT_APPLIED)


def test_object_is_the_same_in_every_version_of_its_group() -> None:
    assert is_owned_by(tracked(), ELSEWHERE._replace(api_version="v2"), an_owner(), is_listed=False)


def test_recreated_node_takes_over_and_does_not_own() -> None:
    recreated = an_owner()._replace(uid="new")
    live = tracked()
    assert not is_owned_by(live, ELSEWHERE, recreated, is_listed=True)
    assert claimant_of(live, ELSEWHERE, recreated, NOT_APPLIED, Fleet()) == ""
    assert is_takeover(live, ELSEWHERE, recreated, NOT_APPLIED)


@pytest.mark.parametrize(
    "changed",
    [
        {"labels": {"lynq.sh/managed": None}},
        {"labels": {"lynq.sh/node": "beta-web"}},
        {"labels": {"lynq.sh/node-namespace": "x"}},
        {"annotations": {"lynq.sh/tracking-id": "x"}},
        {"annotations": {"lynq.sh/adopted": "true"}},
    ],
)
def test_changed_tie_is_lost(changed: dict[str, dict[str, str | None]]) -> None:
    obj = desired(an_owner())
    assert not has_lost_ties(live_from(obj), obj, ELSEWHERE, an_owner())
    metadata = obj["metadata"]
    edited = {key: {**metadata[key], **values} for key, values in changed.items()}
    live = live_from({"metadata": {**metadata, **edited}})
    assert has_lost_ties(live, obj, ELSEWHERE, an_owner())


def test_object_of_a_protected_owner_has_labels_and_still_belongs_to_it() -> None:
    owner = an_owner()
    obj = with_ownership(an_object(), HERE, owner._replace(is_protected=True), DELETE)
    assert "ownerReferences" not in obj["metadata"]
    assert is_owned_by(live_from(obj), HERE, owner, is_listed=False)


def test_owner_reference_is_surplus_where_the_desired_object_has_none() -> None:
    owner = an_owner()
    referenced = with_ownership(an_object(), HERE, owner, DELETE)
    kept = with_ownership(an_object(), HERE, owner._replace(is_protected=True), DELETE)
    assert has_surplus_reference(live_from(referenced), kept, owner)
    assert not has_surplus_reference(live_from(referenced), referenced, owner)
    assert not has_surplus_reference(live_from(kept), kept, owner)


def test_wrong_tracking_id_is_lost_beside_our_owner_reference() -> None:
    owner = an_owner()
    obj = with_ownership(an_object(labels=MANAGED), HERE, owner, RETAIN)
    live = replace(live_from(obj), owner_uids=(owner.uid,))
    assert not has_lost_ties(live, obj, HERE, owner)
    edited = replace(live, annotations={"lynq.sh/tracking-id": "x"})
    assert has_lost_ties(edited, obj, HERE, owner)


def test_missing_tracking_id_is_not_lost() -> None:
    live = without_proof(live_from(desired(an_owner())))
    assert not has_lost_ties(live, desired(an_owner()), ELSEWHERE, an_owner())


def test_orphan_has_no_owner_until_it_is_adopted_in_one_write() -> None:
    owner = an_owner()
    orphan = live_from(orphan_patch((), owner, OrphanReason.LYNQ_NODE_DELETED, NOW))
    assert is_orphan(orphan)
    assert not is_owned_by(orphan, HERE, owner, is_listed=True)
    assert claimant_of(orphan, HERE, owner, NOT_APPLIED, Fleet()) == ""
    adopted = adoption_patch(with_ownership(an_object(), HERE, owner, RETAIN))
    assert adopted["metadata"]["labels"]["lynq.sh/orphaned"] is None
    assert adopted["metadata"]["annotations"] == {
        "lynq.sh/tracking-id": tracking_id(HERE, owner),
        "lynq.sh/orphaned-at": None,
        "lynq.sh/orphaned-from": None,
        "lynq.sh/orphaned-reason": None,
    }
    assert is_owned_by(live_from(adopted), HERE, owner, is_listed=False)
    assert not is_orphan(live_from(adopted))


@pytest.mark.parametrize(
    "mark",
    [
        {"labels": {"lynq.sh/orphaned": "true"}},
        {"annotations": {"lynq.sh/orphaned-at": "2026-03-01T12:00:00Z"}},
        {"annotations": {"lynq.sh/orphaned-reason": "LynqNodeDeleted"}},
    ],
)
def test_each_orphan_marker_frees_the_object_for_every_node(mark: dict[str, Any]) -> None:
    metadata = desired(Owner("shop", "beta-web", "2"))["metadata"]
    marked = {key: {**metadata[key], **values} for key, values in mark.items()}
    live = live_from({"metadata": {**metadata, **marked}})
    assert is_orphan(live)
    assert claimant_of(live, ELSEWHERE, an_owner(), NOT_APPLIED, Fleet()) == ""


def test_orphan_label_must_be_true() -> None:
    assert not is_orphan(live_from(an_object(labels={"lynq.sh/orphaned": "false"})))


@pytest.mark.parametrize("ref", [HERE, ELSEWHERE])
@pytest.mark.parametrize("policy", [DELETE, RETAIN])
def test_object_is_lost_to_another_node_and_as_an_orphan(
    ref: ObjectRef, policy: DeletionPolicy
) -> None:
    owner, other = an_owner(), Owner("shop", "other-web", "another-uid")
    own = live_from(with_ownership(an_object(labels=MANAGED), ref, owner, policy))
    foreign = live_from(with_ownership(an_object(labels=MANAGED), ref, other, policy))
    assert not is_lost(own, ref, owner)
    assert is_lost(foreign, ref, owner)
    orphan = replace(own, labels={**own.labels, "lynq.sh/orphaned": "true"})
    assert is_lost(orphan, ref, owner)


def test_object_with_the_labels_of_another_node_is_lost() -> None:
    labels = {"lynq.sh/node": "other-web", "lynq.sh/node-namespace": "shop"}
    assert is_lost(live_from(an_object(labels=labels)), HERE, an_owner())


def test_object_without_a_tie_is_not_lost() -> None:
    """The garbage collector has removed the owner reference, or the labels name the node."""
    owner = an_owner()
    assert not is_lost(live_from(an_object(labels=MANAGED)), HERE, owner)
    labels = {"lynq.sh/node": owner.name, "lynq.sh/node-namespace": owner.namespace}
    assert not is_lost(live_from(an_object(labels=labels)), HERE, owner)
