"""A form's status: is it valid, are its nodes ready, how far is its rollout.

`total` and `ready` come from whoever keeps count of nodes; nothing is counted here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lynq.api import Condition, FormStatus, LynqForm, RolloutStatus
from lynq.api.conditions import merge_conditions, new_condition
from lynq.api.problems import Problem, errors, summary
from lynq.api.reasons import ConditionReason, ConditionType


@dataclass(frozen=True, slots=True)
class FormTotals:
    """How many nodes a form has."""

    total: int = 0
    ready: int = 0


def next_status(
    form: LynqForm,
    problems: Sequence[Problem],
    totals: FormTotals,
    rollout: RolloutStatus | None,
    now: datetime,
) -> FormStatus:
    """Return the status that the form should have; equal to the last one if nothing happened."""
    wanted = (
        _valid(form, errors(problems), now),
        _applied(form, totals, now),
        _paused(form, now),
    )
    return FormStatus(
        observed_generation=form.metadata.generation,
        total_nodes=totals.total,
        ready_nodes=totals.ready,
        rollout=rollout,
        conditions=merge_conditions(form.status.conditions, wanted),
    )


def _valid(form: LynqForm, wrong: Sequence[Problem], now: datetime) -> Condition:
    return new_condition(
        ConditionType.VALID,
        ConditionReason.VALIDATION_FAILED if wrong else ConditionReason.VALIDATION_PASSED,
        summary(wrong) if wrong else "the form can be used",
        holds=not wrong,
        generation=form.metadata.generation,
        now=now,
    )


def _applied(form: LynqForm, totals: FormTotals, now: datetime) -> Condition:
    reason, message = _progress(totals)
    return new_condition(
        ConditionType.APPLIED,
        reason,
        message,
        holds=reason is ConditionReason.ALL_NODES_READY,
        generation=form.metadata.generation,
        now=now,
    )


def _progress(totals: FormTotals) -> tuple[ConditionReason, str]:
    if totals.total == 0:
        return ConditionReason.NO_NODES, "the form has no nodes"
    message = f"{totals.ready}/{totals.total} nodes ready"
    if totals.ready == totals.total:
        return ConditionReason.ALL_NODES_READY, message
    return ConditionReason.NOT_ALL_NODES_READY, message


def _paused(form: LynqForm, now: datetime) -> Condition:
    paused = form.spec.paused
    return new_condition(
        ConditionType.PAUSED,
        ConditionReason.PAUSED if paused else ConditionReason.NOT_PAUSED,
        "nodes stay as they are until spec.paused is set back" if paused else "not paused",
        holds=paused,
        generation=form.metadata.generation,
        now=now,
    )
