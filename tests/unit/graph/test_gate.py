"""When a resource is written, waits, is skipped, or is written with a warning."""

import pytest

from lynq.api import ResourceState
from lynq.graph.gate import Action, Decision, decide

READY = ResourceState.READY
WAITING = ResourceState.WAITING
PROGRESSING = ResourceState.PROGRESSING
DELETING = ResourceState.DELETING
FAILED = ResourceState.FAILED
CONFLICTED = ResourceState.CONFLICTED
SKIPPED = ResourceState.SKIPPED


@pytest.mark.parametrize(
    ("states", "action", "dependency"),
    [
        pytest.param({}, Action.APPLY, "", id="no dependency"),
        pytest.param({"a": READY, "b": READY}, Action.APPLY, "", id="all ready"),
        pytest.param({"a": READY, "b": PROGRESSING}, Action.WAIT, "b", id="one not ready yet"),
        pytest.param({"a": WAITING, "b": PROGRESSING}, Action.WAIT, "a", id="the first is named"),
        pytest.param({"a": DELETING}, Action.WAIT, "a", id="one is going"),
        pytest.param({"a": None}, Action.WAIT, "a", id="one without a state yet"),
        pytest.param({"a": FAILED}, Action.SKIP, "a", id="one has failed"),
        pytest.param({"a": CONFLICTED}, Action.SKIP, "a", id="a conflict is a failure"),
        pytest.param({"a": SKIPPED}, Action.SKIP, "a", id="skipping goes on"),
        pytest.param({"a": WAITING, "b": FAILED}, Action.SKIP, "b", id="failure before waiting"),
        pytest.param(
            {"a": SKIPPED, "b": FAILED}, Action.SKIP, "a", id="the first failure is named"
        ),
    ],
)
def test_what_dependencies_allow(
    states: dict[str, ResourceState | None], action: Action, dependency: str
) -> None:
    known = {this: state for this, state in states.items() if state is not None}
    decision = decide(states, known, skip_on_dependency_failure=True)
    assert (decision.action, decision.dependency) == (action, dependency)


@pytest.mark.parametrize("state", [FAILED, CONFLICTED, SKIPPED])
def test_with_skipping_off_it_proceeds_without_asking_the_others(state: ResourceState) -> None:
    states = {"a": PROGRESSING, "b": state}
    decision = decide(states, states, skip_on_dependency_failure=False)
    assert (decision.action, decision.dependency) == (Action.PROCEED, "b")


def test_with_skipping_off_it_still_waits_while_nothing_has_failed() -> None:
    states = {"a": PROGRESSING}
    assert decide(states, states, skip_on_dependency_failure=False).action is Action.WAIT


@pytest.mark.parametrize(
    ("state", "skip", "message"),
    [
        (PROGRESSING, True, 'waiting for "db" to become ready'),
        (FAILED, True, 'skipped: "db", on which it depends, has failed'),
        (SKIPPED, True, 'skipped: "db", on which it depends, was skipped'),
        (
            CONFLICTED,
            False,
            'written although "db", on which it depends, is in conflict with another owner',
        ),
    ],
)
def test_the_sentence_names_the_dependency(
    state: ResourceState, *, skip: bool, message: str
) -> None:
    decision = decide(["db"], {"db": state}, skip_on_dependency_failure=skip)
    assert decision.message == message


def test_nothing_in_the_way_needs_no_sentence() -> None:
    assert decide([], {}, skip_on_dependency_failure=True) == Decision(Action.APPLY)
