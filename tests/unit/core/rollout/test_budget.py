"""Who may be written now under maxSkew, and in which order."""

from collections.abc import Sequence

import pytest

from lynq.core.rollout.budget import Admission, admit
from lynq.core.rollout.facts import NodeFacts
from unit.core.rollout.nodes import NOON, PRESENT, at, ready, unready

OLD = PRESENT - 1


def admitted(pending: Sequence[str], nodes: Sequence[NodeFacts], max_skew: int) -> Admission:
    return admit(pending, nodes, generation=PRESENT, max_skew=max_skew, now=NOON)


@pytest.mark.parametrize(
    ("pending", "nodes", "max_skew", "go"),
    [
        pytest.param("cab", [], 2, "ab", id="new nodes are throttled too"),
        pytest.param("abc", [], 0, "abc", id="0 is no limit"),
        pytest.param(
            "ab", [ready("a", form=OLD), ready("b", form=OLD)], 1, "a", id="one of two updates"
        ),
        pytest.param("b", [unready("a"), ready("b")], 1, "", id="a node on its way has the slot"),
        pytest.param("b", [unready("a"), ready("b")], 2, "b", id="a slot is free"),
        pytest.param(
            "b", [ready("a", written=-1), ready("b")], 1, "", id="a write not yet acknowledged"
        ),
        pytest.param("ab", [unready("a"), ready("b")], 1, "a", id="repaired by its own row"),
        pytest.param(
            "ab",
            [unready("a", form=OLD), ready("b", form=OLD)],
            1,
            "a",
            id="repaired by a new form, before the others",
        ),
        pytest.param(
            "b",
            [unready("a", form=OLD), ready("b", form=OLD)],
            1,
            "",
            id="overtaken half way is still on its way",
        ),
        pytest.param(
            "abc",
            [unready(name, form=OLD) for name in "abc"],
            2,
            "ab",
            id="more broken than slots: so many at a time",
        ),
        pytest.param(
            "abc",
            [unready("a"), unready("b", form=OLD), unready("c", form=OLD)],
            1,
            "a",
            id="present generation never exceeds, but may be rewritten",
        ),
        pytest.param(
            "abc", [unready(name) for name in "abc"], 1, "abc", id="broken later: all repaired"
        ),
        pytest.param(
            "ab", [ready("a", form=OLD, paused=True), ready("b")], 1, "b", id="paused waits"
        ),
        pytest.param(
            "b", [unready("a", paused=True), ready("b")], 1, "b", id="paused blocks nobody"
        ),
        pytest.param("aa", [], 5, "a", id="asked twice"),
        pytest.param("", [unready("a")], 1, "", id="nothing to do"),
    ],
)
def test_who_goes_now(pending: str, nodes: list[NodeFacts], max_skew: int, go: str) -> None:
    admission = admitted([*pending], nodes, max_skew)
    assert "".join(admission.go) == go
    assert {*admission.go, *admission.wait} == {*pending}
    assert not {*admission.go} & {*admission.wait}


def test_turns_go_to_repairs_then_new_nodes_then_the_least_recently_written() -> None:
    nodes = [
        ready("recent", written=-10),
        ready("old", written=-9000, form=OLD),
        ready("middle", written=-500),
        unready("broken", written=-20),
    ]
    pending = ["recent", "old", "middle", "broken", "new-b", "new-a"]
    assert admitted(pending, nodes, 9).go == ("broken", "new-a", "new-b", "old", "middle", "recent")


def test_the_slots_held_are_told_for_the_event() -> None:
    admission = admitted(["c", "d"], [unready("a"), unready("b", form=OLD), ready("c")], 2)
    assert (admission.updating, admission.wait) == (2, ("d", "c"))


def test_a_slot_that_only_time_opens_is_looked_at_again() -> None:
    nodes = [ready("a", written=-1.5), ready("b", written=-1), unready("c")]
    assert admitted(["d"], nodes, 1).look_again == at(0.5)
    assert admitted(["d"], [unready("c")], 1).look_again is None
