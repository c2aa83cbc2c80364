"""The renders of one plan: their sum, their failures, their cancellation."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api.naming import NodePair
from lynq.core.hub.render_budget import (
    NODE_SECONDS,
    PLAN_SECONDS,
    PlanCanceled,
    RenderBudget,
    RenderKey,
)
from lynq.core.hub.row_values import RenderFailure, RowRenderError

PAIR = NodePair("acme", "web")


def key(uid: str = "acme", generation: int = 1) -> RenderKey:
    return RenderKey("form-uid", generation, uid, 0)


def failing(*, hit_limit: bool) -> Callable[[], str]:
    def render() -> str:
        failure = RenderFailure(PAIR, "a", "nameTemplate", 1, "", "no", hit_limit=hit_limit)
        raise RowRenderError(failure)

    return render


@dataclass
class Clock:
    """CPU time that passes only while something is rendered."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def take(self, seconds: float) -> Callable[[], str]:
        def render() -> str:
            self.now += seconds
            return "rendered"

        return render


@given(
    nodes=st.dictionaries(st.text("abc", min_size=1), st.integers(0, 50), min_size=1, max_size=5),
    slow=st.floats(0.01, 0.3),
)
def test_renders_of_a_plan_take_no_longer_than_its_budget(
    nodes: dict[str, int], slow: float
) -> None:
    clock = Clock()
    budget = RenderBudget(clock=clock)
    for renders, count in zip(budget.share(nodes), nodes.values(), strict=True):
        for number in range(count):
            with suppress(RowRenderError):
                renders.run(key(f"t{number}"), PAIR, clock.take(slow))
    # The render that exceeds the budget is finished.
    assert clock.now <= PLAN_SECONDS + sum(nodes.values()) * NODE_SECONDS + slow + 1e-6


def test_slow_form_leaves_the_share_of_the_next_form() -> None:
    clock = Clock()
    slow, fine = RenderBudget(clock=clock).share({"a": 100, "b": 100})
    failures = 0
    for number in range(100):
        try:
            slow.run(key(f"t{number}"), PAIR, clock.take(0.1))
        except RowRenderError:
            failures += 1
    assert failures > 90
    for number in range(100):
        assert fine.run(key(f"u{number}"), PAIR, clock.take(0.001)) == "rendered"


def test_render_that_hit_a_limit_is_not_repeated_in_the_next_plan() -> None:
    first = RenderBudget()
    [renders] = first.share({"web": 1})
    with pytest.raises(RowRenderError):
        renders.run(key(), PAIR, failing(hit_limit=True))
    second = RenderBudget(known_failures=first.failures)
    [renders] = second.share({"web": 1})
    with pytest.raises(RowRenderError):
        renders.run(key(), PAIR, lambda: "rendered")
    assert second.failures == first.failures
    assert renders.run(key(generation=2), PAIR, lambda: "rendered") == "rendered"


def test_render_that_failed_otherwise_is_repeated() -> None:
    budget = RenderBudget()
    [renders] = budget.share({"web": 1})
    with pytest.raises(RowRenderError):
        renders.run(key(), PAIR, failing(hit_limit=False))
    assert budget.failures == {}


def test_canceled_plan_renders_nothing() -> None:
    [renders] = RenderBudget(is_canceled=lambda: True).share({"web": 1})
    with pytest.raises(PlanCanceled):
        renders.run(key(), PAIR, lambda: "rendered")
