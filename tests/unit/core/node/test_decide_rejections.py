"""Writes that were not taken: what they say about the object, and when they are tried again."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lynq.core.node.decide import decide
from lynq.core.node.state import LastWrite, ResourceFacts, StateReason, WriteRejection
from unit.core.node.decisions import AROUND, LATER, S, but, cause_of, settled, without
from unit.core.node.nodes import NOW

PASSING = WriteRejection("503 ServiceUnavailable", is_passing=True)
FINAL = WriteRejection("the API server refuses it")
SOON = NOW + timedelta(seconds=1)


def refused(facts: ResourceFacts, refusal: WriteRejection) -> ResourceFacts:
    assert facts.wanted is not None
    memory = LastWrite(hash=facts.wanted.hash, refusal=refusal, not_before=SOON)
    return replace(facts, memory=memory)


def test_a_hiccup_says_nothing_of_an_object_that_is_as_it_should_be() -> None:
    outcome = decide(refused(settled(), PASSING), AROUND)
    assert (outcome.state, outcome.write, outcome.look_again) == (S.READY, None, SOON)
    after = replace(AROUND, now=SOON)
    assert decide(refused(settled(), PASSING), after).write is not None


@pytest.mark.parametrize(
    "facts",
    [replace(settled(), live=None), without(settled(), "applied-hash")],
    ids=["missing", "of other content"],
)
def test_what_a_hiccup_holds_up_is_on_its_way(facts: ResourceFacts) -> None:
    outcome = decide(refused(facts, PASSING), AROUND)
    assert (outcome.state, outcome.reason) == (S.PROGRESSING, str(StateReason.HELD_BACK))
    assert (outcome.message, outcome.look_again) == (PASSING.message, SOON)


def test_what_is_no_hiccup_fails() -> None:
    assert decide(refused(settled(), FINAL), AROUND).state is S.FAILED


def test_a_refused_object_that_is_going_is_looked_at_when_it_is_gone() -> None:
    """And not twenty times a second, because the time of its next try is over."""
    going = refused(but(settled(), deleting=True), FINAL)
    outcome = decide(going, replace(AROUND, now=LATER))
    assert outcome.look_again is None or outcome.look_again > LATER
    assert cause_of(going, replace(AROUND, now=LATER)) is None
