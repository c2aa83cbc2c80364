"""When a resource is written, waits, is skipped, or is written with a warning."""

import pytest

from lynq.api import ResourceState
from lynq.core.graph.gate import GateAction, GateDecision, dependency_gate

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
        pytest.param({}, GateAction.APPLY, "", id="no dependency"),
        pytest.param({"a": READY, "b": READY}, GateAction.APPLY, "", id="all ready"),
        pytest.param({"a": READY, "b": PROGRESSING}, GateAction.WAIT, "b", id="one not ready yet"),
        pytest.param(
            {"a": WAITING, "b": PROGRESSING}, GateAction.WAIT, "a", id="the first is named"
        ),
        pytest.param({"a": DELETING}, GateAction.WAIT, "a", id="one is going"),
        pytest.param({"a": None}, GateAction.WAIT, "a", id="one without a state yet"),
        pytest.param({"a": FAILED}, GateAction.SKIP, "a", id="one has failed"),
        pytest.param({"a": CONFLICTED}, GateAction.SKIP, "a", id="a conflict is a failure"),
        pytest.param({"a": SKIPPED}, GateAction.SKIP, "a", id="skipping goes on"),
        pytest.param(
            {"a": WAITING, "b": FAILED}, GateAction.SKIP, "b", id="failure before waiting"
        ),
        pytest.param(
            {"a": SKIPPED, "b": FAILED}, GateAction.SKIP, "a", id="the first failure is named"
        ),
    ],
)
def test_what_dependencies_allow(
    states: dict[str, ResourceState | None], action: GateAction, dependency: str
) -> None:
    known = {this: state for this, state in states.items() if state is not None}
    decision = dependency_gate(states, known, skip_on_dependency_failure=True)
    assert (decision.action, decision.dependency) == (action, dependency)


@pytest.mark.parametrize("state", [FAILED, CONFLICTED, SKIPPED])
def test_with_skipping_off_it_proceeds_without_asking_the_others(state: ResourceState) -> None:
    states = {"a": PROGRESSING, "b": state}
    decision = dependency_gate(states, states, skip_on_dependency_failure=False)
    assert (decision.action, decision.dependency) == (GateAction.PROCEED, "b")


def test_with_skipping_off_it_still_waits_while_nothing_has_failed() -> None:
    states = {"a": PROGRESSING}
    assert (
        dependency_gate(states, states, skip_on_dependency_failure=False).action is GateAction.WAIT
    )


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
    decision = dependency_gate(["db"], {"db": state}, skip_on_dependency_failure=skip)
    assert decision.message == message


def test_nothing_in_the_way_needs_no_sentence() -> None:
    assert dependency_gate([], {}, skip_on_dependency_failure=True) == GateDecision(
        GateAction.APPLY
    )
