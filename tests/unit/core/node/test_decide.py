"""The decision about one resource: write its object, wait, or evaluate its readiness."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from lynq.api import ConflictPolicy, CreationPolicy, DeletionPolicy, PatchStrategy, ResourceState
from lynq.api.reasons import OrphanReason
from lynq.core.node.decide import decide
from lynq.core.node.objects import AppliedRecord
from lynq.core.node.state import (
    LastWrite,
    ResourceFacts,
    ResourceOutcome,
    WriteCause,
    WriteMethod,
    WriteRejection,
)
from lynq.core.readiness.verdict import failed
from unit.core.node.decisions import CONTEXT, LATER, S, but, cause_of, foreign, settled, without
from unit.core.node.fixtures import STARTING, desired_by
from unit.core.node.nodes import NOW, a_resource


def test_unchanged_object_is_not_written() -> None:
    outcome = decide(settled(), CONTEXT)
    assert (outcome.state, outcome.write) == (S.READY, None)


def test_missing_object_is_applied_with_all_annotations() -> None:
    write = decide(replace(settled(), live=None), CONTEXT).write
    assert write is not None
    assert (write.cause, write.method, write.force) == (
        WriteCause.MISSING,
        WriteMethod.APPLY_NEW,
        False,
    )
    assert write.obj["metadata"]["annotations"].keys() == {
        "lynq.sh/applied-hash",
        "lynq.sh/apply-start-time",
        "lynq.sh/deletion-policy",
    }


@pytest.mark.parametrize("policy", DeletionPolicy)
def test_outcome_records_whether_the_object_is_retained(policy: DeletionPolicy) -> None:
    outcome = decide(ResourceFacts(resource=a_resource(deletion_policy=policy)), CONTEXT)
    assert outcome.is_retained is (policy is DeletionPolicy.RETAIN)


def test_render_error_fails_the_resource_with_its_message() -> None:
    outcome = decide(ResourceFacts(resource=a_resource(), render_error="no variable"), CONTEXT)
    assert (outcome.state, outcome.reason) == (S.FAILED, "TemplateRenderError")
    assert outcome.message == "no variable"
    assert outcome.ref.name == ""


def test_resource_whose_keys_are_generated_is_progressing() -> None:
    outcome = decide(ResourceFacts(resource=a_resource(), is_rendering=True), CONTEXT)
    assert (outcome.state, outcome.reason, outcome.write) == (S.PROGRESSING, "Rendering", None)


def test_changed_content_is_written() -> None:
    changed = replace(settled(), desired=desired_by(a_resource(labels_template={"a": "b"})))
    assert cause_of(changed) is WriteCause.CHANGED


def test_lost_hash_is_drift() -> None:
    assert cause_of(without(settled(), "applied-hash")) is WriteCause.HASH_LOST


def test_lost_hash_is_drift_on_an_object_of_an_older_version() -> None:
    tracked = without(settled(deletion_policy=DeletionPolicy.RETAIN), "tracking-id")
    assert cause_of(without(tracked, "applied-hash")) is WriteCause.HASH_LOST


def test_object_that_is_taken_over_is_no_drift() -> None:
    untied = but(without(settled(), "applied-hash"), owner_uids=())
    taken_over = replace(untied, record=AppliedRecord(was_applied=True))
    assert cause_of(taken_over) is WriteCause.CHANGED


@pytest.mark.parametrize("labels", [{}, {"lynq.sh/node": "acme-web"}])
def test_removed_tracking_labels_are_drift(labels: dict[str, str]) -> None:
    untracked = but(settled(deletion_policy=DeletionPolicy.RETAIN), labels=labels)
    assert cause_of(replace(untracked, last_write=None)) is WriteCause.OWNERSHIP_LOST


def test_removed_owner_reference_is_drift() -> None:
    facts = replace(but(settled(), owner_uids=()), last_write=None)
    listed = replace(facts, record=AppliedRecord(was_applied=True))
    assert cause_of(listed) is WriteCause.OWNERSHIP_LOST
    # An object that the status does not list may be a copy.
    assert cause_of(facts) is WriteCause.FOREIGN


def test_taken_field_is_written_with_force_under_force() -> None:
    write = decide(
        but(settled(conflict_policy=ConflictPolicy.FORCE), digest=b"theirs"), CONTEXT
    ).write
    assert write is not None
    assert (write.cause, write.force) == (WriteCause.FIELDS_TAKEN, True)


def test_taken_field_under_stuck_becomes_a_conflict_when_rejected() -> None:
    taken = but(settled(), digest=b"theirs")
    write = decide(taken, CONTEXT).write
    assert write is not None
    assert (write.cause, write.force) == (WriteCause.FIELDS_TAKEN, False)
    assert taken.desired is not None
    rejection = WriteRejection("kubectl owns .data.plan", is_conflict=True)
    last_write = LastWrite(hash=taken.desired.hash, rejection=rejection, not_before=LATER)
    outcome = decide(replace(taken, last_write=last_write, was_written=True), CONTEXT)
    assert (outcome.state, outcome.reason) == (S.CONFLICTED, "ResourceConflict")
    assert (outcome.message, outcome.requeue_at) == ("kubectl owns .data.plan", LATER)


def test_taken_field_is_unknown_without_a_last_write() -> None:
    assert cause_of(but(replace(settled(), last_write=None), digest=b"theirs")) is None


def test_taken_field_is_unknown_after_a_last_write_of_other_content() -> None:
    older = LastWrite(hash="older", digest=b"ours")
    assert cause_of(but(replace(settled(), last_write=older), digest=b"theirs")) is None


def test_taken_field_is_unknown_after_a_last_write_without_digest() -> None:
    facts = settled()
    assert facts.desired is not None
    last_write = LastWrite(hash=facts.desired.hash)
    assert cause_of(replace(facts, last_write=last_write)) is None


def test_forced_reconcile_writes_an_unchanged_object() -> None:
    assert cause_of(settled(), replace(CONTEXT, force=True)) is WriteCause.FORCED


def test_object_is_written_at_most_once_in_a_reconcile() -> None:
    drifted = replace(without(settled(), "applied-hash"), was_written=True)
    assert cause_of(drifted, replace(CONTEXT, force=True)) is None


@pytest.mark.parametrize("drift", ["hash", "fields", "gone"])
def test_reverted_write_is_retried_after_its_back_off(drift: str) -> None:
    facts = settled(conflict_policy=ConflictPolicy.FORCE)
    assert facts.desired is not None
    last_write = LastWrite(hash=facts.desired.hash, digest=b"ours", not_before=LATER)
    facts = replace(facts, last_write=last_write)
    if drift == "hash":
        facts = without(facts, "applied-hash")
    elif drift == "fields":
        facts = but(facts, digest=b"theirs")
    else:
        facts = replace(facts, live=None)
    held = decide(facts, CONTEXT)
    assert (held.write, held.requeue_at) == (None, LATER)
    assert decide(facts, replace(CONTEXT, now=LATER)).write is not None


def test_back_off_from_before_a_clock_change_is_ignored() -> None:
    facts = settled()
    assert facts.desired is not None
    last_write = LastWrite(hash=facts.desired.hash, not_before=NOW + timedelta(hours=1))
    assert decide(replace(facts, last_write=last_write, live=None), CONTEXT).write is not None


def test_longest_back_off_begins_at_once() -> None:
    facts = settled()
    assert facts.desired is not None
    longest = LastWrite(hash=facts.desired.hash, not_before=NOW + timedelta(minutes=2))
    assert decide(replace(facts, last_write=longest, live=None), CONTEXT).write is None


def test_changed_content_does_not_wait_for_the_back_off() -> None:
    facts = replace(settled(), last_write=LastWrite(hash="older", not_before=LATER))
    changed = replace(facts, desired=desired_by(a_resource(labels_template={"a": "b"})))
    assert cause_of(changed) is WriteCause.CHANGED


@pytest.mark.parametrize(
    ("rejection", "state", "reason"),
    [
        (WriteRejection("quota"), S.FAILED, "ApplyFailed"),
        (WriteRejection("helm owns it", is_conflict=True), S.CONFLICTED, "ResourceConflict"),
    ],
)
@pytest.mark.parametrize("exists", [True, False])
def test_rejection_is_reported_until_the_retry(
    rejection: WriteRejection, state: ResourceState, reason: str, *, exists: bool
) -> None:
    facts = settled()
    assert facts.desired is not None
    last_write = LastWrite(hash=facts.desired.hash, rejection=rejection, not_before=LATER)
    facts = replace(facts, last_write=last_write, live=facts.live if exists else None)
    reported = decide(facts, CONTEXT)
    assert (reported.state, reported.reason, reported.message) == (state, reason, rejection.message)
    assert reported.requeue_at == LATER
    assert cause_of(facts, replace(CONTEXT, now=LATER)) in {WriteCause.REJECTED, WriteCause.MISSING}
    assert cause_of(facts, replace(CONTEXT, force=True)) is not None


@pytest.mark.parametrize("policy", ConflictPolicy)
def test_object_of_another_node_is_a_conflict_and_never_written(policy: ConflictPolicy) -> None:
    facts = replace(settled(conflict_policy=policy), live=foreign(), claimant='LynqNode "beta"')
    outcome = decide(facts, CONTEXT)
    assert (outcome.state, outcome.write) == (S.CONFLICTED, None)
    assert 'belongs to LynqNode "beta"' in outcome.message


def test_foreign_object_is_applied_without_force() -> None:
    write = decide(
        replace(settled(), live=foreign(owner_uids=("x",)), last_write=None), CONTEXT
    ).write
    assert write is not None
    assert (write.cause, write.method, write.force) == (
        WriteCause.FOREIGN,
        WriteMethod.APPLY,
        False,
    )


def orphan(**more: Any) -> ResourceFacts:
    facts = settled(deletion_policy=DeletionPolicy.RETAIN, **more)
    assert facts.live is not None
    markers = {"lynq.sh/orphaned-reason": str(OrphanReason.REMOVED_FROM_TEMPLATE)}
    return but(
        facts,
        labels={"lynq.sh/orphaned": "true"},
        annotations={**facts.live.annotations, **markers},
    )


def test_orphan_is_adopted_in_one_write() -> None:
    write = decide(orphan(), CONTEXT).write
    assert write is not None
    assert (write.cause, write.method) == (WriteCause.ORPHANED, WriteMethod.MERGE)
    assert write.obj["metadata"]["labels"]["lynq.sh/orphaned"] is None
    assert write.obj["metadata"]["labels"]["lynq.sh/node"] == "acme-web"
    assert write.obj["data"] == {"plan": "acme"}


def test_orphan_that_was_written_once_is_adopted_without_its_body() -> None:
    write = decide(orphan(creation_policy=CreationPolicy.ONCE), CONTEXT).write
    assert write is not None
    assert write.obj.keys() == {"apiVersion", "kind", "metadata"}


@pytest.mark.parametrize(
    ("strategy", "exists", "method"),
    [
        (PatchStrategy.APPLY, True, WriteMethod.APPLY),
        (PatchStrategy.APPLY, False, WriteMethod.APPLY_NEW),
        (PatchStrategy.MERGE, True, WriteMethod.MERGE),
        (PatchStrategy.MERGE, False, WriteMethod.CREATE),
        (PatchStrategy.REPLACE, True, WriteMethod.REPLACE),
        (PatchStrategy.REPLACE, False, WriteMethod.CREATE),
    ],
)
def test_patch_strategy_selects_the_write_method(
    strategy: PatchStrategy, method: WriteMethod, *, exists: bool
) -> None:
    facts = settled(patch_strategy=strategy, conflict_policy=ConflictPolicy.FORCE)
    facts = without(facts, "applied-hash") if exists else replace(facts, live=None)
    write = decide(facts, CONTEXT).write
    assert write is not None
    assert (write.method, write.force) == (method, method is WriteMethod.APPLY)


def at(seconds: int, **live: Any) -> ResourceOutcome:
    facts = but(settled(timeout_seconds=30), readiness=STARTING, **live)
    return decide(facts, replace(CONTEXT, now=NOW + timedelta(seconds=seconds)))


def test_resource_is_progressing_until_its_deadline() -> None:
    outcome = at(29)
    assert (outcome.state, outcome.requeue_at) == (S.PROGRESSING, NOW + timedelta(seconds=30))
    assert outcome.message == "0 of 1 replicas are ready"


def test_resource_fails_at_its_deadline_and_may_still_recover() -> None:
    outcome = at(30)
    assert (outcome.state, outcome.reason) == (S.FAILED, "ReadinessTimeout")
    assert outcome.message == "not ready within 30 s: 0 of 1 replicas are ready"
    assert at(31, annotations={}).write is not None


def test_timeout_counts_from_the_creation_without_a_start_time() -> None:
    facts = without(settled(timeout_seconds=30), "apply-start-time")
    starting = but(facts, readiness=STARTING, created_at=NOW - timedelta(seconds=10))
    assert decide(starting, CONTEXT).requeue_at == NOW + timedelta(seconds=20)
    undated = but(starting, created_at=None)
    assert decide(undated, CONTEXT).requeue_at == NOW + timedelta(seconds=30)


def test_failed_object_fails_the_resource_before_its_deadline() -> None:
    outcome = decide(but(settled(), readiness=failed("JobFailed", "it gave up")), CONTEXT)
    assert (outcome.state, outcome.reason) == (S.FAILED, "JobFailed")


def test_resource_without_wait_for_ready_is_ready_once_written() -> None:
    outcome = decide(but(settled(wait_for_ready=False), readiness=STARTING), CONTEXT)
    assert outcome.state is S.READY


def test_object_being_deleted_is_neither_written_nor_ready() -> None:
    deleting = but(settled(wait_for_ready=False), is_deleting=True, readiness=STARTING)
    outcome = decide(without(deleting, "applied-hash"), CONTEXT)
    assert (outcome.state, outcome.write) == (S.PROGRESSING, None)


def test_object_deleted_right_after_its_write_waits_for_the_next_reconcile() -> None:
    outcome = decide(replace(settled(), live=None, was_written=True), CONTEXT)
    assert (outcome.state, outcome.reason) == (S.PROGRESSING, "HeldBack")
