"""Rows without a node."""

from lynq.api import RejectedRow, RejectedRows, Rollout, RolloutStatus
from lynq.core.explain.model import CauseKind
from lynq.core.explain.row import explain_row, where_to_look
from unit.core.explain.explained import a_condition, a_form, a_hub

REJECTED = RejectedRow(uid="Acme", reason="InvalidNodeName", message='node name "Acme-web" is bad')


def kinds(uid: str, hub: object, *forms: object) -> list[CauseKind]:
    explanation = explain_row(uid, [hub], forms)  # type: ignore[list-item, arg-type]
    return [cause.kind for cause in explanation.causes] if explanation else []


def test_rejected_row_is_the_cause() -> None:
    hub = a_hub(rejected_rows=RejectedRows(count=1, rows=(REJECTED,)))
    explanation = explain_row("Acme", [hub], [a_form()])
    assert explanation is not None
    (cause,) = explanation.causes
    assert not explanation.is_ready
    assert cause.kind is CauseKind.ROW_REJECTED
    assert cause.message == 'rejected the row: node name "Acme-web" is bad (InvalidNodeName)'
    assert cause.next_steps == ("correct the row in tenants",)


def test_rejection_of_another_row_is_no_cause() -> None:
    hub = a_hub(rejected_rows=RejectedRows(count=1, rows=(REJECTED,)))
    assert explain_row("beta", [hub], [a_form()]) is None


def test_unlisted_rejections_are_a_possible_cause() -> None:
    hub = a_hub(rejected_rows=RejectedRows(count=40, rows=(REJECTED,)))
    assert kinds("beta", hub, a_form()) == [CauseKind.ROW_REJECTED]


def test_hub_that_cannot_read_is_a_possible_cause() -> None:
    hub = a_hub(conditions=(a_condition("Ready", holds=False, message="no route"),))
    assert kinds("beta", hub, a_form()) == [CauseKind.SOURCE_UNAVAILABLE]


def test_hub_without_a_form_has_no_nodes() -> None:
    assert kinds("beta", a_hub()) == [CauseKind.FORM_MISSING]


def test_full_rollout_delays_new_rows() -> None:
    form = a_form(rollout=Rollout(max_skew=1), rollout_status=RolloutStatus(updating_nodes=1))
    assert kinds("beta", a_hub(), form) == [CauseKind.ROLLOUT_WAITING]


def test_unknown_row_is_looked_up_in_the_table() -> None:
    assert where_to_look("beta", [a_hub()]) == (
        "The row does not exist, or is not active: "
        "SELECT active FROM tenants WHERE tenant_id = 'beta'"
    )
    assert where_to_look("beta", []) == "There is no LynqHub in this namespace."
