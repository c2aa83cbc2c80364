"""The order of a rollout under maxSkew."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import Rollout
from lynq.core.rollout.budget import admit
from lynq.core.rollout.facts import Budget, NodeFacts
from lynq.core.rollout.waves import RolloutOrder, rollout_order
from unit.core.rollout.nodes import CURRENT, NOON, ready, unready

OLD = CURRENT - 1


def order(pending: Collection[str], nodes: Sequence[NodeFacts], max_skew: int) -> RolloutOrder:
    rollout = Rollout(max_skew=max_skew)
    return rollout_order(pending, nodes, generation=CURRENT, rollout=rollout, now=NOON)


@pytest.mark.parametrize(
    ("pending", "nodes", "max_skew", "expected"),
    [
        pytest.param("", [], 1, ([], "", ""), id="nothing to write"),
        pytest.param("abc", [], 0, (["abc"], "", ""), id="without a limit"),
        pytest.param(
            "abcde",
            [ready(name, form=OLD, written=-ord(name)) for name in "abcde"],
            2,
            (["ed", "cb", "a"], "", ""),
            id="least recently written first",
        ),
        pytest.param(
            "abxy",
            [ready("a", form=OLD), ready("b", form=OLD)],
            1,
            (["xa", "yb"], "", ""),
            id="new nodes beside the rollout",
        ),
        pytest.param(
            "bc",
            [unready("a"), ready("b", form=OLD), ready("c", form=OLD)],
            1,
            ([], "bc", "a"),
            id="a node that the last form broke holds the slot",
        ),
        pytest.param(
            "bc",
            [unready("a"), ready("b", form=OLD), ready("c", form=OLD)],
            2,
            (["b", "c"], "", ""),
            id="one of two slots is held",
        ),
        pytest.param(
            "abc",
            [unready("a", form=OLD), ready("b", form=OLD), ready("c", form=OLD)],
            1,
            (["a", "b", "c"], "", ""),
            id="a node that is repaired releases its slot",
        ),
        pytest.param(
            "bx",
            [unready("a"), ready("b", form=OLD), unready("z", budget=Budget.ROW)],
            1,
            ([], "bx", "az"),
            id="nodes that wait for the form are named before those of rows",
        ),
        pytest.param(
            "ab",
            [ready("a", form=OLD, paused=True), ready("b", form=OLD)],
            1,
            (["b"], "", ""),
            id="a paused node is not written",
        ),
    ],
)
def test_order_of_writes(
    pending: str, nodes: list[NodeFacts], max_skew: int, expected: tuple[list[str], str, str]
) -> None:
    waves, waiting, holders = expected
    result = RolloutOrder(tuple(map(tuple, waves)), tuple(waiting), tuple(holders))
    assert order(pending, nodes, max_skew) == result


FACTS = st.builds(
    lambda is_ready, form, written, budget, failed: (
        ready("", form=form, written=written)
        if is_ready
        else unready("", form=form, written=written, budget=budget, failed=failed)
    ),
    st.booleans(),
    st.sampled_from([OLD - 1, OLD, CURRENT]),
    st.integers(-900, 0),
    st.sampled_from([None, *Budget]),
    st.booleans(),
)


@given(
    st.lists(FACTS, max_size=8).map(
        lambda nodes: [replace(node, name=f"n{at}") for at, node in enumerate(nodes)]
    ),
    st.sets(st.sampled_from([*(f"n{at}" for at in range(8)), "new-a", "new-b", "new-c"])),
    st.integers(1, 4),
)
def test_order_is_that_of_repeated_admissions(
    nodes: list[NodeFacts], pending: set[str], max_skew: int
) -> None:
    rollout = Rollout(max_skew=max_skew)
    left, existing, waves = set(pending), list(nodes), []
    while True:
        admission = admit(left, existing, generation=CURRENT, rollout=rollout, now=NOON)
        if not admission.admitted:
            break
        waves.append({*admission.admitted})
        left -= waves[-1]
        existing = [node for node in existing if node.name not in waves[-1]]
    result = order(pending, nodes, max_skew)
    assert [{*wave} for wave in result.waves] == waves
    assert {*result.waiting} == left


def test_order_of_a_large_form_is_quick() -> None:
    nodes = [ready(f"n{at:05}", form=OLD) for at in range(2_000)]
    result = order([node.name for node in nodes], nodes, 1)
    assert len(result.waves) == 2_000
