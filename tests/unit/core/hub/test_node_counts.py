"""Incremental counts of nodes."""

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lynq.api import LynqNode, NodeStatus
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.node_counts import NodeCounts, NodeHealth, health_of
from lynq.core.hub.row_values import RowValues
from unit.core.hub.fixtures import NOON, ARow, a_form, a_hub, readiness

FORMS = ("web", "db")
UIDS = ("a", "b", "c")


def a_node(uid: str, form: str, ready: bool | None, *, deleting: bool = False) -> LynqNode:  # noqa: FBT001
    node = DesiredNode(a_hub(), a_form(form), RowValues.of(ARow(uid))).new(NOON)
    conditions = () if ready is None else (readiness(ready=ready),)
    metadata = replace(node.metadata, deletion_timestamp=NOON if deleting else None)
    return replace(node, metadata=metadata, status=NodeStatus(conditions=conditions))


NODES = st.builds(
    a_node,
    st.sampled_from(UIDS),
    st.sampled_from(FORMS),
    st.sampled_from([True, False, None]),
    deleting=st.booleans(),
)
STEPS = st.lists(NODES | st.sampled_from([f"{uid}-{form}" for uid in UIDS for form in FORMS]))


@given(STEPS)
def test_counts_equal_a_full_recount(steps: Sequence[LynqNode | str]) -> None:
    counts, model = NodeCounts(), dict[str, LynqNode]()
    for step in steps:
        if isinstance(step, str):
            counts.remove(step)
            model.pop(step, None)
        else:
            counts.put(step)
            model[step.metadata.name] = step
    counted = [node for node in model.values() if node.metadata.deletion_timestamp is None]
    assert counts.count() == len(counted)
    for health in NodeHealth:
        assert counts.count(health) == sum(health_of(node) is health for node in counted)
    for name in model:
        expected = health_of(model[name]) if model[name] in counted else None
        assert counts.health(name) is expected


@given(st.lists(NODES))
def test_counting_is_idempotent(nodes: list[LynqNode]) -> None:
    once, twice = NodeCounts(), NodeCounts()
    for node in nodes:
        once.put(node)
        twice.put(node)
        twice.put(node)
    assert once.count() == twice.count()


def test_node_without_ready_condition_is_neither_ready_nor_failed() -> None:
    counts = NodeCounts()
    counts.put(a_node("a", "web", None))
    assert (counts.count(), counts.count(NodeHealth.READY), counts.count(NodeHealth.FAILED)) == (
        1,
        0,
        0,
    )


def test_oldest_row_that_is_not_ready() -> None:
    counts = NodeCounts()
    assert counts.unready_since() is None
    counts.put(a_node("a", "web", ready=True))
    assert counts.unready_since() is None
    counts.put(a_node("b", "web", ready=None))
    assert counts.unready_since() == NOON
    earlier = NOON - timedelta(minutes=1)
    assert counts.unready_since([earlier]) == earlier
    counts.put(a_node("b", "web", ready=True))
    assert counts.unready_since() is None
    counts.put(a_node("c", "web", ready=False, deleting=True))
    assert counts.unready_since() is None
