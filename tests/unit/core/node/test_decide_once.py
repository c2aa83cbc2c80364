"""creationPolicy Once: the body is written one time, lost metadata is restored."""

from typing import Any

import pytest
from msgspec.structs import replace

from lynq.api import CreationPolicy, DeletionPolicy, PatchStrategy
from lynq.core.node.decide import decide
from lynq.core.node.objects import AppliedRecord
from lynq.core.node.state import LastWrite, ResourceFacts, WriteCause, WriteMethod, WriteRejection
from unit.core.node.decisions import CONTEXT, LATER, S, but, cause_of, foreign, settled, without
from unit.core.node.fixtures import STARTING, desired_by
from unit.core.node.nodes import a_resource


def test_once_object_is_not_written_again_but_its_readiness_counts() -> None:
    facts = settled(creation_policy=CreationPolicy.ONCE)
    drifted = but(without(facts, "applied-hash"), digest=b"theirs", readiness=STARTING)
    outcome = decide(drifted, replace(CONTEXT, force=True))
    assert (outcome.state, outcome.write) == (S.PROGRESSING, None)
    assert outcome.reason == "ReplicasNotReady"


def test_once_object_without_annotation_is_written() -> None:
    facts = replace(settled(creation_policy=CreationPolicy.ONCE), live=foreign())
    assert cause_of(facts) is WriteCause.FOREIGN


JOB = {"apiVersion": "batch/v1", "kind": "Job"}
COMPLETED = AppliedRecord(was_applied=True, is_completed=True)


def test_completed_job_is_recorded() -> None:
    outcome = decide(settled(spec=JOB, creation_policy=CreationPolicy.ONCE), CONTEXT)
    assert (outcome.is_completed, outcome.message) == (True, "")


@pytest.mark.parametrize(
    "facts",
    [
        but(settled(spec=JOB, creation_policy=CreationPolicy.ONCE), readiness=STARTING),
        settled(spec=JOB),
        settled(creation_policy=CreationPolicy.ONCE),
        replace(settled(spec=JOB, creation_policy=CreationPolicy.ONCE), live=None),
    ],
    ids=["running", "not written once", "not a Job", "deleted before it completed"],
)
def test_nothing_but_a_ready_once_job_is_completed(facts: ResourceFacts) -> None:
    assert not decide(facts, CONTEXT).is_completed


@pytest.mark.parametrize("force", [False, True])
def test_completed_job_that_was_deleted_is_ready_and_not_created_again(force: bool) -> None:  # noqa: FBT001
    facts = settled(spec=JOB, creation_policy=CreationPolicy.ONCE)
    deleted = replace(facts, live=None, record=COMPLETED)
    outcome = decide(deleted, replace(CONTEXT, force=force))
    assert (outcome.state, outcome.write, outcome.is_completed) == (S.READY, None, True)


@pytest.mark.parametrize(("requested", "written"), [(False, False), (True, True)])
def test_once_job_with_an_unknown_end_is_created_on_request(
    *, requested: bool, written: bool
) -> None:
    facts = settled(spec=JOB, creation_policy=CreationPolicy.ONCE)
    gone = replace(facts, live=None, record=AppliedRecord(was_applied=True))
    # A forced reconcile that no user requested is due every ten minutes.
    outcome = decide(gone, replace(CONTEXT, force=True, is_requested=requested))
    assert bool(outcome.write) == written
    if not written:
        assert (outcome.state, outcome.reason) == (S.FAILED, "JobEndUnknown")
    # Not a job, not written once, or never applied: it is created.
    for other in (
        replace(settled(creation_policy=CreationPolicy.ONCE), live=None, record=gone.record),
        replace(settled(spec=JOB), live=None, record=gone.record),
        replace(gone, record=AppliedRecord()),
    ):
        assert cause_of(other) is WriteCause.MISSING


def test_completed_job_is_created_again_when_it_is_no_longer_once() -> None:
    facts = replace(settled(spec=JOB), live=None, record=COMPLETED)
    assert cause_of(facts) is WriteCause.MISSING


def once(policy: DeletionPolicy = DeletionPolicy.DELETE, **more: Any) -> ResourceFacts:
    """Return a resource that was written once, with a key and with metadata of the form."""
    data = {"plan": "{{ .uid }}", "key": '{{ encryptAES "secret" .uid }}'}
    return settled(
        spec={"apiVersion": "v1", "kind": "ConfigMap", "data": data},
        creation_policy=CreationPolicy.ONCE,
        deletion_policy=policy,
        labels_template={"tier": "gold"},
        annotations_template={"note": "ours"},
        **more,
    )


def stripped(facts: ResourceFacts, *keys: str) -> ResourceFacts:
    """Remove labels and annotations of the object; "owner" stands for its owner references."""
    live = facts.live
    assert live is not None
    removed = {f"lynq.sh/{key}" for key in keys}
    return but(
        facts,
        labels={key: text for key, text in live.labels.items() if key not in removed},
        annotations={key: text for key, text in live.annotations.items() if key not in removed},
        owner_uids=() if "owner" in keys else live.owner_uids,
    )


@pytest.mark.parametrize(
    ("policy", "lost", "cause"),
    [
        (DeletionPolicy.DELETE, ("created-once",), WriteCause.CREATED_ONCE_LOST),
        (DeletionPolicy.RETAIN, ("created-once",), WriteCause.CREATED_ONCE_LOST),
        (DeletionPolicy.DELETE, ("created-once", "managed"), WriteCause.CREATED_ONCE_LOST),
        (DeletionPolicy.RETAIN, ("created-once", "tracking-id"), WriteCause.CREATED_ONCE_LOST),
        (DeletionPolicy.DELETE, ("managed",), WriteCause.OWNERSHIP_LOST),
        (DeletionPolicy.RETAIN, ("managed",), WriteCause.OWNERSHIP_LOST),
        (DeletionPolicy.DELETE, ("owner",), WriteCause.OWNERSHIP_LOST),
        (DeletionPolicy.RETAIN, ("node",), WriteCause.OWNERSHIP_LOST),
        (DeletionPolicy.RETAIN, ("node-namespace",), WriteCause.OWNERSHIP_LOST),
    ],
)
@pytest.mark.parametrize("strategy", PatchStrategy)
def test_lost_metadata_of_a_once_object_is_restored_and_nothing_else(
    policy: DeletionPolicy, lost: tuple[str, ...], cause: WriteCause, strategy: PatchStrategy
) -> None:
    facts = once(policy, patch_strategy=strategy)
    write = decide(stripped(facts, *lost), CONTEXT).write
    assert write is not None
    assert (write.cause, write.method, write.force) == (cause, WriteMethod.MERGE, False)
    assert write.obj.keys() == {"apiVersion", "kind", "metadata"}
    metadata = write.obj["metadata"]
    assert metadata["name"] == "acme-config"
    restored = {*metadata["labels"], *metadata["annotations"]}
    assert {f"lynq.sh/{key}" for key in lost} - {"lynq.sh/owner"} <= restored
    # Neither the metadata of the current form, nor another hash or start time.
    unchanged = {"tier", "note", "lynq.sh/applied-hash", "lynq.sh/apply-start-time"}
    assert not unchanged & restored
    assert ("ownerReferences" in metadata) == ("owner" in lost)


def edited(facts: ResourceFacts, bucket: str) -> ResourceFacts:
    assert facts.live is not None
    return but(facts, labels={**facts.live.labels, "lynq.sh/bucket": bucket})


@pytest.mark.parametrize("policy", [DeletionPolicy.DELETE, DeletionPolicy.RETAIN])
@pytest.mark.parametrize("strategy", PatchStrategy)
@pytest.mark.parametrize("bucket", [None, "99"])
def test_forced_reconcile_restores_the_bucket_of_a_once_object_and_nothing_else(
    policy: DeletionPolicy, strategy: PatchStrategy, bucket: str | None
) -> None:
    facts, forced = once(policy, patch_strategy=strategy), replace(CONTEXT, force=True)
    drifted = stripped(facts, "bucket") if bucket is None else edited(facts, bucket)
    write = decide(drifted, forced).write
    assert write is not None
    assert (write.cause, write.method, write.force) == (
        WriteCause.FORCED,
        WriteMethod.MERGE,
        False,
    )
    assert write.obj.keys() == {"apiVersion", "kind", "metadata"}
    assert facts.live is not None
    restored = write.obj["metadata"]["labels"]
    assert restored["lynq.sh/bucket"] == facts.live.labels["lynq.sh/bucket"]
    assert cause_of(facts, forced) is None


@pytest.mark.parametrize("facts", [once(), settled()])
def test_object_is_not_written_for_its_bucket_until_a_forced_reconcile(
    facts: ResourceFacts,
) -> None:
    for drifted in (stripped(facts, "bucket"), edited(facts, "99")):
        assert cause_of(drifted) is None
        assert cause_of(drifted, replace(CONTEXT, force=True)) is WriteCause.FORCED


def test_bucket_of_an_object_that_a_user_protects_is_not_restored() -> None:
    facts = stripped(once(), "applied-hash", "bucket")
    assert cause_of(facts, replace(CONTEXT, force=True)) is None


@pytest.mark.parametrize("force", [True, False])
def test_once_object_ignores_changes_of_the_form(*, force: bool) -> None:
    other = desired_by(a_resource(labels_template={"a": "b"}, creation_policy=CreationPolicy.ONCE))
    assert cause_of(replace(once(), desired=other), replace(CONTEXT, force=force)) is None


@pytest.mark.parametrize(
    "lost",
    [
        ("created-once", "applied-hash"),
        ("created-once", "owner"),
        ("created-once", "owner", "managed"),
    ],
)
def test_once_object_without_proof_of_our_write_is_written(
    lost: tuple[str, ...],
) -> None:
    write = decide(stripped(once(), *lost), CONTEXT).write
    assert write is not None
    assert write.obj["data"]["plan"] == "acme"


def test_object_that_becomes_once_is_written_a_last_time_unless_it_has_keys() -> None:
    plain = stripped(settled(creation_policy=CreationPolicy.ONCE), "created-once")
    newer = desired_by(a_resource(labels_template={"a": "b"}, creation_policy=CreationPolicy.ONCE))
    assert cause_of(replace(plain, desired=newer)) is WriteCause.CHANGED
    assert cause_of(stripped(once(), "created-once")) is WriteCause.CREATED_ONCE_LOST


def test_once_annotation_of_a_user_protects_the_object() -> None:
    """A user may set the annotation; objects of ours have the hash as well."""
    assert cause_of(stripped(once(), "applied-hash", "managed")) is None
    assert cause_of(stripped(once(), "applied-hash", "owner")) is None


def test_rejected_restore_is_retried_without_a_body() -> None:
    facts = once()
    assert facts.desired is not None
    last_write = LastWrite(
        hash=facts.desired.hash, rejection=WriteRejection("no"), not_before=LATER
    )
    facts = replace(facts, last_write=last_write)
    for drifted in (facts, stripped(facts, "managed")):
        assert decide(drifted, CONTEXT).state is S.FAILED
        write = decide(drifted, replace(CONTEXT, now=LATER)).write
        assert write is not None
        assert "data" not in write.obj


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (DeletionPolicy.DELETE, DeletionPolicy.RETAIN),
        (DeletionPolicy.RETAIN, DeletionPolicy.DELETE),
    ],
)
def test_changed_deletion_policy_of_a_once_object_is_written_and_nothing_else(
    before: DeletionPolicy, after: DeletionPolicy
) -> None:
    facts = replace(once(after), live=once(before).live)
    write = decide(facts, CONTEXT).write
    assert write is not None
    assert (write.cause, write.method) == (WriteCause.POLICY_CHANGED, WriteMethod.MERGE)
    assert write.obj.keys() == {"apiVersion", "kind", "metadata"}
    assert write.obj["metadata"]["annotations"]["lynq.sh/deletion-policy"] == str(after)


def test_owner_reference_of_a_retained_once_object_is_removed() -> None:
    retained = once(DeletionPolicy.RETAIN)
    assert decide(retained, CONTEXT).write is None
    referenced = but(retained, owner_uids=(CONTEXT.owner.uid,))
    assert cause_of(referenced) is WriteCause.POLICY_CHANGED


@pytest.mark.parametrize("strategy", PatchStrategy)
def test_missing_once_object_is_created(strategy: PatchStrategy) -> None:
    write = decide(replace(once(patch_strategy=strategy), live=None), CONTEXT).write
    assert write is not None
    assert write.method is WriteMethod.CREATE
