"""Rejected and deferred writes: the state of the resource, and the retry."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from lynq.api.reasons import StateReason
from lynq.core.node.decide import decide
from lynq.core.node.schedule import DEFERRED_RETRY
from lynq.core.node.state import LastWrite, ResourceFacts, WriteRejection
from lynq.core.readiness.verdict import not_ready
from unit.core.node.decisions import CONTEXT, LATER, S, but, cause_of, settled, without
from unit.core.node.nodes import NOW

TRANSIENT = WriteRejection("503 ServiceUnavailable", is_transient=True)
FINAL = WriteRejection("the API server rejected it")
SOON = NOW + timedelta(seconds=1)


def rejected(facts: ResourceFacts, rejection: WriteRejection) -> ResourceFacts:
    assert facts.desired is not None
    last_write = LastWrite(hash=facts.desired.hash, rejection=rejection, not_before=SOON)
    return replace(facts, last_write=last_write)


def test_transient_rejection_keeps_an_unchanged_object_ready() -> None:
    outcome = decide(rejected(settled(), TRANSIENT), CONTEXT)
    assert (outcome.state, outcome.write, outcome.requeue_at) == (S.READY, None, SOON)
    after = replace(CONTEXT, now=SOON)
    assert decide(rejected(settled(), TRANSIENT), after).write is not None


@pytest.mark.parametrize(
    "facts",
    [replace(settled(), live=None), without(settled(), "applied-hash")],
    ids=["missing", "of other content"],
)
def test_transient_rejection_of_a_needed_write_is_progressing(facts: ResourceFacts) -> None:
    outcome = decide(rejected(facts, TRANSIENT), CONTEXT)
    assert (outcome.state, outcome.reason) == (S.PROGRESSING, str(StateReason.HELD_BACK))
    assert (outcome.message, outcome.requeue_at) == (TRANSIENT.message, SOON)


def test_transient_rejection_in_this_reconcile_is_retried_after_its_back_off() -> None:
    facts = replace(rejected(settled(), TRANSIENT), was_written=True)
    outcome = decide(facts, CONTEXT)
    assert (outcome.state, outcome.requeue_at) == (S.READY, SOON)


def test_final_rejection_fails_the_resource() -> None:
    assert decide(rejected(settled(), FINAL), CONTEXT).state is S.FAILED


def test_rejection_of_other_content_is_outdated() -> None:
    facts = rejected(settled(), FINAL)
    assert facts.last_write is not None
    outdated = replace(facts, last_write=replace(facts.last_write, hash="older"))
    outcome = decide(outdated, CONTEXT)
    assert (outcome.state, outcome.write) == (S.READY, None)


def test_rejected_object_being_deleted_is_not_requeued_in_the_past() -> None:
    """A requeue in the past would reconcile the node in a hot loop."""
    deleting = rejected(but(settled(), is_deleting=True), FINAL)
    outcome = decide(deleting, replace(CONTEXT, now=LATER))
    assert outcome.requeue_at is None or outcome.requeue_at > LATER
    assert cause_of(deleting, replace(CONTEXT, now=LATER)) is None


def test_object_being_deleted_does_not_report_an_earlier_rejection() -> None:
    readiness = not_ready("Deleting", "the object is being deleted")
    facts = but(settled(), is_deleting=True, readiness=readiness)
    outcome = decide(rejected(facts, FINAL), CONTEXT)
    assert (outcome.state, outcome.reason) == (S.PROGRESSING, "Deleting")


@pytest.mark.parametrize("rejection", [TRANSIENT, FINAL])
@pytest.mark.parametrize("now", [SOON, LATER])
def test_back_off_that_ended_during_other_writes_is_requeued_at_once(
    now: datetime, rejection: WriteRejection
) -> None:
    facts = replace(rejected(settled(), rejection), was_written=True)
    outcome = decide(facts, replace(CONTEXT, now=now))
    assert (outcome.write, outcome.requeue_at) == (None, now)


def test_deferred_write_keeps_an_unchanged_object_ready() -> None:
    forced = replace(CONTEXT, force=True)
    outcome = decide(replace(settled(), is_deferred=True), forced)
    assert (outcome.state, outcome.write) == (S.READY, None)
    assert outcome.requeue_at == NOW + DEFERRED_RETRY


@pytest.mark.parametrize(
    "facts",
    [replace(settled(), live=None), without(settled(), "applied-hash")],
    ids=["missing", "of other content"],
)
def test_deferred_write_of_a_needed_object_is_progressing(facts: ResourceFacts) -> None:
    assert decide(facts, CONTEXT).write is not None
    outcome = decide(replace(facts, is_deferred=True), CONTEXT)
    assert (outcome.state, outcome.write) == (S.PROGRESSING, None)
    assert outcome.message == "waiting for other writes of ConfigMap objects, which are slow"
    assert outcome.requeue_at == NOW + DEFERRED_RETRY


def test_deferred_write_still_reports_its_last_rejection() -> None:
    facts = replace(rejected(replace(settled(), live=None), FINAL), is_deferred=True)
    outcome = decide(facts, replace(CONTEXT, now=LATER))
    assert (outcome.state, outcome.message) == (S.FAILED, FINAL.message)
    assert outcome.requeue_at == LATER + DEFERRED_RETRY


def test_deferred_resource_without_a_due_write_is_not_requeued() -> None:
    assert decide(replace(settled(), is_deferred=True), CONTEXT).requeue_at is None
