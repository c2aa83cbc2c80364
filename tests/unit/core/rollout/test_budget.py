"""Admission of writes under maxSkew, and its order."""

from collections.abc import Sequence

import pytest

from lynq.api import Rollout
from lynq.core.rollout.budget import Admission, admit
from lynq.core.rollout.facts import Budget, NodeFacts
from unit.core.rollout.nodes import CURRENT, NOON, at, ready, unready

OLD = CURRENT - 1


def admitted(pending: Sequence[str], nodes: Sequence[NodeFacts], max_skew: int) -> Admission:
    rollout = Rollout(max_skew=max_skew)
    return admit(pending, nodes, generation=CURRENT, rollout=rollout, now=NOON)


def broken(name: str, *, form: int = CURRENT) -> NodeFacts:
    """Return a node that its row broke: it holds no slot any more."""
    return unready(name, form=form, budget=Budget.ROW, written=-9999)


@pytest.mark.parametrize(
    ("pending", "nodes", "max_skew", "expected"),
    [
        pytest.param("cab", [], 2, "ab", id="new nodes are throttled too"),
        pytest.param("abc", [], 0, "abc", id="0 means unlimited"),
        pytest.param(
            "ab", [ready("a", form=OLD), ready("b", form=OLD)], 1, "a", id="one of two updates"
        ),
        pytest.param(
            "b", [unready("a"), ready("b", form=OLD)], 1, "", id="an unsettled node holds the slot"
        ),
        pytest.param("b", [unready("a"), ready("b", form=OLD)], 2, "b", id="a slot is free"),
        pytest.param(
            "b",
            [ready("a", written=-1), ready("b", form=OLD)],
            1,
            "",
            id="a write not yet acknowledged",
        ),
        pytest.param(
            "bc", [unready("a"), ready("b")], 1, "c", id="a stuck rollout does not stop new rows"
        ),
        pytest.param("b", [unready("a"), ready("b")], 1, "b", id="nor changes of rows"),
        pytest.param(
            "b",
            [unready("a", budget=Budget.ROW), ready("b", form=OLD)],
            1,
            "b",
            id="a row in progress does not stop the rollout",
        ),
        pytest.param(
            "b",
            [unready("a", budget=Budget.ROW), ready("b")],
            1,
            "",
            id="a row in progress holds a slot of the rows",
        ),
        pytest.param("bcd", [broken("a"), ready("b")], 1, "c", id="a broken row stops no other"),
        pytest.param(
            "a", [broken("a"), unready("b", budget=Budget.ROW)], 1, "a", id="and is repaired"
        ),
        pytest.param(
            "ab",
            [broken("a", form=OLD), ready("b", form=OLD)],
            1,
            "ab",
            id="a form is rolled out past it",
        ),
        pytest.param(
            "ab",
            [broken("a", form=OLD), broken("b", form=OLD)],
            1,
            "a",
            id="broken nodes get a new form one at a time",
        ),
        pytest.param(
            "a", [unready("a"), unready("b")], 1, "a", id="unsettled node is repaired by its row"
        ),
        pytest.param(
            "ab",
            [unready("a", form=OLD), ready("b", form=OLD)],
            1,
            "a",
            id="unsettled node gets a new form first",
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
        pytest.param(
            "b",
            [unready("a", budget=Budget.ROW), unready("b", form=OLD)],
            1,
            "b",
            id="a row's slot on the current generation does not stop a holder's next write",
        ),
        pytest.param(
            "ab",
            [unready("a"), unready("b", form=OLD)],
            2,
            "ab",
            id="a holder's write on the current generation takes no further slot",
        ),
        pytest.param(
            "ab",
            [unready("a", form=OLD, budget=Budget.ROW), unready("b", form=OLD)],
            1,
            "ab",
            id="nor does a write for a row",
        ),
        pytest.param(
            "b",
            [unready("a"), unready("b", form=OLD, budget=Budget.ROW)],
            1,
            "b",
            id="a rollout does not stop the holder of a row's slot",
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
    assert tuple(admitted(pending, nodes, 9).admitted) == (
        "broken",
        "new-a",
        "new-b",
        "old",
        "middle",
        "recent",
    )


def test_held_slots_are_counted() -> None:
    nodes = [unready("a"), unready("b", form=OLD), ready("c", form=OLD), ready("d", form=OLD)]
    admission = admitted(["c", "d"], nodes, 2)
    assert (admission.updating, tuple(admission.waiting)) == (2, ("c", "d"))


def test_write_records_its_budget() -> None:
    nodes = [
        ready("form", form=OLD),
        ready("row"),
        unready("stuck"),
        broken("broken", form=OLD),
    ]
    pending = ["form", "row", "stuck", "broken", "new"]
    assert admitted(pending, nodes, 9).admitted == {
        "form": Budget.FORM,
        "row": Budget.ROW,
        "stuck": Budget.FORM,
        "broken": Budget.ROW,
        "new": Budget.ROW,
    }


def test_recheck_when_slot_of_a_row_ends() -> None:
    assert admitted(["c"], [unready("a", budget=Budget.ROW)], 1).recheck_at == at(500)


def test_recheck_when_grace_ends() -> None:
    nodes = [ready("a", written=-1.5), ready("b", written=-1), unready("c")]
    assert admitted(["d"], nodes, 1).recheck_at == at(0.5)
    assert admitted(["d"], [unready("c")], 1).recheck_at is None
