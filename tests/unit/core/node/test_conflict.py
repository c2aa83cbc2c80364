"""Conflicts of one write: which request follows which answer, and when the write is given up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lynq.api import ConflictPolicy, PatchStrategy
from lynq.core.node.apply_errors import ApplyError
from lynq.core.node.conflict import (
    RETRY_DELAYS,
    Accepted,
    DecideAgain,
    NextRequest,
    ObserveAgain,
    ObservedObject,
    PatchMetadata,
    ReadMetadata,
    Refetch,
    Send,
    WriteAttempt,
    on_accepted,
    on_error,
    on_metadata,
    on_refetched,
)
from lynq.core.node.state import ResourceFacts, WriteCause, WriteMethod
from unit.core.node.decisions import but, settled
from unit.core.node.write_attempts import (
    DOWN,
    EXISTS,
    FORCE,
    FOREIGN,
    IGNORED,
    MARKS,
    OUTDATED,
    OWN,
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
    """Answer the next request as the API server may, if it accepts it."""
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
    attempt, requests, errors = begun(facts, updated=updated), 0, 0
    cause = attempt.write.cause
    while isinstance(attempt.action, NextRequest):
        requests += 1
        assert requests <= 4 * (len(RETRY_DELAYS) + 1)
        assert attempt.write.cause is cause
        if isinstance(attempt.action, Send) and attempt.action.write.force:
            assert facts.resource.conflict_policy is FORCE
            assert errors
        if error := data.draw(st.none() | ERRORS):
            errors += 1
            attempt = on_error(attempt, error)
        else:
            attempt = answer(attempt, data, requests + 1)
    if isinstance(attempt.action, Accepted) and attempt.action.previous_managers:
        assert facts.resource.conflict_policy is FORCE
    if not isinstance(attempt.action, Accepted):
        assert errors
