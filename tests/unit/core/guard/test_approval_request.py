"""What a person approves: the deletions that are held now, and no other set."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import (
    Condition,
    ConditionStatus,
    DeletionGuardStatus,
    HeldDeletions,
    HubStatus,
    LynqHub,
)
from lynq.core.guard.approval import held_deletions
from lynq.core.guard.approval_request import (
    NotApprovable,
    PlannedDeletions,
    check_digest,
    held_nodes,
    held_now,
    planned_deletions,
)
from unit.core.hub.fixtures import NOON, a_hub

HELD = HeldDeletions(count=2, digest="4f0c6a1be2d97735", nodes=("a-web", "b-web"))


def hub_with(status: HubStatus) -> LynqHub:
    hub = a_hub()
    return LynqHub(metadata=hub.metadata, spec=hub.spec, status=status)


def a_plan(**parts: Any) -> str:
    deletion = {"action": "Delete", "kind": "LynqNode", "hub": "tenants"}
    plan = {
        "schema": "lynq.sh/plan/v1",
        "changes": [
            {**deletion, "name": "b-web"},
            {**deletion, "name": "a-web"},
            {"action": "Update", "kind": "LynqNode", "hub": "tenants", "name": "c-web"},
            {"action": "Delete", "kind": "ConfigMap", "hub": "tenants", "name": "a-settings"},
        ],
        "guard": {"verdict": "Held", "count": 2, "digest": HELD.digest},
    }
    return json.dumps(plan | parts)


def test_status_lists_at_most_twenty_nodes() -> None:
    held = held_deletions([f"n{number:02}" for number in reversed(range(25))])
    assert held is not None
    assert (held.count, len(held.nodes), held.nodes[0]) == (25, 20, "n00")
    assert held_deletions([]) is None


def test_held_deletions_are_those_of_the_status() -> None:
    assert held_now(hub_with(HubStatus(held_deletions=HELD))) == HELD


def test_nothing_held_is_not_approvable() -> None:
    with pytest.raises(NotApprovable, match="no deletion is held"):
        held_now(hub_with(HubStatus()))


def test_hold_of_an_older_operator_is_explained() -> None:
    condition = Condition(
        type="DeletionHeld",
        status=ConditionStatus.TRUE,
        reason="DeletionGuardExceeded",
        message="",
        last_transition_time=NOON,
    )
    with pytest.raises(NotApprovable, match="update the operator"):
        held_now(hub_with(HubStatus(conditions=(condition,))))


def test_another_digest_is_refused_with_both_digests() -> None:
    check_digest(HELD, HELD.digest, origin="--digest")
    with pytest.raises(NotApprovable, match=f"--digest has the digest 0+, .* is {HELD.digest}"):
        check_digest(HELD, "0" * 16, origin="--digest")


def test_plan_names_its_nodes() -> None:
    assert planned_deletions(a_plan(), "tenants") == PlannedDeletions(
        HELD.digest, ("a-web", "b-web")
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not valid JSON"),
        ("[]", "schema"),
        (a_plan(schema="lynq.sh/plan/v2"), "schema"),
        (a_plan(guard={"verdict": "Allowed"}), "needs no approval"),
        (a_plan(guard={"verdict": "Allowed", "digest": HELD.digest}), "needs no approval"),
        (a_plan(guard={"verdict": "Held"}), "needs no approval"),
        (a_plan(guard=None), "needs no approval"),
        (a_plan(changes=[{"action": "Delete", "kind": "LynqNode", "hub": "b"}]), "hub b, not of"),
    ],
)
def test_unusable_plan_is_refused(text: str, problem: str) -> None:
    with pytest.raises(NotApprovable, match=problem):
        planned_deletions(text, "tenants")


def names(count: int) -> list[str]:
    return [f"n{number:03}-web" for number in range(count)]


def holding(held: list[str], *spent: str) -> LynqHub:
    status = HubStatus(
        held_deletions=held_deletions(held, spent),
        deletion_guard=DeletionGuardStatus(spent_approvals=spent),
    )
    return hub_with(status)


@pytest.mark.parametrize("spent", [(), (held_deletions(names(50)).digest,)])  # type: ignore[union-attr]
def test_all_held_nodes_are_named_if_all_rows_have_vanished(spent: tuple[str, ...]) -> None:
    assert held_nodes(holding(names(50), *spent), names(50)) == tuple(names(50))


def test_only_the_first_held_nodes_are_named_if_others_are_not_held() -> None:
    assert held_nodes(holding(names(50)), [*names(50), "z-web"]) == tuple(names(20))
    # As many nodes as are held, but others.
    assert held_nodes(holding(names(50)), [*names(49), "z-web"]) == tuple(names(20))


def test_no_node_is_named_without_names_of_held_deletions() -> None:
    assert held_nodes(hub_with(HubStatus()), names(5)) == ()
    edited = HubStatus(held_deletions=HeldDeletions(count=5, digest="x"))
    assert held_nodes(hub_with(edited), names(5)) == ()


@given(st.sets(st.sampled_from(names(40))), st.sets(st.sampled_from(names(40))))
def test_named_nodes_are_held(held: set[str], others: set[str]) -> None:
    named = held_nodes(holding(sorted(held)), held | others)
    assert set(named) <= held
    assert list(named) == sorted(named)
    assert len(named) >= min(20, len(held))
