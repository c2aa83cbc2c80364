"""Conflicts of one write: which request follows which answer, and when the write is given up."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import (
    AdoptionPolicy,
    ConflictPolicy,
    DeletionPolicy,
    Metadata,
    OwnerReference,
    PatchStrategy,
)
from lynq.api.metadata import ManagedFields
from lynq.core.node.apply_errors import ApplyError, ApplyErrorKind
from lynq.core.node.conflict import (
    RETRY_DELAYS,
    Accepted,
    DecideAgain,
    DryRunApply,
    NextRequest,
    ObserveAgain,
    ObservedObject,
    PatchMetadata,
    ReadMetadata,
    Refetch,
    Rejected,
    Send,
    WriteAttempt,
    begin_write,
    on_accepted,
    on_error,
    on_metadata,
    on_refetched,
)
from lynq.core.node.decide import decide
from lynq.core.node.state import ResourceFacts, WriteCause, WriteMethod
from unit.core.node.decisions import CONTEXT, adopted_by, but, foreign, settled, without
from unit.core.node.fixtures import desired_by
from unit.core.node.nodes import NOW, a_resource, an_owner

FORCE, STUCK = ConflictPolicy.FORCE, ConflictPolicy.STUCK
IGNORED = ("$.data.plan",)
OUTDATED = ApplyError(ApplyErrorKind.CONFLICT, "the resourceVersion is outdated")
FOREIGN = ApplyError(ApplyErrorKind.CONFLICT, "helm owns it", ("helm", "helm", "kubectl"))
OWN = ApplyError(ApplyErrorKind.CONFLICT, "we own it", ("lynq-operator",))
DOWN = ApplyError(ApplyErrorKind.UNAVAILABLE, "503")
EXISTS = ApplyError(ApplyErrorKind.ALREADY_EXISTS, "exists")


def drifted(**resource: Any) -> ResourceFacts:
    """Return a resource whose live object lost its hash, so that it is written."""
    return without(settled(**resource), "applied-hash")


def orphaned(**resource: Any) -> ResourceFacts:
    facts = settled(deletion_policy=DeletionPolicy.RETAIN, **resource)
    return but(facts, labels={"lynq.sh/orphaned": "true"})


def observed(facts: ResourceFacts, version: str = "1", *, updated: bool = False) -> ObservedObject:
    if facts.live is None:
        return ObservedObject(facts)
    return ObservedObject(facts, version, updated)


def begun(facts: ResourceFacts, *, updated: bool = False) -> WriteAttempt:
    """Return the attempt of the write that is decided for these facts."""
    write = decide(facts, CONTEXT).write
    assert write is not None
    return begin_write(observed(facts, updated=updated), write, an_owner(), NOW)


def sent(attempt: WriteAttempt) -> tuple[WriteMethod, bool]:
    assert isinstance(attempt.action, Send)
    return attempt.action.write.method, attempt.action.write.force


def sent_version(attempt: WriteAttempt) -> str:
    assert isinstance(attempt.action, Send)
    version: str = attempt.action.write.obj["metadata"].get("resourceVersion", "")
    return version


def rejection(attempt: WriteAttempt) -> tuple[bool, bool]:
    assert isinstance(attempt.action, Rejected)
    assert attempt.action.is_reported
    return attempt.action.rejection.is_conflict, attempt.action.rejection.is_transient


def metadata(*entries: tuple[str, str, str], owners: tuple[str, ...] = ()) -> Metadata:
    """Return the metadata of a live object; entries are manager, operation and fields."""
    return Metadata(
        resource_version="7",
        owner_references=[OwnerReference(uid=uid) for uid in owners],
        managed_fields=[
            ManagedFields(
                manager=manager,
                operation=operation,
                api_version="v1",
                fields_v1=msgspec.Raw(fields.encode()),
            )
            for manager, operation, fields in entries
        ],
    )


UPDATED = metadata(("lynq-operator", "Update", '{"f:data":{"f:plan":{},"f:old":{}}}'))
SHARED = metadata(
    ("lynq-operator", "Apply", '{"f:data":{"f:plan":{},"f:old":{}}}'),
    ("helm", "Update", '{"f:data":{"f:plan":{}}}'),
)


@pytest.mark.parametrize("policy", ConflictPolicy)
def test_first_apply_is_sent_without_force(policy: ConflictPolicy) -> None:
    attempt = begun(drifted(conflict_policy=policy))
    assert sent(attempt) == (WriteMethod.APPLY, False)
    assert on_accepted(attempt).action == Accepted()


def test_conflict_under_stuck_is_rejected() -> None:
    attempt = on_error(begun(drifted()), FOREIGN)
    assert rejection(attempt) == (True, False)


def test_conflict_under_force_is_forced_and_names_the_managers() -> None:
    attempt = on_error(begun(drifted(conflict_policy=FORCE)), FOREIGN)
    assert sent(attempt) == (WriteMethod.APPLY, True)
    managers = '"helm" (2 fields), "kubectl" (1 fields)'
    assert on_accepted(attempt).action == Accepted(managers)
    assert rejection(on_error(attempt, FOREIGN)) == (True, False)


def test_outdated_apply_is_rejected_as_transient() -> None:
    assert rejection(on_error(begun(drifted(conflict_policy=FORCE)), OUTDATED)) == (False, True)


def test_other_errors_are_rejected_at_once() -> None:
    assert rejection(on_error(begun(drifted(conflict_policy=FORCE)), DOWN)) == (False, True)


def test_update_entry_is_migrated_before_the_apply() -> None:
    attempt = begun(drifted(), updated=True)
    assert isinstance(attempt.action, ReadMetadata)
    attempt = on_metadata(attempt, UPDATED)
    assert isinstance(attempt.action, PatchMetadata)
    assert attempt.action.patch["metadata"]["resourceVersion"] == "7"
    assert sent(on_accepted(attempt)) == (WriteMethod.APPLY, False)


def test_update_entry_that_vanished_needs_no_migration() -> None:
    attempt = on_metadata(begun(drifted(), updated=True), metadata())
    assert sent(attempt) == (WriteMethod.APPLY, False)


def test_update_entry_is_left_alone_by_a_merge() -> None:
    attempt = begun(drifted(patch_strategy=PatchStrategy.MERGE), updated=True)
    assert sent(attempt) == (WriteMethod.MERGE, False)


def test_migration_that_conflicts_is_rejected_as_transient() -> None:
    attempt = on_error(on_metadata(begun(drifted(), updated=True), UPDATED), OUTDATED)
    assert rejection(attempt) == (False, True)


@pytest.mark.parametrize("policy", ConflictPolicy)
def test_conflict_with_ourselves_is_migrated_once(policy: ConflictPolicy) -> None:
    attempt = on_error(begun(drifted(conflict_policy=policy)), OWN)
    assert isinstance(attempt.action, ReadMetadata)
    attempt = on_accepted(on_metadata(attempt, UPDATED))
    assert sent(attempt) == (WriteMethod.APPLY, False)
    assert rejection(on_error(attempt, OWN)) == (True, False)


def test_existing_object_is_observed_instead_of_created() -> None:
    missing = replace(settled(patch_strategy=PatchStrategy.REPLACE), live=None)
    attempt = begun(missing)
    assert sent(attempt) == (WriteMethod.CREATE, False)
    result = on_error(attempt, EXISTS).action
    assert isinstance(result, ObserveAgain)
    assert not result.otherwise.is_reported


@pytest.mark.parametrize("error", [OUTDATED, FOREIGN])
def test_existing_object_is_observed_instead_of_applied(error: ApplyError) -> None:
    attempt = begun(replace(settled(), live=None))
    assert sent(attempt) == (WriteMethod.APPLY_NEW, False)
    attempt = on_error(attempt, error)
    assert attempt.action == Refetch()
    current = observed(drifted(), "2")
    found = on_refetched(attempt, current)
    assert found.action == DecideAgain()
    assert found.observed is current
    # The object is gone again, or the API server rejects the precondition.
    assert sent(on_refetched(attempt, None)) == (WriteMethod.CREATE, False)


# Objects that existed before


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


MARKS = ApplyError(
    ApplyErrorKind.CONFLICT, "", ("kubectl-label",), (".metadata.labels.lynq.sh/node",)
)


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


# ignoreFields


def test_ignored_values_are_read_again_before_fields_are_forced() -> None:
    facts = drifted(conflict_policy=FORCE, ignore_fields=IGNORED)
    attempt = on_error(begun(facts), FOREIGN)
    assert attempt.action == Refetch()
    rebased = on_refetched(attempt, observed(facts, "2"))
    assert sent(rebased) == (WriteMethod.APPLY, False)
    assert on_accepted(rebased).action == Accepted()
    assert sent(on_error(rebased, FOREIGN)) == (WriteMethod.APPLY, True)


@pytest.mark.parametrize("version", ["1", "gone"])
def test_unchanged_object_with_ignored_fields_is_forced_or_rejected(version: str) -> None:
    for policy in ConflictPolicy:
        facts = drifted(conflict_policy=policy, ignore_fields=IGNORED)
        current = None if version == "gone" else observed(facts, version)
        attempt = on_refetched(on_error(begun(facts), FOREIGN), current)
        if policy is FORCE:
            assert sent(attempt) == (WriteMethod.APPLY, True)
        else:
            assert rejection(attempt) == (True, False)


def unread(**resource: Any) -> ResourceFacts:
    """Return a resource with ignored fields whose live values are unknown."""
    facts = drifted(ignore_fields=IGNORED, **resource)
    return replace(facts, desired=desired_by(facts.resource))


def test_live_values_are_read_before_the_write() -> None:
    facts = unread()
    attempt = begun(facts)
    assert attempt.action == Refetch()
    live = {"data": {"plan": "theirs"}, "metadata": {}}
    read = replace(facts, desired=desired_by(facts.resource, live))
    attempt = on_refetched(attempt, observed(read, "1"))
    assert sent(attempt) == (WriteMethod.APPLY, False)
    assert sent_version(attempt) == "1"
    assert attempt.write.obj["data"] == {"plan": "theirs"}
    assert attempt.write.cause is WriteCause.HASH_LOST


@pytest.mark.parametrize("change", ["deleted", "re-created", "unread"])
def test_object_without_live_values_is_never_written(change: str) -> None:
    facts = unread()
    read = replace(facts, desired=desired_by(facts.resource, {"metadata": {}}))
    current = {
        "deleted": None,
        "re-created": observed(but(read, uid="2"), "2"),
        "unread": observed(facts, "2"),
    }[change]
    assert isinstance(on_refetched(begun(facts), current).action, ObserveAgain)


def test_outdated_forced_apply_is_decided_again() -> None:
    facts = drifted(conflict_policy=FORCE, ignore_fields=IGNORED)
    forced = on_refetched(on_error(begun(facts), FOREIGN), observed(facts, "1"))
    assert sent(forced) == (WriteMethod.APPLY, True)
    assert sent_version(forced) == "1"
    retried = on_refetched(on_error(forced, OUTDATED), observed(facts, "2"))
    assert sent(retried) == (WriteMethod.APPLY, False)
    again = on_error(retried, FOREIGN)
    assert sent(again) == (WriteMethod.APPLY, True)
    assert sent_version(again) == "2"


def test_apply_after_our_own_migration_is_decided_again() -> None:
    """The migration changes the resourceVersion that the apply is pinned to."""
    facts = drifted(ignore_fields=IGNORED)
    attempt = on_accepted(on_metadata(begun(facts, updated=True), UPDATED))
    retried = on_refetched(on_error(attempt, OUTDATED), observed(facts, "2"))
    assert sent_version(retried) == "2"


# Writes that are pinned to the resourceVersion


def test_replace_is_pinned_to_the_observed_version() -> None:
    attempt = begun(drifted(patch_strategy=PatchStrategy.REPLACE))
    assert sent(attempt) == (WriteMethod.REPLACE, False)
    assert sent_version(attempt) == "1"


@pytest.mark.parametrize(
    ("strategy", "ignored", "version"),
    [
        (PatchStrategy.MERGE, (), ""),
        (PatchStrategy.MERGE, IGNORED, "1"),
        (PatchStrategy.APPLY, (), ""),
        (PatchStrategy.APPLY, IGNORED, "1"),
    ],
)
def test_merge_and_apply_are_pinned_only_with_ignored_fields(
    strategy: PatchStrategy, ignored: tuple[str, ...], version: str
) -> None:
    facts = drifted(patch_strategy=strategy, ignore_fields=ignored)
    assert sent_version(begun(facts)) == version


def test_outdated_replace_is_decided_again_up_to_five_times() -> None:
    facts = drifted(patch_strategy=PatchStrategy.REPLACE)
    attempt, delays = on_error(begun(facts), OUTDATED), []
    while isinstance(attempt.action, Refetch):
        delays.append(attempt.action.delay)
        attempt = on_refetched(attempt, observed(facts, str(len(delays) + 1)))
        assert sent_version(attempt) == str(len(delays) + 1)
        attempt = on_error(attempt, OUTDATED)
    assert tuple(delays) == RETRY_DELAYS
    assert rejection(attempt) == (False, True)


def test_retried_write_keeps_its_cause() -> None:
    facts = drifted(patch_strategy=PatchStrategy.REPLACE)
    retried = on_refetched(on_error(begun(facts), OUTDATED), observed(facts, "2"))
    assert retried.write.cause is WriteCause.HASH_LOST
    assert on_accepted(retried).action == Accepted()


def test_retried_write_is_sent_even_if_its_content_is_there_by_now() -> None:
    facts = drifted(patch_strategy=PatchStrategy.REPLACE)
    current = observed(settled(patch_strategy=PatchStrategy.REPLACE), "2")
    retried = on_refetched(on_error(begun(facts), OUTDATED), current)
    assert (sent(retried), sent_version(retried)) == ((WriteMethod.REPLACE, False), "2")


def test_create_that_conflicts_over_fields_is_rejected() -> None:
    missing = replace(settled(patch_strategy=PatchStrategy.MERGE), live=None)
    assert rejection(on_error(begun(missing), MARKS)) == (True, False)


def test_create_with_ignored_fields_that_conflicts_is_not_rebased() -> None:
    facts = settled(patch_strategy=PatchStrategy.MERGE, ignore_fields=IGNORED)
    attempt = on_error(begun(replace(facts, live=None)), FOREIGN)
    assert attempt.action == Refetch()
    assert rejection(on_refetched(attempt, observed(facts, "2"))) == (True, False)


@pytest.mark.parametrize(
    "change", ["deleted", "not observed", "same version", "re-created", "being deleted"]
)
def test_outdated_replace_is_given_up_without_a_newer_object(change: str) -> None:
    facts = drifted(patch_strategy=PatchStrategy.REPLACE)
    current = {
        "deleted": None,
        "not observed": ObservedObject(replace(facts, live=None), "2"),
        "same version": observed(facts, "1"),
        "re-created": observed(but(facts, uid="2"), "2"),
        "being deleted": observed(but(facts, is_deleting=True), "2"),
    }[change]
    attempt = on_error(begun(facts), OUTDATED)
    given_up = on_refetched(attempt, current)
    assert rejection(given_up) == (False, True)
    assert given_up.observed is attempt.observed


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


def test_owner_reference_is_removed_when_labels_replace_it() -> None:
    owner = an_owner()
    facts = drifted(patch_strategy=PatchStrategy.MERGE, deletion_policy=DeletionPolicy.RETAIN)
    attempt = begun(but(facts, owner_uids=(owner.uid, "other")))
    assert isinstance(attempt.action, ReadMetadata)
    attempt = on_metadata(attempt, metadata(owners=(owner.uid, "other")))
    assert sent_version(attempt) == "7"
    references = attempt.write.obj["metadata"]["ownerReferences"]
    assert [reference["uid"] for reference in references] == ["other"]


# Invariants

ERRORS = st.sampled_from([OUTDATED, FOREIGN, OWN, DOWN, EXISTS])
FACTS = st.builds(
    lambda state, strategy, policy, ignored: state(
        patch_strategy=strategy, conflict_policy=policy, ignore_fields=ignored
    ),
    st.sampled_from([drifted, orphaned, lambda **more: replace(settled(**more), live=None)]),
    st.sampled_from(PatchStrategy),
    st.sampled_from(ConflictPolicy),
    st.sampled_from([(), IGNORED]),
)


def answer(attempt: WriteAttempt, data: st.DataObject, version: int) -> WriteAttempt:
    """Answer the next request with an error, or as the API server may."""
    error = data.draw(st.none() | ERRORS)
    if error is not None:
        return on_error(attempt, error)
    match attempt.action:
        case ReadMetadata():
            return on_metadata(attempt, data.draw(st.sampled_from([metadata(), UPDATED, SHARED])))
        case Refetch():
            current = data.draw(st.none() | st.just(observed(attempt.facts, str(version))))
            return on_refetched(attempt, current)
        case _:
            return on_accepted(attempt)


@given(facts=FACTS, updated=st.booleans(), data=st.data())
def test_every_attempt_ends_and_forces_only_as_last_resort(
    facts: ResourceFacts, data: st.DataObject, *, updated: bool
) -> None:
    attempt, requests = begun(facts, updated=updated), 0
    cause = attempt.write.cause
    while isinstance(attempt.action, NextRequest):
        requests += 1
        assert requests <= 4 * (len(RETRY_DELAYS) + 1)
        assert attempt.write.cause is cause
        if isinstance(attempt.action, Send) and attempt.action.write.force:
            assert facts.resource.conflict_policy is FORCE
            assert attempt.error is not None
        attempt = answer(attempt, data, requests + 1)
    if isinstance(attempt.action, Accepted) and attempt.action.previous_managers:
        assert facts.resource.conflict_policy is FORCE
    if not isinstance(attempt.action, Accepted):
        assert attempt.error is not None
