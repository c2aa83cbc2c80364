"""One resource whose turn it is: written, left alone, or looked at."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lynq.api import ConflictPolicy, CreationPolicy, DeletionPolicy, PatchStrategy, ResourceState
from lynq.api.reasons import OrphanReason
from lynq.core.node.decide import decide
from lynq.core.node.objects import LiveObject
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


def test_what_is_as_it_should_be_is_not_written() -> None:
    outcome = decide(settled(), CONTEXT)
    assert (outcome.state, outcome.write) == (S.READY, None)


def test_what_does_not_exist_is_written_with_all_marks() -> None:
    write = decide(replace(settled(), live=None), CONTEXT).write
    assert write is not None
    assert (write.cause, write.method, write.force) == (
        WriteCause.MISSING,
        WriteMethod.APPLY,
        False,
    )
    assert write.obj["metadata"]["annotations"].keys() == {
        "lynq.sh/applied-hash",
        "lynq.sh/apply-start-time",
        "lynq.sh/deletion-policy",
    }


def test_a_resource_that_cannot_be_rendered_fails_and_says_why() -> None:
    outcome = decide(ResourceFacts(resource=a_resource(), render_error="no variable"), CONTEXT)
    assert (outcome.state, outcome.reason) == (S.FAILED, "TemplateRenderError")
    assert outcome.message == "no variable"
    assert outcome.ref.name == ""


def test_another_content_is_written() -> None:
    changed = replace(settled(), desired=desired_by(a_resource(labels_template={"a": "b"})))
    assert cause_of(changed) is WriteCause.CHANGED


def test_drift_a_lost_hash_is_written_at_once() -> None:
    assert cause_of(without(settled(), "applied-hash")) is WriteCause.HASH_LOST


@pytest.mark.parametrize("labels", [{}, {"lynq.sh/node": "acme-web"}])
def test_an_object_whose_ties_were_taken_off_is_tied_again(labels: dict[str, str]) -> None:
    cut = but(settled(deletion_policy=DeletionPolicy.RETAIN), labels=labels)
    assert cause_of(replace(cut, last_write=None)) is WriteCause.OWNERSHIP_LOST


def test_an_object_that_lost_its_owner_is_tied_again() -> None:
    assert (
        cause_of(replace(but(settled(), owners=()), last_write=None)) is WriteCause.OWNERSHIP_LOST
    )


def test_drift_b_a_taken_field_is_written_at_once_with_force() -> None:
    write = decide(
        but(settled(conflict_policy=ConflictPolicy.FORCE), digest=b"theirs"), CONTEXT
    ).write
    assert write is not None
    assert (write.cause, write.force) == (WriteCause.FIELDS_TAKEN, True)


def test_drift_b_under_stuck_asks_the_api_server_and_reports_its_answer() -> None:
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


def test_drift_b_is_unknown_after_a_restart() -> None:
    assert cause_of(but(replace(settled(), last_write=None), digest=b"theirs")) is None


def test_drift_b_is_not_seen_where_another_operator_wrote_last() -> None:
    older = LastWrite(hash="older", digest=b"ours")
    assert cause_of(but(replace(settled(), last_write=older), digest=b"theirs")) is None


def test_drift_c_all_is_written_again() -> None:
    assert cause_of(settled(), replace(CONTEXT, force=True)) is WriteCause.FORCED


def test_nothing_is_written_twice_in_a_pass() -> None:
    restless = replace(without(settled(), "applied-hash"), was_written=True)
    assert cause_of(restless, replace(CONTEXT, force=True)) is None


@pytest.mark.parametrize("drift", ["hash", "fields", "gone"])
def test_two_controllers_do_not_fight_hot(drift: str) -> None:
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


def test_a_back_off_from_before_the_clock_was_set_back_is_over() -> None:
    facts = settled()
    assert facts.desired is not None
    last_write = LastWrite(hash=facts.desired.hash, not_before=NOW + timedelta(hours=1))
    assert decide(replace(facts, last_write=last_write, live=None), CONTEXT).write is not None


def test_new_content_does_not_wait_for_the_back_off() -> None:
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
def test_a_refused_write_is_told_until_it_is_tried_again(
    rejection: WriteRejection, state: ResourceState, reason: str, *, exists: bool
) -> None:
    facts = settled()
    assert facts.desired is not None
    last_write = LastWrite(hash=facts.desired.hash, rejection=rejection, not_before=LATER)
    facts = replace(facts, last_write=last_write, live=facts.live if exists else None)
    told = decide(facts, CONTEXT)
    assert (told.state, told.reason, told.message) == (state, reason, rejection.message)
    assert told.requeue_at == LATER
    assert cause_of(facts, replace(CONTEXT, now=LATER)) in {WriteCause.REJECTED, WriteCause.MISSING}
    assert cause_of(facts, replace(CONTEXT, force=True)) is not None


@pytest.mark.parametrize(
    "live",
    [
        foreign(labels={"lynq.sh/node": "other", "lynq.sh/node-namespace": "shop"}),
        foreign(labels={"lynq.sh/managed": "true"}, owners=("other",)),
        foreign(annotations={"lynq.sh/applied-hash": "x"}, owners=("other",)),
    ],
)
@pytest.mark.parametrize("policy", ConflictPolicy)
def test_another_nodes_object_is_a_conflict_and_never_written(
    live: LiveObject, policy: ConflictPolicy
) -> None:
    outcome = decide(replace(settled(conflict_policy=policy), live=live), CONTEXT)
    assert (outcome.state, outcome.write) == (S.CONFLICTED, None)
    assert "LynqNode" in outcome.message


def test_about_a_foreign_object_the_api_server_decides() -> None:
    write = decide(replace(settled(), live=foreign(owners=("x",)), last_write=None), CONTEXT).write
    assert write is not None
    assert (write.method, write.force) == (WriteMethod.APPLY, False)


def orphan(**more: Any) -> ResourceFacts:
    facts = settled(deletion_policy=DeletionPolicy.RETAIN, **more)
    assert facts.live is not None
    marks = {"lynq.sh/orphaned-reason": str(OrphanReason.REMOVED_FROM_TEMPLATE)}
    return but(
        facts,
        labels={"lynq.sh/orphaned": "true"},
        annotations={**facts.live.annotations, **marks},
    )


def test_an_orphan_is_adopted_in_one_write() -> None:
    write = decide(orphan(), CONTEXT).write
    assert write is not None
    assert (write.cause, write.method) == (WriteCause.ORPHANED, WriteMethod.MERGE)
    assert write.obj["metadata"]["labels"]["lynq.sh/orphaned"] is None
    assert write.obj["metadata"]["labels"]["lynq.sh/node"] == "acme-web"
    assert write.obj["data"] == {"plan": "acme"}


def test_an_orphan_that_was_written_once_is_adopted_without_its_body() -> None:
    write = decide(orphan(creation_policy=CreationPolicy.ONCE), CONTEXT).write
    assert write is not None
    assert write.obj.keys() == {"apiVersion", "kind", "metadata"}


@pytest.mark.parametrize(
    ("strategy", "exists", "method"),
    [
        (PatchStrategy.APPLY, True, WriteMethod.APPLY),
        (PatchStrategy.APPLY, False, WriteMethod.APPLY),
        (PatchStrategy.MERGE, True, WriteMethod.MERGE),
        (PatchStrategy.MERGE, False, WriteMethod.CREATE),
        (PatchStrategy.REPLACE, True, WriteMethod.REPLACE),
        (PatchStrategy.REPLACE, False, WriteMethod.CREATE),
    ],
)
def test_how_each_strategy_writes(
    strategy: PatchStrategy, method: WriteMethod, *, exists: bool
) -> None:
    facts = settled(patch_strategy=strategy, conflict_policy=ConflictPolicy.FORCE)
    facts = without(facts, "applied-hash") if exists else replace(facts, live=None)
    write = decide(facts, CONTEXT).write
    assert write is not None
    assert (write.method, write.force) == (method, method is WriteMethod.APPLY)


def at(seconds: int, **live: Any) -> ResourceOutcome:
    facts = but(settled(timeout_seconds=30), verdict=STARTING, **live)
    return decide(facts, replace(CONTEXT, now=NOW + timedelta(seconds=seconds)))


def test_until_its_deadline_a_resource_is_on_its_way() -> None:
    outcome = at(29)
    assert (outcome.state, outcome.requeue_at) == (S.PROGRESSING, NOW + timedelta(seconds=30))
    assert outcome.message == "0 of 1 replicas are ready"


def test_at_its_deadline_a_resource_has_failed_and_may_still_recover() -> None:
    outcome = at(30)
    assert (outcome.state, outcome.reason) == (S.FAILED, "ReadinessTimeout")
    assert outcome.message == "not ready within 30 s: 0 of 1 replicas are ready"
    assert at(31, annotations={}).write is not None


def test_what_gave_up_has_failed_before_its_deadline() -> None:
    outcome = decide(but(settled(), verdict=failed("JobFailed", "it gave up")), CONTEXT)
    assert (outcome.state, outcome.reason) == (S.FAILED, "JobFailed")


def test_without_waiting_it_is_ready_once_written() -> None:
    outcome = decide(but(settled(wait_for_ready=False), verdict=STARTING), CONTEXT)
    assert outcome.state is S.READY


def test_what_is_being_deleted_is_neither_written_nor_ready() -> None:
    going = but(settled(wait_for_ready=False), deleting=True, verdict=STARTING)
    outcome = decide(without(going, "applied-hash"), CONTEXT)
    assert (outcome.state, outcome.write) == (S.PROGRESSING, None)


def test_what_is_removed_right_after_its_write_waits_for_the_next_pass() -> None:
    outcome = decide(replace(settled(), live=None, was_written=True), CONTEXT)
    assert (outcome.state, outcome.reason) == (S.PROGRESSING, "HeldBack")
