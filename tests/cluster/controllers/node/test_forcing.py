"""Writing everything, changed or not: by the clock, and when a person asks for it."""

from datetime import datetime, timedelta

from cluster.controllers.node.making import (
    NODE,
    becomes,
    edit,
    entry,
    make_node,
    mark,
    plan_is,
    writes,
)
from cluster.controllers.operating import node_is_ready, node_of, operating
from cluster.controllers.stage import NODES, Object, Stage
from waiting import eventually


def last_full(node: Object) -> datetime:
    return datetime.fromisoformat(node["status"]["lastFullReconcileAt"])


async def test_everything_is_written_again_after_the_interval(stage: Stage) -> None:
    async with operating(stage, force_reapply_interval=timedelta(seconds=3)):
        await make_node(stage, entry("settings"), entry("once", creationPolicy="Once"))
        node = await node_is_ready(stage, NODE)
        baseline = last_full(node)
        stage.traffic.sent.clear()
        await eventually(lambda: writes(stage, "settings") == ["apply"])
        assert (datetime.now(baseline.tzinfo) - baseline).total_seconds() >= 3

        async def stamped() -> bool:
            return last_full(await node_of(stage, NODE)) > baseline

        await eventually(stamped)
        assert writes(stage, "once") == []


async def test_without_a_baseline_nothing_is_forced_and_now_becomes_it(stage: Stage) -> None:
    """Nor is it after a restart: a thousand nodes would be written at once."""
    async with operating(stage):
        await make_node(stage, entry("settings"))
        await node_is_ready(stage, NODE)
    gone = {"status": {"lastFullReconcileAt": None}}
    await stage.client.patch(NODES, NODE, gone, stage.namespace, subresource="status")
    stage.traffic.sent.clear()
    async with operating(stage):

        async def stamped() -> bool:
            node = await node_of(stage, NODE)
            return "lastFullReconcileAt" in node["status"]

        await eventually(stamped)
        await stage.settles()
        assert writes(stage, "settings") == []


async def test_a_baseline_in_the_past_forces_the_first_pass_after_a_restart(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"))
        await node_is_ready(stage, NODE)
    past = {"status": {"lastFullReconcileAt": "2026-01-01T00:00:00Z"}}
    await stage.client.patch(NODES, NODE, past, stage.namespace, subresource="status")
    await edit(stage, "settings", {"data": {"plan": None}})
    async with operating(stage):
        await becomes(stage, "settings", plan_is("pro"))
        await stage.settles()
        assert last_full(await node_of(stage, NODE)).year >= 2026
        assert writes(stage, "settings").count("apply") == 2


async def test_a_person_can_ask_for_it_once(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"), entry("other"))
        await node_is_ready(stage, NODE)
        await stage.settles()
        stage.traffic.sent.clear()
        await mark(stage, force_reconcile="1700000000")
        await eventually(lambda: writes(stage, "settings") == writes(stage, "other") == ["apply"])
        await stage.settles()
        status = (await node_of(stage, NODE))["status"]
        assert status["lastHandledForceReconcile"] == "1700000000"
        assert writes(stage, "settings") == ["apply"]
    stage.traffic.sent.clear()
    async with operating(stage):
        await stage.settles()
        assert writes(stage, "settings") == []
        await mark(stage, force_reconcile="1700000001")
        await eventually(lambda: writes(stage, "settings") == ["apply"])
