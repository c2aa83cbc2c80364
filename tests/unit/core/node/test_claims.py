"""Which node claims an object: by labels, owner reference, status and managed fields."""

from typing import Any

import pytest
from msgspec.structs import replace

from lynq.api import NodeStatus, ResourceState
from lynq.core.node.objects import NOT_APPLIED, AppliedRecord, Owner, contested_objects, ref_of
from lynq.core.node.ownership import (
    claimant_of,
    has_lost_ties,
    is_owned_by,
    is_takeover,
    with_ownership,
)
from unit.core.node.nodes import an_owner
from unit.core.node.owned_objects import (
    DELETE,
    ELSEWHERE,
    HERE,
    MANAGED,
    Fleet,
    a_node_of,
    an_entry,
    an_object,
    desired,
    live_from,
    relabeled,
    tracked,
    without_proof,
)


@pytest.mark.parametrize(
    "labels",
    [
        {"lynq.sh/node": "beta-web"},
        {"lynq.sh/node": "beta-web", "lynq.sh/node-namespace": ""},
        {"lynq.sh/node-namespace": "shop"},
        {"lynq.sh/node": "", "lynq.sh/node-namespace": "shop"},
    ],
)
def test_one_label_alone_is_no_claim(labels: dict[str, str]) -> None:
    live = live_from(an_object(labels={**MANAGED, **labels}))
    assert claimant_of(live, ELSEWHERE, an_owner(), NOT_APPLIED, Fleet()) == ""


def test_edited_label_gives_another_node_no_right() -> None:
    owner, other = an_owner(), Owner("shop", "beta-web", "2")
    live = relabeled(tracked(), "beta-web")
    fleet = Fleet(a_node_of(owner), a_node_of(other))
    assert is_owned_by(live, ELSEWHERE, owner, is_listed=False)
    assert has_lost_ties(live, desired(owner), ELSEWHERE, owner)
    assert not is_owned_by(live, ELSEWHERE, other, is_listed=True)
    assert claimant_of(live, ELSEWHERE, other, NOT_APPLIED, fleet) == 'LynqNode "acme-web"'


GO_KEYS = ("ConfigMap/tenant-acme/x@x",)
OTHER_NODES = {
    "gone": (),
    "lists nothing": (NodeStatus(),),
    "lists others": (NodeStatus(resources=(an_entry("y"),), applied_resources=GO_KEYS),),
    "lists it": (NodeStatus(resources=(an_entry("x"), an_entry("y"))),),
    "of the Go operator": (NodeStatus(applied_resources=GO_KEYS),),
}


@pytest.mark.parametrize(
    ("was_applied", "digest", "other", "claimant"),
    [
        (False, b"ours", "gone", 'LynqNode "beta-web"'),
        (True, b"", "gone", 'LynqNode "beta-web"'),
        (True, b"ours", "gone", ""),
        (True, b"ours", "lists nothing", ""),
        (True, b"ours", "lists others", ""),
        (True, b"ours", "lists it", 'LynqNode "beta-web"'),
        (True, b"ours", "of the Go operator", 'LynqNode "beta-web"'),
    ],
)
def test_label_of_another_node_counts_unless_our_status_lists_the_object(
    was_applied: bool,  # noqa: FBT001
    digest: bytes,
    other: str,
    claimant: str,
) -> None:
    live = replace(without_proof(relabeled(tracked(), "beta-web")), digest=digest)
    beta = Owner("shop", "beta-web", "2")
    nodes = Fleet(*(a_node_of(beta, status) for status in OTHER_NODES[other]))
    record = AppliedRecord(was_applied=was_applied)
    assert claimant_of(live, ELSEWHERE, an_owner(), record, nodes) == claimant


def test_label_of_a_node_in_an_unwatched_namespace_counts() -> None:
    live = replace(without_proof(relabeled(tracked(), "beta-web")), digest=b"ours")
    record, nodes = AppliedRecord(was_applied=True), Fleet(covered=False)
    assert claimant_of(live, ELSEWHERE, an_owner(), record, nodes) == 'LynqNode "beta-web"'


def test_owner_reference_of_another_node_is_a_claim() -> None:
    other = Owner("shop", "beta-web", "2")
    live = live_from(with_ownership(an_object(labels=MANAGED), HERE, other, DELETE))
    fleet = Fleet(a_node_of(other))
    assert claimant_of(live, HERE, an_owner(), NOT_APPLIED, fleet) == 'LynqNode "beta-web"'
    assert claimant_of(live, HERE, an_owner(), NOT_APPLIED, Fleet()) == "another LynqNode"


def test_owner_reference_of_another_node_outweighs_our_labels() -> None:
    """Both nodes would write the object, each as its own."""
    other = Owner("shop", "beta-web", "2")
    live = replace(without_proof(tracked()), owner_uids=(other.uid,))
    fleet = Fleet(a_node_of(other))
    assert claimant_of(live, ELSEWHERE, an_owner(), NOT_APPLIED, fleet) == 'LynqNode "beta-web"'


@pytest.mark.parametrize(
    "mark", [{"labels": MANAGED}, {"annotations": {"lynq.sh/applied-hash": "0011"}}]
)
def test_written_object_of_an_unknown_owner_belongs_to_another_node(mark: dict[str, Any]) -> None:
    live = live_from(an_object(ownerReferences=[{"uid": "unknown"}], **mark))
    assert claimant_of(live, HERE, an_owner(), NOT_APPLIED, Fleet()) == "another LynqNode"


def test_object_without_tracking_belongs_to_no_other_node() -> None:
    live = live_from(an_object(labels=MANAGED))
    assert claimant_of(live, HERE, an_owner(), NOT_APPLIED, Fleet()) == ""


def test_foreign_object_belongs_to_no_node() -> None:
    live = live_from(an_object(ownerReferences=[{"uid": "a-deployment"}]))
    assert claimant_of(live, HERE, an_owner(), NOT_APPLIED, Fleet()) == ""
    assert not is_takeover(live, HERE, an_owner(), NOT_APPLIED)


@pytest.mark.parametrize(
    ("digest", "record", "taken"),
    [
        (b"ours", AppliedRecord(was_applied=True), True),
        (b"", AppliedRecord(was_applied=True), False),
        (b"ours", NOT_APPLIED, False),
    ],
)
def test_stripped_object_is_taken_over_if_our_fields_and_status_prove_it(
    digest: bytes,
    record: AppliedRecord,
    taken: bool,  # noqa: FBT001
) -> None:
    live = replace(live_from(an_object()), digest=digest)
    assert is_takeover(live, HERE, an_owner(), record) is taken


def test_contested_objects_are_those_in_conflict() -> None:
    contested = replace(an_entry("a"), state=ResourceState.CONFLICTED)
    status = NodeStatus(resources=(contested, an_entry("b")))
    assert [*contested_objects(status)] == [ref_of(contested).identity]
