"""Others who insist: no hot fight, and no word of ours over theirs under Stuck."""

import asyncio

import pytest

from cluster.controllers.node.making import (
    NODE,
    becomes,
    edit,
    entry,
    labels,
    make_node,
    plan_is,
    want,
    writes,
)
from cluster.controllers.operating import node_is_ready, node_says, operating, resource_is
from cluster.controllers.stage import Object, Stage
from lynq.kube.resource import CONFIG_MAPS

RETAIN = {"deletionPolicy": "Retain"}


@pytest.mark.parametrize(
    "undo",
    [
        {"metadata": {"annotations": {"lynq.sh/applied-hash": "0000000000000000"}}},
        {"metadata": {"labels": {"lynq.sh/orphaned": "true"}}},
    ],
    ids=["hash", "orphaned"],
)
async def test_a_mark_that_is_set_again_and_again_is_no_hot_fight(
    stage: Stage, undo: Object
) -> None:
    """As an operator of another version would do it, or a tool that applies an exported object."""

    async def insist() -> None:
        while True:
            await edit(stage, "settings", undo, by="rival")
            await asyncio.sleep(0.05)

    async with operating(stage):
        await make_node(stage, entry("settings", conflictPolicy="Force"))
        await node_is_ready(stage, NODE)
        stage.traffic.sent.clear()
        rival = asyncio.create_task(insist())
        await asyncio.sleep(5)
        rival.cancel()
        assert 2 <= len(writes(stage, "settings")) <= 8, writes(stage, "settings")


async def test_an_orphan_that_somebody_else_has_taken_is_not_overwritten_under_stuck(
    stage: Stage,
) -> None:
    async with operating(stage):
        await make_node(stage, entry("kept", **RETAIN))
        await node_is_ready(stage, NODE)
        await want(stage)
        await becomes(stage, "kept", lambda obj: "lynq.sh/orphaned" in labels(obj))
        await edit(stage, "kept", {"data": {"plan": "theirs"}}, by="argocd")

        await want(stage, entry("kept", "ours", **RETAIN))
        await node_says(stage, NODE, "Conflicted", "True", "ResourceConflict")
        found = await resource_is(stage, NODE, "kept", "Conflicted")
        assert "'argocd'" in found["message"]
        assert (await stage.get(CONFIG_MAPS, "kept"))["data"] == {"plan": "theirs"}

        # Force takes it, as its name says.
        await want(stage, entry("kept", "ours", **RETAIN, conflictPolicy="Force"))
        await becomes(stage, "kept", plan_is("ours"))
        await node_is_ready(stage, NODE)
        assert "lynq.sh/orphaned" not in labels(await stage.get(CONFIG_MAPS, "kept"))


async def test_an_orphan_to_which_others_only_added_is_adopted_under_stuck(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("kept", **RETAIN))
        await node_is_ready(stage, NODE)
        await want(stage)
        await becomes(stage, "kept", lambda obj: "lynq.sh/orphaned" in labels(obj))
        await edit(stage, "kept", {"data": {"more": "theirs"}}, by="argocd")
        await want(stage, entry("kept", "ours", **RETAIN))
        await becomes(stage, "kept", plan_is("ours"))
        await node_is_ready(stage, NODE)
