"""A form's status and the events about it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lynq.api import ConditionStatus, FormStatus, LynqForm, Metadata, RolloutPhase, RolloutStatus
from lynq.api.conditions import find_condition
from lynq.api.events import Event, EventReason
from lynq.api.problems import Problem, ProblemKind
from lynq.api.reasons import ConditionType
from lynq.core.form.status import FormTotals, next_status, validation_events
from unit.core.form.forms import form

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WRONG = (Problem("spec.hubId", "missing"),)
CIRCLE = (
    Problem(
        "spec",
        "circular dependency detected: a -> b -> a",
        event=EventReason.DEPENDENCY_VALIDATION_FAILED,
    ),
)
WARNING = (Problem("spec", "hm", ProblemKind.WARNING),)

NONE = FormTotals()


def a_form(status: FormStatus | None = None, *, paused: bool = False) -> LynqForm:
    return LynqForm(
        metadata=Metadata(name="web", generation=4),
        spec=form(paused=paused),
        status=status or FormStatus(),
    )


def status_of(
    problems: tuple[Problem, ...] = (),
    totals: FormTotals = NONE,
    before: FormStatus | None = None,
    *,
    now: datetime = NOON,
    paused: bool = False,
) -> FormStatus:
    return next_status(a_form(before, paused=paused), problems, totals, None, now)


def said(status: FormStatus, aspect: ConditionType) -> tuple[str, str, str]:
    condition = find_condition(status.conditions, aspect)
    assert condition is not None
    assert condition.observed_generation == 4
    return condition.status.value, condition.reason, condition.message


@pytest.mark.parametrize(
    ("problems", "expected"),
    [
        ((), ("True", "ValidationPassed", "the form can be used")),
        (WARNING, ("True", "ValidationPassed", "the form can be used")),
        (WRONG, ("False", "ValidationFailed", "spec.hubId: missing")),
        (
            (*WRONG, *WARNING, *CIRCLE),
            (
                "False",
                "ValidationFailed",
                "spec.hubId: missing; spec: circular dependency detected: a -> b -> a",
            ),
        ),
    ],
)
def test_valid(problems: tuple[Problem, ...], expected: tuple[str, str, str]) -> None:
    assert said(status_of(problems), ConditionType.VALID) == expected


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        (FormTotals(0, 0), ("False", "NoNodes", "the form has no nodes")),
        (FormTotals(3, 2), ("False", "NotAllNodesReady", "2/3 nodes ready")),
        (FormTotals(3, 3), ("True", "AllNodesReady", "3/3 nodes ready")),
    ],
)
def test_applied(totals: FormTotals, expected: tuple[str, str, str]) -> None:
    status = status_of(totals=totals)
    assert said(status, ConditionType.APPLIED) == expected
    assert (status.total_nodes, status.ready_nodes) == (totals.total, totals.ready)


def test_paused() -> None:
    assert said(status_of(), ConditionType.PAUSED)[:2] == ("False", "NotPaused")
    assert said(status_of(paused=True), ConditionType.PAUSED)[:2] == ("True", "Paused")


def test_the_rollout_and_the_generation_are_handed_on() -> None:
    rollout = RolloutStatus(phase=RolloutPhase.COMPLETE, target_generation=4)
    status = next_status(a_form(), (), FormTotals(), rollout, NOON)
    assert (status.rollout, status.observed_generation) == (rollout, 4)


SITUATIONS = st.tuples(
    st.sampled_from([(), WRONG, CIRCLE, WARNING]),
    st.sampled_from([FormTotals(), FormTotals(3, 2), FormTotals(3, 3)]),
)


@given(SITUATIONS)
def test_looking_twice_writes_once_and_tells_once(
    situation: tuple[tuple[Problem, ...], FormTotals],
) -> None:
    first = status_of(*situation)
    second = status_of(*situation, first, now=NOON + timedelta(hours=1))
    assert second == first
    assert validation_events(first, situation[0]) == ()


def reasons(told: tuple[Event, ...]) -> list[str]:
    assert all(event.warns is (event.reason != EventReason.VALIDATION_PASSED) for event in told)
    return [event.reason.value for event in told]


def test_a_new_form_is_told_to_be_valid() -> None:
    assert reasons(validation_events(FormStatus(), ())) == ["ValidationPassed"]


def test_a_new_form_that_is_wrong_is_told_by_both_its_reasons() -> None:
    assert reasons(validation_events(FormStatus(), CIRCLE)) == [
        "DependencyValidationFailed",
        "ValidationFailed",
    ]


def test_a_valid_form_that_breaks_is_told_and_so_is_its_repair() -> None:
    valid, broken = status_of(), status_of(WRONG)
    assert reasons(validation_events(valid, WRONG)) == ["ValidationFailed"]
    assert reasons(validation_events(broken, ())) == ["ValidationPassed"]


def test_another_fault_of_an_invalid_form_is_told_by_its_own_reason_only() -> None:
    assert reasons(validation_events(status_of(WRONG), CIRCLE)) == ["DependencyValidationFailed"]
    assert reasons(validation_events(status_of(CIRCLE), WRONG)) == []


def test_an_unknown_validity_counts_as_invalid() -> None:
    status = status_of()
    unknown = tuple(
        replace(each, status=ConditionStatus.UNKNOWN, message="?") for each in status.conditions
    )
    assert reasons(validation_events(replace(status, conditions=unknown), ())) == [
        "ValidationPassed"
    ]
