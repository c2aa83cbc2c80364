"""States of hubs, forms and nodes, and filters over them."""

import pytest

from lynq.api import RejectedRows, ResourceState, RolloutPhase, RolloutStatus
from lynq.core.explain.summary import (
    FilterError,
    form_summary,
    hub_summary,
    node_summary,
    parse_filter,
)
from unit.core.explain.explained import a_condition, a_form, a_hub, a_node, an_entry

READY = a_condition("Ready", holds=True)


def test_node_names_the_resource_that_it_waits_for() -> None:
    entry = an_entry(state=ResourceState.PROGRESSING, reason="ReplicasNotReady", message="0 of 1")
    summary = node_summary(a_node(entry))
    assert (summary.state, summary.cause) == ("Progressing", "web: ReplicasNotReady")
    assert (summary.message, summary.is_problem) == ("0 of 1", True)


@pytest.mark.parametrize(
    ("conditions", "annotations", "state"),
    [
        ((READY,), {}, "Ready"),
        ((READY,), {"lynq.sh/paused": "true"}, "Paused"),
        ((a_condition("Conflicted", holds=True),), {}, "Conflicted"),
        ((a_condition("Ready", holds=False, reason="DependencyError"),), {}, "Failed"),
        ((), {}, "Progressing"),
    ],
)
def test_state_of_a_node(
    conditions: tuple[object, ...], annotations: dict[str, str], state: str
) -> None:
    node = a_node(conditions=conditions, annotations=annotations)  # type: ignore[arg-type]
    assert node_summary(node).state == state


def test_node_that_is_being_deleted_is_a_problem() -> None:
    assert node_summary(a_node(deleting=True)).is_problem


def test_state_of_a_hub() -> None:
    held = a_condition("DeletionHeld", holds=True, reason="DeletionGuardExceeded")
    failed = a_condition("Ready", holds=False, reason="DatabaseConnectionFailed", message="no")
    assert hub_summary(a_hub()).state == "Progressing"
    assert hub_summary(a_hub(conditions=(READY,), ready=2, desired=2)).state == "Ready"
    assert hub_summary(a_hub(conditions=(READY, held))).state == "Held"
    assert hub_summary(a_hub(conditions=(failed,))).cause == "DatabaseConnectionFailed"
    assert hub_summary(a_hub(paused=True)).state == "Paused"
    rejected = hub_summary(
        a_hub(conditions=(READY,), failed=2, rejected_rows=RejectedRows(count=1))
    )
    assert (rejected.state, rejected.cause) == ("Degraded", "2 failed, 1 rejected")


def test_state_of_a_form() -> None:
    invalid = a_condition("Valid", holds=False, message="no id")
    failed = RolloutStatus(phase=RolloutPhase.FAILED, message="no progress")
    assert form_summary(a_form()).state == "Ready"
    assert form_summary(a_form(paused=True)).state == "Paused"
    assert form_summary(a_form(conditions=(invalid,))).message == "no id"
    assert form_summary(a_form(rollout_status=failed)).cause == "rollout failed"


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("state=progressing", True),
        ("state=Failed", False),
        ("state!=Failed, form=web", True),
        ("uid=ac*,name!=*-api", True),
        ("hub=shop,cause=", True),
    ],
)
def test_filter(text: str, matches: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert parse_filter(text)(node_summary(a_node(conditions=()))) is matches


@pytest.mark.parametrize("text", ["state", "state==a=b,x", "color=red", "=x"])
def test_wrong_filter_is_an_error(text: str) -> None:
    with pytest.raises(FilterError):
        parse_filter(text)


def test_node_that_is_not_reconciled_yet_says_nothing_about_its_form() -> None:
    assert "is not reconciled yet" in node_summary(a_node(observed=4)).message
