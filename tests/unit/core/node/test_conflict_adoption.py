"""Conflicts of objects that existed before or are to be retained: the marks of their owner."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from lynq.api import AdoptionPolicy, DeletionPolicy, Metadata, PatchStrategy
from lynq.core.node.apply_errors import ApplyError, ApplyErrorKind
from lynq.core.node.conflict import (
    RETRY_DELAYS,
    Accepted,
    DryRunApply,
    PatchMetadata,
    ReadMetadata,
    Refetch,
    Send,
    on_accepted,
    on_error,
    on_metadata,
    on_refetched,
)
from lynq.core.node.state import ResourceFacts, WriteMethod
from unit.core.node.decisions import adopted_by, but, foreign, settled
from unit.core.node.nodes import a_resource, an_owner
from unit.core.node.write_attempts import (
    DOWN,
    FORCE,
    FOREIGN,
    MARKS,
    OUTDATED,
    SHARED,
    UPDATED,
    begun,
    drifted,
    metadata,
    observed,
    orphaned,
    rejection,
    sent,
    sent_version,
)

INVALID = ApplyError(ApplyErrorKind.INVALID, "422")


def existing(**resource: Any) -> ResourceFacts:
    """Return a resource whose object exists and was written by others."""
    return adopted_by(a_resource(**resource), foreign())


def test_adoption_is_pinned_to_the_observed_version() -> None:
    attempt = begun(existing())
    assert sent(attempt) == (WriteMethod.APPLY, False)
    assert sent_version(attempt) == "1"
    attempt = on_error(attempt, OUTDATED)
    assert attempt.action == Refetch(RETRY_DELAYS[0])
    # Another node was faster.
    taken = observed(replace(existing(), claimant='LynqNode "beta"'), "2")
    assert rejection(on_refetched(attempt, taken)) == (False, True)
    again = on_refetched(attempt, observed(existing(), "2"))
    assert (sent(again), sent_version(again)) == ((WriteMethod.APPLY, False), "2")


def test_disputed_field_of_an_adopted_object_is_taken_only_under_force() -> None:
    assert rejection(on_error(begun(existing()), FOREIGN)) == (True, False)
    attempt = on_error(begun(existing(conflict_policy=FORCE)), FOREIGN)
    assert (sent(attempt), sent_version(attempt)) == ((WriteMethod.APPLY, True), "1")
    assert on_accepted(attempt).action == Accepted('"helm" (2 fields), "kubectl" (1 fields)')


def test_foreign_object_is_merged_only_after_a_dry_run() -> None:
    attempt = begun(existing(patch_strategy=PatchStrategy.MERGE))
    assert isinstance(attempt.action, ReadMetadata)
    assert sent(on_metadata(attempt, metadata())) == (WriteMethod.MERGE, False)
    attempt = on_metadata(attempt, SHARED)
    assert isinstance(attempt.action, DryRunApply)
    assert sent(on_accepted(attempt)) == (WriteMethod.MERGE, False)
    assert rejection(on_error(attempt, FOREIGN)) == (True, False)


def test_foreign_object_is_replaced_only_if_no_other_manager_owns_fields() -> None:
    attempt = begun(existing(patch_strategy=PatchStrategy.REPLACE))
    assert isinstance(attempt.action, ReadMetadata)
    assert sent(on_metadata(attempt, metadata())) == (WriteMethod.REPLACE, False)
    assert rejection(on_metadata(attempt, SHARED)) == (True, False)


@pytest.mark.parametrize("strategy", [PatchStrategy.MERGE, PatchStrategy.REPLACE])
@pytest.mark.parametrize(
    "policy", [{"conflict_policy": FORCE}, {"adoption_policy": AdoptionPolicy.OWN}]
)
def test_forced_or_owned_object_is_merged_and_replaced_at_once(
    strategy: PatchStrategy, policy: dict[str, Any]
) -> None:
    attempt = begun(existing(patch_strategy=strategy, **policy))
    assert isinstance(attempt.action, Send)


# Marks that were changed


def test_changed_marks_are_restored_before_a_conflict_is_reported() -> None:
    attempt = on_error(begun(drifted()), MARKS)
    assert isinstance(attempt.action, PatchMetadata)
    assert attempt.action.patch["metadata"].keys() >= {"labels", "annotations"}
    attempt = on_accepted(attempt)
    assert sent(attempt) == (WriteMethod.APPLY, False)
    assert rejection(on_error(attempt, MARKS)) == (True, False)
    assert on_accepted(attempt).action == Accepted()


def test_marks_of_an_object_that_is_not_adopted_yet_are_not_restored() -> None:
    assert rejection(on_error(begun(existing()), MARKS)) == (True, False)


# Adoption


def test_adoption_clears_dropped_fields() -> None:
    attempt = begun(orphaned(conflict_policy=FORCE))
    assert isinstance(attempt.action, ReadMetadata)
    attempt = on_metadata(attempt, SHARED)
    assert sent(attempt) == (WriteMethod.MERGE, False)
    assert attempt.write.obj["data"] == {"plan": "acme", "old": None}


def test_adoption_with_strategy_merge_clears_nothing() -> None:
    attempt = on_metadata(begun(orphaned(patch_strategy=PatchStrategy.MERGE)), SHARED)
    assert sent(attempt) == (WriteMethod.MERGE, False)
    assert attempt.write.obj["data"] == {"plan": "acme"}


def test_adoption_under_stuck_detects_conflicts_by_a_dry_run() -> None:
    attempt = on_metadata(begun(orphaned()), SHARED)
    assert isinstance(attempt.action, DryRunApply)
    assert "orphaned" not in str(attempt.action.obj)
    assert sent(on_accepted(attempt)) == (WriteMethod.MERGE, False)
    assert rejection(on_error(attempt, FOREIGN)) == (True, False)


def test_adoption_without_other_managers_needs_no_dry_run() -> None:
    assert sent(on_metadata(begun(orphaned()), UPDATED)) == (WriteMethod.MERGE, False)


@pytest.mark.parametrize("managers", [("manager",), ("lynq-operator", "manager"), ()])
def test_dry_run_conflict_with_the_go_operator_is_our_own(managers: tuple[str, ...]) -> None:
    attempt = on_metadata(begun(orphaned()), SHARED)
    error = ApplyError(ApplyErrorKind.CONFLICT, "", managers)
    assert sent(on_error(attempt, error)) == (WriteMethod.MERGE, False)


def test_adoption_of_an_orphan_is_pinned_to_the_observed_version() -> None:
    attempt = on_metadata(begun(orphaned()), UPDATED)
    assert sent_version(attempt) == "1"
    attempt = on_error(attempt, OUTDATED)
    assert attempt.action == Refetch(RETRY_DELAYS[0])
    again = on_refetched(attempt, observed(orphaned(), "2"))
    assert again.action == ReadMetadata()
    again = on_metadata(again, UPDATED)
    assert (sent(again), sent_version(again)) == ((WriteMethod.MERGE, False), "2")


@pytest.mark.parametrize("claimant", ["", 'LynqNode "beta"'])
def test_orphan_that_a_node_adopted_meanwhile_is_left_to_the_next_reconcile(claimant: str) -> None:
    attempt = on_error(on_metadata(begun(orphaned()), UPDATED), OUTDATED)
    adopted = replace(settled(deletion_policy=DeletionPolicy.RETAIN), claimant=claimant)
    assert rejection(on_refetched(attempt, observed(adopted, "2"))) == (False, True)


def test_object_that_was_orphaned_meanwhile_is_left_to_the_next_reconcile() -> None:
    attempt = on_error(begun(existing()), OUTDATED)
    orphan = but(existing(), labels={"lynq.sh/orphaned": "true"})
    assert rejection(on_refetched(attempt, observed(orphan, "2"))) == (False, True)


def test_owner_reference_is_removed_when_labels_replace_it() -> None:
    owner = an_owner()
    facts = drifted(patch_strategy=PatchStrategy.MERGE, deletion_policy=DeletionPolicy.RETAIN)
    attempt = begun(but(facts, owner_uids=(owner.uid, "other")))
    assert isinstance(attempt.action, ReadMetadata)
    attempt = on_metadata(attempt, metadata(owners=(owner.uid, "other")))
    assert sent_version(attempt) == "7"
    references = attempt.write.obj["metadata"]["ownerReferences"]
    assert [reference["uid"] for reference in references] == ["other"]


# A rejected write of an object that is to be retained


def retained_later() -> ResourceFacts:
    """Return a resource that is retained, whose object still has our owner reference."""
    facts = drifted(deletion_policy=DeletionPolicy.RETAIN)
    return but(facts, owner_uids=(an_owner().uid, "other"), uid="live")


def live_metadata(uid: str = "live") -> Metadata:
    return msgspec.structs.replace(metadata(owners=(an_owner().uid, "other")), uid=uid)


@pytest.mark.parametrize("error", [FOREIGN, INVALID])
def test_rejected_write_leaves_no_owner_reference_on_a_retained_object(error: ApplyError) -> None:
    attempt = on_error(begun(retained_later()), error)
    assert attempt.action == ReadMetadata()
    attempt = on_metadata(attempt, live_metadata())
    assert isinstance(attempt.action, PatchMetadata)
    patched = attempt.action.patch["metadata"]
    assert [reference["uid"] for reference in patched["ownerReferences"]] == ["other"]
    assert patched["resourceVersion"] == "7"
    assert patched["annotations"]["lynq.sh/deletion-policy"] == "Retain"
    assert patched["labels"]["lynq.sh/node"]
    assert patched["annotations"]["lynq.sh/tracking-id"]
    assert "data" not in attempt.action.patch
    is_conflict = error is FOREIGN
    for answered in (on_accepted(attempt), on_error(attempt, DOWN), on_error(attempt, OUTDATED)):
        assert rejection(answered) == (is_conflict, False)


def test_owner_reference_of_an_object_that_was_recreated_is_left_alone() -> None:
    attempt = on_error(begun(retained_later()), FOREIGN)
    assert rejection(on_metadata(attempt, live_metadata("another"))) == (True, False)
    assert rejection(on_error(attempt, DOWN)) == (True, False)


def test_owner_reference_stays_after_a_transient_error() -> None:
    assert rejection(on_error(begun(retained_later()), DOWN)) == (False, True)


def test_owner_reference_of_an_object_that_is_not_retained_stays() -> None:
    facts = but(drifted(), owner_uids=(an_owner().uid, "other"))
    assert rejection(on_error(begun(facts), FOREIGN)) == (True, False)
