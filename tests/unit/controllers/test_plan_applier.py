"""The turns in which the writes of a plan are sent."""

from types import SimpleNamespace
from typing import Any

from lynq.api import LynqHub
from lynq.controllers.hub.apply import PlanApplier
from lynq.controllers.hub.state import HubState
from lynq.controllers.timing import Timing
from lynq.core.hub.plan import FormCandidate, PlanInputs, plan_hub
from lynq.core.hub.state import PlanExecution
from lynq.core.hub.write_window import MAX_WINDOW
from lynq.kube.errors import ConnectionFailed
from unit.core.hub.fixtures import NOON, WEB, a_hub, rows

UIDS = [f"t{number:04}" for number in range(1000)]


class Cache:
    """A cache that has one hub, and counts how often it is read."""

    def __init__(self, hub: LynqHub | None) -> None:
        self.hub = hub
        self.reads = 0

    def get(self, _: object) -> LynqHub | None:
        self.reads += 1
        return self.hub


class Nodes:
    """An API server that is down."""

    def exists(self, _: object) -> bool:
        return False

    async def create(self, _: object) -> None:
        raise ConnectionFailed("down")


async def applied(hub: LynqHub | None, turn: float) -> tuple[PlanExecution, Cache]:
    """Apply the plan of a thousand new rows for one turn."""
    inputs = PlanInputs(hub=a_hub(), forms=[FormCandidate(WEB)], rows=rows(*UIDS), nodes=())
    execution = PlanExecution.of(a_hub(), plan_hub(inputs, NOON), NOON)
    cache = Cache(hub)
    context: Any = SimpleNamespace(
        hubs=cache, nodes=Nodes(), timing=Timing(hub_write_turn=turn), options=None
    )
    emitter: Any = None
    await PlanApplier(context, emitter).apply(execution, HubState("hub-uid"))
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
