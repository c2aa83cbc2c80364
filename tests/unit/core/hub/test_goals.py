"""The goals that `lynq wait` waits for."""

from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from lynq.api import (
    Condition,
    FormStatus,
    HubStatus,
    LynqForm,
    LynqHub,
    LynqNode,
    Metadata,
    NodeSpec,
    NodeStatus,
    RejectedRows,
)
from lynq.api.conditions import new_condition
from lynq.api.names import (
    ANNOTATION_PAUSED,
    ANNOTATION_ROLLOUT_UPDATE_START,
    ANNOTATION_TEMPLATE_GENERATION,
)
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.core.hub.goals import Goal, form_state, hub_state, nodes_state
from unit.core.hub.fixtures import NOON, a_form, a_hub, at

LATER = at(3600)


def condition(kind: ConditionType, *, holds: bool, message: str = "") -> Condition:
    reason = ConditionReason.RESOURCES_FAILED
    return new_condition(kind, reason, message, holds=holds, generation=1, now=NOON)


def a_node(
    uid: str = "acme",
    *,
    ready: bool = True,
    progressing: bool = False,
    form_generation: int = 1,
    observed: str = "2026-01-01T12:00:00Z",
    annotations: dict[str, str] | None = None,
    deleting: datetime | None = None,
) -> LynqNode:
    written = {
        ANNOTATION_ROLLOUT_UPDATE_START: "2026-01-01T12:00:00Z",
        ANNOTATION_TEMPLATE_GENERATION: str(form_generation),
    }
    return LynqNode(
        metadata=Metadata(
            name=f"{uid}-web",
            namespace="prod",
            generation=1,
            annotations=written | (annotations or {}),
            deletion_timestamp=deleting,
        ),
        spec=NodeSpec(uid=uid, template_ref="web"),
        status=NodeStatus(
            observed_generation=1,
            observed_update_start=observed,
            ready_resources=2 if ready else 1,
            desired_resources=2,
            conditions=(
                condition(ConditionType.READY, holds=ready, message="app failed"),
                condition(ConditionType.PROGRESSING, holds=progressing),
            ),
        ),
    )


def observed_form(**parts: Any) -> LynqForm:
    form = a_form(**parts)
    return replace(form, status=FormStatus(observed_generation=form.metadata.generation))


def read_hub(**status: Any) -> LynqHub:
    ready = condition(ConditionType.READY, holds=True)
    defaults: dict[str, Any] = {
        "observed_generation": 2,
        "referencing_templates": 1,
        "conditions": (ready,),
    }
    return replace(a_hub(), status=HubStatus(**(defaults | status)))


def reached(node: LynqNode, goal: Goal, *forms: LynqForm) -> bool:
    return nodes_state([node], forms or [observed_form()], goal, LATER).reached


def test_ready_node_reaches_every_goal() -> None:
    assert all(reached(a_node(), goal) for goal in Goal)


def test_unobserved_write_reaches_no_goal() -> None:
    node = a_node(observed="2026-01-01T11:00:00Z")
    assert not any(reached(node, goal) for goal in Goal)
    state = nodes_state([node], [], Goal.READY, LATER)
    assert state.text == "acme-web: the operator has not observed the last change yet"


def test_failed_node_is_settled_and_not_ready() -> None:
    node = a_node(ready=False)
    assert [goal for goal in Goal if reached(node, goal)] == [Goal.SETTLED]
    state = nodes_state([node], [], Goal.READY, LATER)
    assert state.text == "acme-web: 1 of 2 resources ready, ResourcesFailed: app failed"


def test_progressing_node_is_settled_only_if_paused() -> None:
    assert not reached(a_node(ready=False, progressing=True), Goal.SETTLED)
    paused = a_node(ready=False, progressing=True, annotations={ANNOTATION_PAUSED: "true"})
    assert reached(paused, Goal.SETTLED)


def test_node_of_an_old_generation_is_ready_and_not_rolled_out() -> None:
    form = observed_form(generation=2)
    assert [goal for goal in Goal if reached(a_node(), goal, form)] == [Goal.READY]
    state = nodes_state([a_node()], [form], Goal.ROLLED_OUT, LATER)
    assert "is not updated to the current generation of its form" in state.text


def test_paused_form_settles_with_an_old_generation() -> None:
    assert reached(a_node(), Goal.SETTLED, observed_form(generation=2, paused=True))


def test_node_that_is_being_deleted_is_not_settled() -> None:
    assert not reached(a_node(deleting=NOON), Goal.SETTLED)


def test_missing_objects_are_waited_for() -> None:
    assert not nodes_state([], [], Goal.READY, NOON).reached
    assert not form_state(None, None, [], Goal.READY, NOON).reached
    assert not hub_state(None, [], [], Goal.READY, NOON).reached


def test_form_counts_its_nodes() -> None:
    nodes = [a_node("a"), a_node("b", ready=False)]
    state = form_state(observed_form(), read_hub(desired=2), nodes, Goal.READY, LATER)
    assert (state.reached, state.text) == (False, "1 of 2 nodes ready; not yet: b-web")


def test_form_without_the_nodes_of_all_rows_is_not_ready() -> None:
    state = form_state(observed_form(), read_hub(desired=3), [a_node()], Goal.READY, LATER)
    assert (state.reached, state.text) == (False, "1 of 3 nodes ready")
    assert not form_state(observed_form(), read_hub(), [], Goal.READY, LATER).reached


@pytest.mark.parametrize(("goal", "expected"), [(Goal.READY, False), (Goal.SETTLED, True)])
def test_rejected_rows_settle_and_are_not_ready(goal: Goal, *, expected: bool) -> None:
    hub = read_hub(desired=2, rejected_rows=RejectedRows(count=1))
    assert form_state(observed_form(), hub, [a_node()], goal, LATER).reached is expected
    assert hub_state(hub, [observed_form()], [a_node()], goal, LATER).reached is expected


def test_unobserved_form_and_hub_reach_no_goal() -> None:
    assert not form_state(a_form(), None, [a_node()], Goal.READY, LATER).reached
    assert not hub_state(a_hub(), [], [], Goal.READY, LATER).reached
    unread = replace(a_hub(), status=HubStatus(observed_generation=2))
    assert hub_state(unread, [], [], Goal.READY, LATER).text == "rows are not read yet"


def test_hub_waits_until_a_new_form_is_observed() -> None:
    state = hub_state(read_hub(referencing_templates=0), [observed_form()], [], Goal.READY, LATER)
    assert not state.reached


def test_hub_without_rows_is_ready() -> None:
    state = hub_state(read_hub(), [observed_form()], [], Goal.READY, LATER)
    assert (state.reached, state.text) == (True, "0 of 0 nodes ready")
