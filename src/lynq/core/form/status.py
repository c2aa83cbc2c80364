"""The status of a form and the events about its validity.

An event is emitted when the form becomes valid, when it becomes invalid, and when its problems
change. The previous state is read from the last written status, so a restart repeats no event.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from lynq.api import Condition, ConditionStatus, FormStatus, LynqForm, RolloutStatus
from lynq.api.conditions import find_condition, merge_conditions, new_condition, paused_condition
from lynq.api.events import Event, EventReason
from lynq.api.problems import Problem, errors, fatal_errors, refused_resources, summary
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.api.text import and_more


@dataclass(frozen=True, slots=True)
class FormTotals:
    """The number of nodes of a form."""

    total: int = 0
    ready: int = 0


def next_status(
    form: LynqForm,
    problems: Sequence[Problem],
    totals: FormTotals,
    rollout: RolloutStatus | None,
    now: datetime,
    *,
    retained_ids: Iterable[str] = (),
) -> FormStatus:
    """Return the desired status of the form; equal to the last one if nothing changed."""
    conditions = (
        _valid(form, errors(problems), now),
        _applied(form, totals, now),
        _paused(form, now),
    )
    return FormStatus(
        observed_generation=form.metadata.generation,
        total_nodes=totals.total,
        ready_nodes=totals.ready,
        rollout=rollout,
        retained_ids=tuple(sorted(retained_ids)),
        conditions=merge_conditions(form.status.conditions, conditions),
    )


def _valid(form: LynqForm, failures: Sequence[Problem], now: datetime) -> Condition:
    return new_condition(
        ConditionType.VALID,
        ConditionReason.VALIDATION_FAILED if failures else ConditionReason.VALIDATION_PASSED,
        _failure_message(failures) if failures else "form is valid",
        holds=not failures,
        generation=form.metadata.generation,
        now=now,
    )


def _failure_message(failures: Sequence[Problem]) -> str:
    """Return the errors, and what they stop: the whole form, or some of its resources."""
    if fatal_errors(failures):
        return summary(failures)
    ids = and_more([f'"{name}"' for name in refused_resources(failures)])
    return f"{ids} fails on every node, the other resources are applied: {summary(failures)}"


def _applied(form: LynqForm, totals: FormTotals, now: datetime) -> Condition:
    reason, message = _applied_reason(totals)
    return new_condition(
        ConditionType.APPLIED,
        reason,
        message,
        holds=reason is ConditionReason.ALL_NODES_READY,
        generation=form.metadata.generation,
        now=now,
    )


def _applied_reason(totals: FormTotals) -> tuple[ConditionReason, str]:
    if totals.total == 0:
        return ConditionReason.NO_NODES, "form has no nodes"
    message = f"{totals.ready}/{totals.total} nodes ready"
    if totals.ready == totals.total:
        return ConditionReason.ALL_NODES_READY, message
    return ConditionReason.NOT_ALL_NODES_READY, message


def _paused(form: LynqForm, now: datetime) -> Condition:
    return paused_condition(
        "nodes are not changed while spec.paused is true",
        paused=form.spec.paused,
        generation=form.metadata.generation,
        now=now,
    )


def validation_events(previous: FormStatus, problems: Sequence[Problem]) -> tuple[Event, ...]:
    """Return the events to emit; `previous` is the status before these problems were found."""
    valid = find_condition(previous.conditions, ConditionType.VALID)
    was_valid = valid is not None and valid.status is ConditionStatus.TRUE
    failures = errors(problems)
    if not failures:
        passed = Event(EventReason.VALIDATION_PASSED, "form is valid")
        return () if was_valid else (passed,)
    if valid is not None and not was_valid and valid.message == _failure_message(failures):
        return ()
    failed = Event(EventReason.VALIDATION_FAILED, _failure_message(failures), warns=True)
    return (*_events_by_reason(failures), *((failed,) if was_valid or valid is None else ()))


def _events_by_reason(failures: Sequence[Problem]) -> Iterator[Event]:
    """Yield one event per event reason of the problems, with all problems of that reason."""
    for reason in dict.fromkeys(problem.event for problem in failures if problem.event is not None):
        of_reason = [problem for problem in failures if problem.event is reason]
        yield Event(reason, summary(of_reason), warns=True)
