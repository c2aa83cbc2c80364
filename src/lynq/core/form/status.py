"""A form's status: is it valid, are its nodes ready, how far is its rollout.

`total` and `ready` come from whoever keeps count of nodes; nothing is counted here.

Which events tell of a form's validity: each turn once, and no more in the passes after it.

What was told is read from the status that was last written, so a restart repeats nothing: an event
is due when the form becomes valid, when it stops being so, and when what is wrong with it changes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from lynq.api import Condition, ConditionStatus, FormStatus, LynqForm, RolloutStatus
from lynq.api.conditions import find_condition, merge_conditions, new_condition
from lynq.api.events import Event, EventReason
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


def validation_events(previous: FormStatus, problems: Sequence[Problem]) -> tuple[Event, ...]:
    """Return what has to be told, given the status from before these problems were found."""
    known = find_condition(previous.conditions, ConditionType.VALID)
    was_valid = known is not None and known.status is ConditionStatus.TRUE
    wrong = errors(problems)
    if not wrong:
        passed = Event(EventReason.VALIDATION_PASSED, "the form can be used")
        return () if was_valid else (passed,)
    if known is not None and not was_valid and known.message == summary(wrong):
        return ()
    return (*_by_own_reason(wrong), *(_failed(wrong) if was_valid or known is None else ()))


def _by_own_reason(wrong: Sequence[Problem]) -> Iterator[Event]:
    """Yield one event per reason that scripts know, with all problems of that reason."""
    for reason in dict.fromkeys(each.event for each in wrong if each.event is not None):
        yield Event(reason, summary([each for each in wrong if each.event is reason]), warns=True)


def _failed(wrong: Sequence[Problem]) -> tuple[Event, ...]:
    return (Event(EventReason.VALIDATION_FAILED, summary(wrong), warns=True),)
