"""The approval of a held deletion: which nodes it stands for, and when it is spent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import DeletionGuard, Metadata
from lynq.api.names import ANNOTATION_APPROVE_DELETION
from lynq.core.guard.approval import (
    NO_APPROVAL,
    Approval,
    annotations_without_approval,
    approval_removal,
    digest_of,
    requested_approval,
    spent_approvals,
    with_spent_approval,
)
from lynq.core.guard.deletion import GuardOutcome, evaluate_deletion

GUARD = DeletionGuard()


def names(count: int, start: int = 0) -> list[str]:
    return [f"tenant-{number:05}-web" for number in range(start, start + count)]


SETS = st.frozensets(st.sampled_from(names(12)))


def outcome(
    to_delete: list[str], digest: str, being_deleted: list[str] | None = None
) -> GuardOutcome:
    approval = Approval.resolve(digest, to_delete, [*to_delete, *(being_deleted or [])])
    return evaluate_deletion(
        GUARD, existing=to_delete, to_delete={name: name for name in to_delete}, approval=approval
    ).outcome


def test_digest_has_16_hex_digits_and_ignores_order() -> None:
    assert digest_of(["b", "a", "a"]) == digest_of(["a", "b"])
    assert digest_of(["a", "b"]) == "7e18f737311b2dc3"


@given(SETS, SETS)
def test_only_equal_sets_share_a_digest(one: frozenset[str], other: frozenset[str]) -> None:
    assert (digest_of(one) == digest_of(sorted(other, reverse=True))) == (one == other)


def test_approval_is_the_value_of_the_annotation() -> None:
    approved = Metadata(annotations={ANNOTATION_APPROVE_DELETION: "0123", "a": "b"})
    assert requested_approval(approved) == "0123"
    assert requested_approval(Metadata()) == ""
    assert annotations_without_approval(approved) == {"a": "b"}
    assert approval_removal() == {"annotations": {ANNOTATION_APPROVE_DELETION: None}}


def test_approval_releases_exactly_its_set() -> None:
    digest = digest_of(names(20))
    assert outcome(names(20), digest) is GuardOutcome.APPROVED
    assert outcome(names(21), digest) is GuardOutcome.HELD
    assert outcome(names(19), digest) is GuardOutcome.HELD
    assert outcome(names(20, start=1), digest) is GuardOutcome.HELD


@pytest.mark.parametrize("digest", ["", "true", "*", "yes"])
def test_only_a_digest_approves(digest: str) -> None:
    assert outcome(names(20), digest) is GuardOutcome.HELD


@pytest.mark.parametrize(
    "change", [str.upper, lambda digest: digest + " ", lambda digest: digest[:8]]
)
def test_nearly_correct_digest_approves_nothing(change: object) -> None:
    assert callable(change)
    digest = digest_of(names(20))
    assert digest != digest.upper()
    assert outcome(names(20), change(digest)) is GuardOutcome.HELD


def test_approved_deletion_continues_after_a_restart() -> None:
    digest = digest_of(names(40))
    rest = names(25)
    assert outcome(rest, digest, names(15, start=25)) is GuardOutcome.APPROVED
    assert outcome(rest, digest, names(14, start=25)) is GuardOutcome.HELD
    assert outcome([*rest, "other"], digest, names(15, start=25)) is GuardOutcome.HELD


def test_resolved_set_survives_nodes_that_are_gone_for_good() -> None:
    first = Approval.resolve(digest_of(names(40)), names(40))
    second = Approval.resolve(first.digest, first.nodes, names(25))
    assert second == first
    assert second.covers(names(25))
    assert not second.covers([*names(25), "other"])


def test_unresolved_approval_covers_no_node() -> None:
    unresolved = Approval.resolve("0123456789abcdef", names(3))
    assert unresolved.nodes == frozenset()
    assert not unresolved.covers(names(1))


def test_without_an_annotation_there_is_no_approval() -> None:
    assert Approval.resolve("", names(3)) == NO_APPROVAL
    assert not NO_APPROVAL.covers(names(3))
    assert not NO_APPROVAL.covers(())
    assert not NO_APPROVAL.is_spent((), (), complete=True)


def test_approval_is_spent_once_nothing_is_guarded() -> None:
    approval = Approval.resolve(digest_of(names(20)), names(20))
    assert approval.is_spent((), (), complete=False)
    assert Approval("0123456789abcdef").is_spent((), (), complete=False)


def test_approval_is_spent_once_its_deletion_is_complete() -> None:
    approval = Approval.resolve(digest_of(names(20)), names(20))
    assert approval.is_spent(names(20), (), complete=True)
    assert not approval.is_spent(names(20), (), complete=False)


def test_approval_of_other_nodes_is_not_spent_while_a_deletion_is_held() -> None:
    approval = Approval.resolve(digest_of(names(20)), names(20))
    assert not approval.is_spent(names(21), names(21), complete=True)
    # All others are held for another reason, and wait for their own approval.
    assert approval.is_spent(names(21), names(1, start=20), complete=True)
    assert not Approval("0123456789abcdef").is_spent(names(1), names(1), complete=True)


@given(SETS, SETS, SETS, SETS)
def test_covered_nodes_are_a_part_of_the_approved_set(
    approved: frozenset[str],
    last: frozenset[str],
    to_delete: frozenset[str],
    being_deleted: frozenset[str],
) -> None:
    approval = Approval.resolve(digest_of(approved), last, to_delete, to_delete | being_deleted)
    assert approval.nodes in (approved, frozenset())
    if to_delete and approval.covers(to_delete):
        assert to_delete <= approved


@given(SETS, SETS, SETS, SETS)
def test_resolved_approval_agrees_with_comparing_digests(
    approved: frozenset[str],
    last: frozenset[str],
    to_delete: frozenset[str],
    being_deleted: frozenset[str],
) -> None:
    digest = digest_of(approved)
    approval = Approval.resolve(digest, last, to_delete, to_delete | being_deleted)
    counted = approval.nodes or being_deleted
    by_digest = digest in (digest_of(to_delete), digest_of(to_delete | counted))
    assert not to_delete or approval.covers(to_delete) == by_digest


def test_spent_approval_releases_nothing_and_the_set_gets_another_digest() -> None:
    first = digest_of(names(20))
    status = with_spent_approval(None, first)
    spent = spent_approvals(status)
    assert Approval.resolve(first, names(20), spent=spent) == NO_APPROVAL
    second = digest_of(names(20), spent)
    assert second != first
    assert Approval.resolve(second, names(20), spent=spent).covers(names(20))
    third = digest_of(names(20), spent_approvals(with_spent_approval(status, second)))
    assert len({first, second, third}) == 3


def test_spent_approval_is_not_spent_again() -> None:
    digest = digest_of(names(20))
    spent = Approval.resolve(digest, names(20), spent=(digest,))
    assert not spent.is_spent((), (), complete=True)


def test_status_remembers_a_bounded_number_of_digests() -> None:
    status = None
    for number in range(50):
        status = with_spent_approval(status, f"{number:016x}")
    assert spent_approvals(status) == tuple(f"{number:016x}" for number in range(30, 50))
    assert spent_approvals(with_spent_approval(status, f"{30:016x}"))[-1] == f"{30:016x}"


@pytest.mark.parametrize("text", ["yes", "0" * 17, "G" * 16, "0" * 16 + "\n"])
def test_only_digests_are_remembered(text: str) -> None:
    assert spent_approvals(with_spent_approval(None, text)) == ()
    status = with_spent_approval(None, "0123456789abcdef")
    assert with_spent_approval(status, text) == status


def test_digest_is_remembered_once() -> None:
    status = with_spent_approval(with_spent_approval(None, "0" * 16), "1" * 16)
    assert spent_approvals(with_spent_approval(status, "0" * 16)) == ("1" * 16, "0" * 16)
