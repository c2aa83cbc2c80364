"""When a node has settled after a write."""

from dataclasses import replace
from datetime import datetime

import pytest

from lynq.core.rollout.facts import GRACE, NodeFacts
from unit.core.rollout.nodes import NOON, at, ready, unready

SETTLED = ready("a")


@pytest.mark.parametrize(
    ("node", "settled"),
    [
        pytest.param(SETTLED, True, id="ready and observed"),
        pytest.param(replace(SETTLED, form_generation=1), True, id="on whichever generation"),
        pytest.param(replace(SETTLED, ready=False), False, id="not ready"),
        pytest.param(replace(SETTLED, generation=4), False, id="not observed yet"),
        pytest.param(replace(SETTLED, workloads_ready=False), False, id="a workload is behind"),
        pytest.param(replace(SETTLED, written_at=None), True, id="never stamped"),
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
def test_a_node_has_settled_when_it_is_ready_with_what_was_last_written(
    node: NodeFacts,
    settled: bool,  # noqa: FBT001
) -> None:
    assert node.has_settled(NOON) is settled
    assert node.holds_slot(NOON) is not settled


def test_a_paused_node_holds_no_slot() -> None:
    assert not unready("a", paused=True).holds_slot(NOON)


@pytest.mark.parametrize(
    ("node", "ends"),
    [
        pytest.param(ready("a", written=-1), at(-1) + GRACE, id="written just now"),
        pytest.param(ready("a"), None, id="long over"),
        pytest.param(replace(ready("a", written=0), observed_write=at(-9)), None, id="told"),
        pytest.param(replace(ready("a"), written_at=None), None, id="never stamped"),
    ],
)
def test_the_grace_ends_by_the_clock(node: NodeFacts, ends: datetime | None) -> None:
    assert node.grace_ends(NOON) == ends


@pytest.mark.parametrize(
    ("node", "since"),
    [
        pytest.param(unready("a", written=-60, since=-50), at(-50), id="fell behind its write"),
        pytest.param(unready("a", written=-60, since=-900), at(-60), id="written while broken"),
        pytest.param(unready("a", written=-9999, since=-5), at(-5), id="broke long after"),
        pytest.param(ready("a", written=-60, since=-5), at(-60), id="still shown as ready"),
        pytest.param(
            replace(unready("a"), written_at=None, ready_changed_at=None), None, id="unknown"
        ),
    ],
)
def test_a_node_is_on_its_way_since_it_was_written_or_broke(
    node: NodeFacts, since: datetime | None
) -> None:
    assert node.on_its_way_since() == since
