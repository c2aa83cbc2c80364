"""The status of a form and its validation events."""

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
CYCLE = (
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


def condition_of(status: FormStatus, aspect: ConditionType) -> tuple[str, str, str]:
    condition = find_condition(status.conditions, aspect)
    assert condition is not None
    assert condition.observed_generation == 4
    return condition.status.value, condition.reason, condition.message


@pytest.mark.parametrize(
    ("problems", "expected"),
    [
        ((), ("True", "ValidationPassed", "form is valid")),
        (WARNING, ("True", "ValidationPassed", "form is valid")),
        (WRONG, ("False", "ValidationFailed", "spec.hubId: missing")),
        (
            (*WRONG, *WARNING, *CYCLE),
            (
                "False",
                "ValidationFailed",
                "spec.hubId: missing; spec: circular dependency detected: a -> b -> a",
            ),
        ),
    ],
)
def test_valid(problems: tuple[Problem, ...], expected: tuple[str, str, str]) -> None:
    assert condition_of(status_of(problems), ConditionType.VALID) == expected


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        (FormTotals(0, 0), ("False", "NoNodes", "form has no nodes")),
        (FormTotals(3, 2), ("False", "NotAllNodesReady", "2/3 nodes ready")),
        (FormTotals(3, 3), ("True", "AllNodesReady", "3/3 nodes ready")),
    ],
)
def test_applied(totals: FormTotals, expected: tuple[str, str, str]) -> None:
    status = status_of(totals=totals)
    assert condition_of(status, ConditionType.APPLIED) == expected
    assert (status.total_nodes, status.ready_nodes) == (totals.total, totals.ready)


def test_paused() -> None:
    assert condition_of(status_of(), ConditionType.PAUSED)[:2] == ("False", "NotPaused")
    assert condition_of(status_of(paused=True), ConditionType.PAUSED)[:2] == ("True", "Paused")


def test_status_has_rollout_and_generation() -> None:
    rollout = RolloutStatus(phase=RolloutPhase.COMPLETE, target_generation=4)
    status = next_status(a_form(), (), FormTotals(), rollout, NOON)
    assert (status.rollout, status.observed_generation) == (rollout, 4)


STATES = st.tuples(
    st.sampled_from([(), WRONG, CYCLE, WARNING]),
    st.sampled_from([FormTotals(), FormTotals(3, 2), FormTotals(3, 3)]),
)


@given(STATES)
def test_unchanged_state_gives_equal_status_and_no_event(
    state: tuple[tuple[Problem, ...], FormTotals],
) -> None:
    first = status_of(*state)
    second = status_of(*state, first, now=NOON + timedelta(hours=1))
    assert second == first
    assert validation_events(first, state[0]) == ()


def reasons(events: tuple[Event, ...]) -> list[str]:
    assert all(event.warns is (event.reason != EventReason.VALIDATION_PASSED) for event in events)
    return [event.reason.value for event in events]


def test_new_valid_form_emits_validation_passed() -> None:
    assert reasons(validation_events(FormStatus(), ())) == ["ValidationPassed"]


def test_new_invalid_form_emits_both_reasons() -> None:
    assert reasons(validation_events(FormStatus(), CYCLE)) == [
        "DependencyValidationFailed",
        "ValidationFailed",
    ]


def test_change_of_validity_emits_event() -> None:
    valid, broken = status_of(), status_of(WRONG)
    assert reasons(validation_events(valid, WRONG)) == ["ValidationFailed"]
    assert reasons(validation_events(broken, ())) == ["ValidationPassed"]


def test_changed_problem_of_invalid_form_emits_only_its_own_reason() -> None:
    assert reasons(validation_events(status_of(WRONG), CYCLE)) == ["DependencyValidationFailed"]
    assert reasons(validation_events(status_of(CYCLE), WRONG)) == []


def test_unknown_validity_counts_as_invalid() -> None:
    status = status_of()
    unknown = tuple(
        replace(condition, status=ConditionStatus.UNKNOWN, message="?")
        for condition in status.conditions
    )
    assert reasons(validation_events(replace(status, conditions=unknown), ())) == [
        "ValidationPassed"
    ]
