"""The dependency gate: apply, wait, skip, or proceed with a warning."""

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
            {"a": WAITING, "b": PROGRESSING},
            GateAction.WAIT,
            "a",
            id="first one not ready is named",
        ),
        pytest.param({"a": DELETING}, GateAction.WAIT, "a", id="one is being deleted"),
        pytest.param({"a": None}, GateAction.WAIT, "a", id="one without a state yet"),
        pytest.param({"a": FAILED}, GateAction.SKIP, "a", id="one failed"),
        pytest.param({"a": CONFLICTED}, GateAction.SKIP, "a", id="conflicted counts as failed"),
        pytest.param({"a": SKIPPED}, GateAction.SKIP, "a", id="skipped counts as failed"),
        pytest.param(
            {"a": WAITING, "b": FAILED}, GateAction.SKIP, "b", id="failure before waiting"
        ),
        pytest.param(
            {"a": SKIPPED, "b": FAILED}, GateAction.SKIP, "a", id="first failure is named"
        ),
    ],
)
def test_gate_action_by_dependency_states(
    states: dict[str, ResourceState | None], action: GateAction, dependency: str
) -> None:
    observed = {name: state for name, state in states.items() if state is not None}
    decision = dependency_gate(states, observed, skip_on_dependency_failure=True)
    assert (decision.action, decision.dependency) == (action, dependency)


@pytest.mark.parametrize("state", [FAILED, CONFLICTED, SKIPPED])
def test_failure_without_skipping_proceeds_before_others_are_ready(state: ResourceState) -> None:
    states = {"a": PROGRESSING, "b": state}
    decision = dependency_gate(states, states, skip_on_dependency_failure=False)
    assert (decision.action, decision.dependency) == (GateAction.PROCEED, "b")


def test_without_skipping_still_waits_while_none_failed() -> None:
    states = {"a": PROGRESSING}
    assert (
        dependency_gate(states, states, skip_on_dependency_failure=False).action is GateAction.WAIT
    )


@pytest.mark.parametrize(
    ("state", "skip", "message"),
    [
        (PROGRESSING, True, 'waiting for dependency "db" to become ready'),
        (FAILED, True, 'skipped: dependency "db" failed'),
        (SKIPPED, True, 'skipped: dependency "db" was skipped'),
        (CONFLICTED, False, 'applied although dependency "db" has a field conflict'),
    ],
)
def test_message_names_dependency(state: ResourceState, *, skip: bool, message: str) -> None:
    decision = dependency_gate(["db"], {"db": state}, skip_on_dependency_failure=skip)
    assert decision.message == message


def test_apply_has_no_message() -> None:
    assert dependency_gate([], {}, skip_on_dependency_failure=True) == GateDecision(
        GateAction.APPLY
    )
