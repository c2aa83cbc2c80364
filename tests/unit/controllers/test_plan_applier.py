"""The turns in which the writes of a plan are sent."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from lynq.api import LynqHub, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.controllers.hub.apply import PlanApplier
from lynq.controllers.hub.state import HubState
from lynq.controllers.options import Options
from lynq.controllers.timing import Timing
from lynq.core.hub.plan import FormCandidate, PlanInputs, plan_hub
from lynq.core.hub.state import PlanExecution, ReadRows, UserRequests
from lynq.core.hub.write_window import MAX_WINDOW
from lynq.kube.errors import ConnectionFailed
from unit.core.hub.fixtures import NOON, WEB, a_hub, rows

WORKERS = 5
UIDS = [f"t{number:04}" for number in range(1000)]


class Cache:
    """A cache that has one hub, and counts how often it is read."""

    def __init__(self, hub: LynqHub | None) -> None:
        self.hub = hub
        self.reads = 0

    def get(self, _: object) -> LynqHub | None:
        self.reads += 1
        return self.hub


class DownNodes:
    """An API server that is down."""

    def exists(self, _: object) -> bool:
        return False

    async def create(self, _: object) -> None:
        raise ConnectionFailed("down")


class Nodes:
    """An API server that creates nodes, and the queue in which they wait for their reconcile."""

    def __init__(self, *, reconciles: bool = False) -> None:
        self.created: list[str] = []
        self.largest_backlog = 0
        self._nodes: dict[ObjectKey, LynqNode] = {}
        self._waiting = 0
        self._reconciles = reconciles

    def exists(self, _: object) -> bool:
        return False

    def get(self, key: ObjectKey) -> LynqNode | None:
        return self._nodes.get(key)

    async def create(self, node: LynqNode) -> LynqNode:
        await asyncio.sleep(0)
        self.created.append(node.metadata.name)
        self._nodes[node.metadata.key] = node
        self._waiting += 1
        self.largest_backlog = max(self.largest_backlog, self._waiting)
        return node

    def backlog(self, _: ObjectKey) -> int:
        """Return the number of nodes that wait; one is reconciled between two questions."""
        if self._reconciles and self._waiting:
            self._waiting -= 1
        return self._waiting


def an_execution() -> PlanExecution:
    """Return the execution of the plan of a thousand new rows."""
    inputs = PlanInputs(hub=a_hub(), forms=[FormCandidate(WEB)], rows=rows(*UIDS), nodes=())
    return PlanExecution.of(a_hub(), plan_hub(inputs, NOON), NOON)


def an_applier(
    hubs: Cache, nodes: object, turn: float, backlog: Callable[[ObjectKey], int] = lambda _: 0
) -> PlanApplier:
    context: Any = SimpleNamespace(
        hubs=hubs,
        nodes=nodes,
        timing=Timing(hub_write_turn=turn),
        options=Options(node_workers=WORKERS),
        clock=lambda: NOON,
    )
    emitter: Any = None
    return PlanApplier(context, emitter, backlog)


def a_synced_state() -> HubState:
    """Return the state of a hub that has planned with the rows of its last read."""
    state = HubState("hub-uid")
    state.read.requests = UserRequests.of(a_hub())
    state.read.rows = state.plan.rows = ReadRows((), "identity", NOON, state.read.requests)
    return state


async def applied(hub: LynqHub | None, turn: float) -> tuple[PlanExecution, Cache]:
    """Apply the plan of a thousand new rows for one turn, to an API server that is down."""
    execution, cache = an_execution(), Cache(hub)
    await an_applier(cache, DownNodes(), turn).apply(execution, a_synced_state())
    return execution, cache


async def test_turn_that_is_over_leaves_the_rest_alone() -> None:
    execution, cache = await applied(a_hub(), turn=0)
    assert execution.remaining == list(execution.plan.creates)
    assert execution.result.is_complete
    assert cache.reads == 0


async def test_rest_of_an_outdated_plan_is_dropped() -> None:
    execution, cache = await applied(None, turn=60)
    assert execution.remaining == []
    assert execution.result.stopped
    assert cache.reads < MAX_WINDOW


async def test_rest_of_a_plan_fails_during_an_outage() -> None:
    execution, _ = await applied(a_hub(), turn=60)
    assert execution.remaining == []
    assert execution.result.failed == len(UIDS)
    assert execution.result.is_outage


async def test_nodes_are_written_no_faster_than_they_are_reconciled() -> None:
    nodes = Nodes(reconciles=True)
    execution = an_execution()
    applier = an_applier(Cache(a_hub()), nodes, 60, nodes.backlog)
    await applier.apply(execution, a_synced_state())
    assert len(nodes.created) == len(UIDS)
    assert nodes.largest_backlog <= 2 * WORKERS


async def test_turn_ends_while_no_node_is_reconciled() -> None:
    nodes = Nodes()
    execution = an_execution()
    applier = an_applier(Cache(a_hub()), nodes, 0.2, nodes.backlog)
    await applier.apply(execution, a_synced_state())
    assert len(nodes.created) == 2 * WORKERS
    assert len(execution.remaining) == len(UIDS) - 2 * WORKERS
    assert execution.result.is_complete


async def test_turn_ends_when_new_rows_were_read() -> None:
    nodes, state = Nodes(), a_synced_state()
    requests = UserRequests.of(a_hub())

    def backlog(_: ObjectKey) -> int:
        if len(nodes.created) >= 100:
            state.read.rows = ReadRows((), "identity", NOON, requests)
            state.plan.requested = True
        return 0

    execution = an_execution()
    await an_applier(Cache(a_hub()), nodes, 60, backlog).apply(execution, state)
    assert 100 <= len(nodes.created) < 100 + 2 * MAX_WINDOW
    assert [write.name for write in execution.remaining] == [
        write.name for write in execution.plan.creates if write.name not in nodes.created
    ]


async def test_request_that_was_withdrawn_does_not_interrupt_the_writes() -> None:
    """The plan of a hub with an approval is carried out after the annotation was removed."""
    approved = a_hub(annotations={"lynq.sh/approve-deletion": "0123456789abcdef"})
    inputs = PlanInputs(hub=approved, forms=[FormCandidate(WEB)], rows=rows(*UIDS), nodes=())
    execution = PlanExecution.of(approved, plan_hub(inputs, NOON), NOON)
    nodes = Nodes()
    await an_applier(Cache(a_hub()), nodes, 60).apply(execution, a_synced_state())
    assert len(nodes.created) == len(UIDS)
