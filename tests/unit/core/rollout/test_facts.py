"""Whether a node has settled after a write."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lynq.core.rollout.facts import GRACE, Budget, NodeFacts
from unit.core.rollout.nodes import CURRENT, NOON, at, ready, unready

SETTLED = ready("a")


@pytest.mark.parametrize(
    ("node", "settled"),
    [
        pytest.param(SETTLED, True, id="ready and observed"),
        pytest.param(replace(SETTLED, form_generation=1), True, id="on any generation"),
        pytest.param(replace(SETTLED, ready=False), False, id="not ready"),
        pytest.param(replace(SETTLED, generation=4), False, id="not observed yet"),
        pytest.param(replace(SETTLED, workloads_ready=False), False, id="a workload is not ready"),
        pytest.param(replace(SETTLED, written_at=None), True, id="no timestamp"),
        pytest.param(replace(SETTLED, written_at=at(-1.9)), False, id="written just now"),
        pytest.param(replace(SETTLED, written_at=at(-2)), True, id="written two seconds ago"),
        pytest.param(replace(SETTLED, written_at=at(1)), False, id="clock a little ahead"),
        pytest.param(replace(SETTLED, written_at=at(9999)), True, id="clock wrong"),
        pytest.param(
            replace(SETTLED, written_at=NOON, observed_write=NOON), True, id="acknowledged at once"
        ),
        pytest.param(
            replace(SETTLED, observed_write=at(-300)), False, id="an older write acknowledged"
        ),
    ],
)
def test_node_has_settled_when_ready_with_last_write(
    node: NodeFacts,
    settled: bool,  # noqa: FBT001
) -> None:
    assert node.has_settled(NOON) is settled
    assert node.is_unsettled(NOON) is not settled


ALLOWED = timedelta(seconds=600)


def acknowledged(node: NodeFacts) -> NodeFacts:
    return replace(node, observed_write=node.written_at)


@pytest.mark.parametrize(
    ("node", "slot"),
    [
        pytest.param(SETTLED, None, id="settled"),
        pytest.param(unready("a", paused=True), None, id="paused"),
        pytest.param(unready("a"), Budget.FORM, id="written by a form change"),
        pytest.param(unready("a", form=1), Budget.FORM, id="of an older generation"),
        pytest.param(unready("a", written=-9999), Budget.FORM, id="past the deadline"),
        pytest.param(acknowledged(unready("a", failed=True)), Budget.FORM, id="broken by the form"),
        pytest.param(unready("a", settled=-100), None, id="was ready with its last write"),
        pytest.param(unready("a", settled=-101), Budget.FORM, id="was ready with an older write"),
        pytest.param(unready("a", budget=Budget.ROW), Budget.ROW, id="written for its row"),
        pytest.param(
            unready("a", budget=Budget.ROW, written=-600), None, id="row not ready at the deadline"
        ),
        pytest.param(
            unready("a", budget=Budget.ROW, written=-599), Budget.ROW, id="before the deadline"
        ),
        pytest.param(
            acknowledged(unready("a", budget=Budget.ROW, failed=True)),
            None,
            id="broken by its row",
        ),
        pytest.param(
            replace(unready("a", budget=Budget.ROW, failed=True), observed_write=at(-300)),
            Budget.ROW,
            id="broken before the write",
        ),
        pytest.param(unready("a", budget=None), Budget.FORM, id="unknown, current generation"),
        pytest.param(unready("a", budget=None, form=1), Budget.ROW, id="unknown, older one"),
        pytest.param(
            replace(unready("a", budget=Budget.ROW), written_at=None), Budget.ROW, id="no timestamp"
        ),
    ],
)
def test_slot_of_a_node(node: NodeFacts, slot: Budget | None) -> None:
    assert node.slot(CURRENT, ALLOWED, NOON) is slot


@pytest.mark.parametrize(
    ("node", "ends"),
    [
        pytest.param(ready("a", written=-1), at(-1) + GRACE, id="written just now"),
        pytest.param(ready("a"), None, id="written long ago"),
        pytest.param(
            replace(ready("a", written=0), observed_write=at(-9)),
            None,
            id="acknowledged another write",
        ),
        pytest.param(replace(ready("a"), written_at=None), None, id="no timestamp"),
    ],
)
def test_end_of_grace(node: NodeFacts, ends: datetime | None) -> None:
    assert node.grace_ends(NOON) == ends


@pytest.mark.parametrize(
    ("node", "since"),
    [
        pytest.param(unready("a", written=-60, since=-50), at(-50), id="not ready after write"),
        pytest.param(unready("a", written=-60, since=-900), at(-60), id="written while not ready"),
        pytest.param(
            unready("a", written=-9999, since=-5), at(-5), id="not ready long after write"
        ),
        pytest.param(ready("a", written=-60, since=-5), at(-60), id="still reported ready"),
        pytest.param(
            replace(unready("a"), written_at=None, ready_changed_at=None), None, id="unknown"
        ),
    ],
)
def test_unsettled_since_write_or_loss_of_readiness(
    node: NodeFacts, since: datetime | None
) -> None:
    assert node.unsettled_since() == since
