"""Admission of writes under maxSkew, and its order."""

from collections.abc import Sequence

import pytest

from lynq.core.rollout.budget import Admission, admit
from lynq.core.rollout.facts import NodeFacts
from unit.core.rollout.nodes import CURRENT, NOON, at, ready, unready

OLD = CURRENT - 1


def admitted(pending: Sequence[str], nodes: Sequence[NodeFacts], max_skew: int) -> Admission:
    return admit(pending, nodes, generation=CURRENT, max_skew=max_skew, now=NOON)


@pytest.mark.parametrize(
    ("pending", "nodes", "max_skew", "expected"),
    [
        pytest.param("cab", [], 2, "ab", id="new nodes are throttled too"),
        pytest.param("abc", [], 0, "abc", id="0 means unlimited"),
        pytest.param(
            "ab", [ready("a", form=OLD), ready("b", form=OLD)], 1, "a", id="one of two updates"
        ),
        pytest.param("b", [unready("a"), ready("b")], 1, "", id="an unsettled node holds the slot"),
        pytest.param("b", [unready("a"), ready("b")], 2, "b", id="a slot is free"),
        pytest.param(
            "b", [ready("a", written=-1), ready("b")], 1, "", id="a write not yet acknowledged"
        ),
        pytest.param(
            "ab", [unready("a"), ready("b")], 1, "a", id="unsettled node is repaired by its row"
        ),
        pytest.param(
            "ab",
            [unready("a", form=OLD), ready("b", form=OLD)],
            1,
            "a",
            id="unsettled node is repaired by a new form first",
        ),
        pytest.param(
            "b",
            [unready("a", form=OLD), ready("b", form=OLD)],
            1,
            "",
            id="unsettled on an old generation holds the slot",
        ),
        pytest.param(
            "abc",
            [unready(name, form=OLD) for name in "abc"],
            2,
            "ab",
            id="more broken nodes than slots",
        ),
        pytest.param(
            "abc",
            [unready("a"), unready("b", form=OLD), unready("c", form=OLD)],
            1,
            "a",
            id="holder on the current generation is rewritten",
        ),
        pytest.param(
            "abc",
            [unready(name) for name in "abc"],
            1,
            "abc",
            id="all broken on the current generation",
        ),
        pytest.param(
            "ab", [ready("a", form=OLD, paused=True), ready("b")], 1, "b", id="paused waits"
        ),
        pytest.param(
            "b", [unready("a", paused=True), ready("b")], 1, "b", id="paused holds no slot"
        ),
        pytest.param("aa", [], 5, "a", id="duplicate name"),
        pytest.param("", [unready("a")], 1, "", id="nothing pending"),
    ],
)
def test_admitted_nodes(pending: str, nodes: list[NodeFacts], max_skew: int, expected: str) -> None:
    admission = admitted([*pending], nodes, max_skew)
    assert "".join(admission.admitted) == expected
    assert {*admission.admitted, *admission.waiting} == {*pending}
    assert not {*admission.admitted} & {*admission.waiting}


def test_order_is_holders_then_new_nodes_then_least_recently_written() -> None:
    nodes = [
        ready("recent", written=-10),
        ready("old", written=-9000, form=OLD),
        ready("middle", written=-500),
        unready("broken", written=-20),
    ]
    pending = ["recent", "old", "middle", "broken", "new-b", "new-a"]
    assert admitted(pending, nodes, 9).admitted == (
        "broken",
        "new-a",
        "new-b",
        "old",
        "middle",
        "recent",
    )


def test_held_slots_are_counted() -> None:
    admission = admitted(["c", "d"], [unready("a"), unready("b", form=OLD), ready("c")], 2)
    assert (admission.updating, admission.waiting) == (2, ("d", "c"))


def test_recheck_when_grace_ends() -> None:
    nodes = [ready("a", written=-1.5), ready("b", written=-1), unready("c")]
    assert admitted(["d"], nodes, 1).recheck_at == at(0.5)
    assert admitted(["d"], [unready("c")], 1).recheck_at is None
