"""Whether a node has settled after a write."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from lynq.api import LynqNode, Metadata, NodeSpec, NodeStatus
from lynq.core.rollout.facts import GRACE, Budget, NodeFacts, facts_of
from unit.core.hub.fixtures import readiness
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


@pytest.mark.parametrize(
    ("node", "waits"),
    [
        pytest.param(
            replace(SETTLED, workloads_ready=False), True, id="Ready before its workloads"
        ),
        pytest.param(SETTLED, False, id="settled"),
        pytest.param(replace(SETTLED, generation=4), False, id="only its status lags"),
        pytest.param(unready("a"), False, id="a change of its status follows"),
        pytest.param(replace(SETTLED, workloads_ready=False, paused=True), False, id="paused"),
    ],
)
def test_node_waits_for_workloads_that_its_status_does_not_report(
    node: NodeFacts, *, waits: bool
) -> None:
    assert node.waits_for_workloads(NOON) is waits


@pytest.mark.parametrize(
    ("node", "settled"),
    [
        pytest.param(ready("a", written=-60, since=-50), at(-50), id="ready after the write"),
        pytest.param(ready("a", written=-60, since=-90), at(-60), id="ready throughout"),
        pytest.param(replace(SETTLED, written_at=None), at(-90), id="no timestamp"),
        pytest.param(replace(SETTLED, written_at=None, ready_changed_at=None), None, id="unknown"),
    ],
)
def test_settled_at_the_later_of_write_and_readiness(
    node: NodeFacts, settled: datetime | None
) -> None:
    assert node.settled_at() == settled


@pytest.mark.parametrize(
    ("annotations", "status", "facts"),
    [
        pytest.param({}, NodeStatus(), {}, id="new"),
        pytest.param(
            {"lynq.sh/rollout-budget": "Row", "lynq.sh/paused": "true"},
            NodeStatus(failed_resources=1),
            {"budget": Budget.ROW, "failed": True, "paused": True},
            id="failed",
        ),
        pytest.param(
            {"lynq.sh/rollout-budget": "x", "lynq.sh/template-generation": "7"},
            NodeStatus(conditions=(readiness(ready=True),)),
            {"form_generation": 7, "ready": True, "ready_changed_at": NOON},
            id="ready",
        ),
        pytest.param(
            {"lynq.sh/rollout-update-start": "2026-01-01T12:00:05Z"},
            NodeStatus(
                conditions=(readiness(ready=False),),
                observed_generation=2,
                observed_update_start="2026-01-01T12:00:03Z",
                settled_update_start="2026-01-01T12:00:01Z",
            ),
            {
                "written_at": at(5),
                "observed_generation": 2,
                "observed_write": at(3),
                "settled_write": at(1),
                "ready_changed_at": NOON,
            },
            id="written since",
        ),
    ],
)
def test_facts_are_those_of_metadata_and_status(
    annotations: dict[str, str], status: NodeStatus, facts: dict[str, Any]
) -> None:
    metadata = Metadata(name="a", generation=3, annotations=annotations)
    spec = NodeSpec(uid="a", template_ref="web")
    node = LynqNode(metadata=metadata, spec=spec, status=status)
    unknown = NodeFacts(
        name="a",
        form_generation=None,
        written_at=None,
        generation=3,
        observed_generation=0,
        ready=False,
        ready_changed_at=None,
        workloads_ready=True,
    )
    assert facts_of(node, workloads_ready=True) == replace(unknown, **facts)
