"""Which statuses cannot wait."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from lynq.api import NodeStatus, ResourceState
from lynq.core.node.objects import ObjectRef
from lynq.core.node.state import ResourceOutcome
from lynq.core.node.status import StatusReport, debounce_status, is_urgent, next_status
from unit.core.node.nodes import NOW


def status(*states: ResourceState, message: str = "", generation: int = 1) -> NodeStatus:
    outcomes = [
        ResourceOutcome(
            id=f"r{number}",
            ref=ObjectRef("v1", "ConfigMap", "shop", f"acme-{number}"),
            state=state,
            reason=str(state),
            message=message,
        )
        for number, state in enumerate(states)
    ]
    on_its_way = any(state is ResourceState.PROGRESSING for state in states)
    report = StatusReport(
        namespace="shop", generation=generation, outcomes=outcomes, is_writing=on_its_way
    )
    return next_status(NodeStatus(), report, NOW)


P, R, F = ResourceState.PROGRESSING, ResourceState.READY, ResourceState.FAILED


def test_how_far_a_resource_on_its_way_has_come_can_wait() -> None:
    assert not is_urgent(status(P, P, message="0 of 1"), status(P, P, message="1 of 1"))


def test_one_more_that_is_ready_can_wait_while_others_are_not() -> None:
    assert not is_urgent(status(P, P), status(P, R))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((P, P), (R, R)),
        ((R, R), (R, P)),
        ((P, P), (P, F)),
        ((P, F), (P, P)),
        ((F, P), (P, F)),
        ((P,), (P, P)),
    ],
)
def test_what_others_go_by_cannot_wait(
    before: tuple[ResourceState, ...], after: tuple[ResourceState, ...]
) -> None:
    assert is_urgent(status(*before), status(*after))


def test_that_the_pass_is_over_can_wait() -> None:
    writing = status(P)
    over = next_status(writing, StatusReport(namespace="shop", generation=1, outcomes=[]), NOW)
    told = tuple(
        this if this.type != "Progressing" else over.conditions[1] for this in writing.conditions
    )
    assert told != writing.conditions
    assert not is_urgent(writing, replace(writing, conditions=told))


def test_another_generation_cannot_wait() -> None:
    assert is_urgent(status(P), status(P, generation=2))


def test_a_forced_pass_is_noted_at_once() -> None:
    before = status(R)
    assert is_urgent(before, replace(before, last_full_reconcile_at=NOW + timedelta(minutes=10)))


@pytest.mark.parametrize(
    ("waited", "after", "delay"),
    [
        (timedelta(0), (P, R), timedelta(seconds=5)),
        (timedelta(seconds=2), (P, R), timedelta(seconds=3)),
        (timedelta(seconds=5), (P, R), None),
        (timedelta(days=700_000), (P, R), None),
        (timedelta(0), (R, R), None),
    ],
)
def test_what_can_wait_waits_for_the_rest_of_five_seconds(
    waited: timedelta, after: tuple[ResourceState, ...], delay: timedelta | None
) -> None:
    assert debounce_status(status(P, P), status(*after), waited) == delay


@pytest.mark.parametrize("ahead", [timedelta(microseconds=1), timedelta(days=365)])
def test_nothing_waits_for_a_clock_that_was_set_back(ahead: timedelta) -> None:
    assert debounce_status(status(P, P), status(P, R), -ahead) is None
