"""Writes that were not taken: what they say about the object, and when they are tried again."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lynq.core.node.decide import decide
from lynq.core.node.state import LastWrite, ResourceFacts, StateReason, WriteRejection
from unit.core.node.decisions import CONTEXT, LATER, S, but, cause_of, settled, without
from unit.core.node.nodes import NOW

PASSING = WriteRejection("503 ServiceUnavailable", is_transient=True)
FINAL = WriteRejection("the API server refuses it")
SOON = NOW + timedelta(seconds=1)


def refused(facts: ResourceFacts, rejection: WriteRejection) -> ResourceFacts:
    assert facts.desired is not None
    last_write = LastWrite(hash=facts.desired.hash, rejection=rejection, not_before=SOON)
    return replace(facts, last_write=last_write)


def test_a_hiccup_says_nothing_of_an_object_that_is_as_it_should_be() -> None:
    outcome = decide(refused(settled(), PASSING), CONTEXT)
    assert (outcome.state, outcome.write, outcome.requeue_at) == (S.READY, None, SOON)
    after = replace(CONTEXT, now=SOON)
    assert decide(refused(settled(), PASSING), after).write is not None


@pytest.mark.parametrize(
    "facts",
    [replace(settled(), live=None), without(settled(), "applied-hash")],
    ids=["missing", "of other content"],
)
def test_what_a_hiccup_holds_up_is_on_its_way(facts: ResourceFacts) -> None:
    outcome = decide(refused(facts, PASSING), CONTEXT)
    assert (outcome.state, outcome.reason) == (S.PROGRESSING, str(StateReason.HELD_BACK))
    assert (outcome.message, outcome.requeue_at) == (PASSING.message, SOON)


def test_what_is_no_hiccup_fails() -> None:
    assert decide(refused(settled(), FINAL), CONTEXT).state is S.FAILED


def test_a_refused_object_that_is_going_is_looked_at_when_it_is_gone() -> None:
    """And not twenty times a second, because the time of its next try is over."""
    going = refused(but(settled(), deleting=True), FINAL)
    outcome = decide(going, replace(CONTEXT, now=LATER))
    assert outcome.requeue_at is None or outcome.requeue_at > LATER
    assert cause_of(going, replace(CONTEXT, now=LATER)) is None
