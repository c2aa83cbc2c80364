"""conflictPolicy: what happens where somebody else has a say in an object."""

import asyncio

from cluster.controllers.node.making import (
    NODE,
    annotations,
    becomes,
    delete_node,
    entry,
    exists,
    is_told,
    labels,
    make_node,
    mark,
    plan_is,
    told,
    want,
)
from cluster.controllers.operating import (
    is_gone,
    node_is_ready,
    node_says,
    operating,
    resource_is,
    said,
)
from cluster.controllers.stage import NODES, Object, Stage
from lynq.kube.resource import CONFIG_MAPS

FORCE = {"conflictPolicy": "Force"}


async def theirs(stage: Stage, name: str = "settings", **data: str) -> Object:
    """Have an object of somebody else."""
    obj = {"metadata": {"name": name}, "data": data or {"plan": "theirs"}}
    return await stage.client.create(CONFIG_MAPS, obj, stage.namespace, manager="somebody")


async def test_stuck_reports_a_conflict_and_leaves_the_object_alone(stage: Stage) -> None:
    old = await theirs(stage)
    async with operating(stage):
        await make_node(stage, entry("settings"), entry("other"))
        node = await node_says(stage, NODE, "Ready", "False", "ResourcesFailedAndConflicted")
        assert said(node, "Conflicted") == ("True", "ResourceConflict")
        assert said(node, "Degraded") == ("True", "ResourceFailuresAndConflicts")
        assert said(node, "Progressing") == ("False", "ReconcileComplete")
        assert node["status"]["failedResources"] == 1
        assert node["status"]["readyResources"] == 1
        found = await resource_is(stage, NODE, "settings", "Conflicted")
        assert found["reason"] == "ResourceConflict"
        assert ".data.plan is managed by 'somebody'" in found["message"]
        assert "conflictPolicy: Force" in found["message"]
        sentence = await is_told(stage, "ResourceConflict", about=NODE)
        assert sentence.startswith("Warning: ")
        await is_told(stage, "TemplateAppliedPartial", about=NODE)

        # Long enough for two more attempts, which say nothing new.
        await asyncio.sleep(4)
        assert await told(stage, "ResourceConflict") == 1
        now = await stage.get(CONFIG_MAPS, "settings")
        assert now["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]

        await delete_node(stage)
        await is_gone(stage, NODES, NODE)
        assert await exists(stage, "settings")
        assert not await exists(stage, "other")


async def test_a_conflict_ends_when_the_other_lets_go(stage: Stage) -> None:
    await theirs(stage)
    async with operating(stage):
        await make_node(stage, entry("settings"))
        await node_says(stage, NODE, "Conflicted", "True", "ResourceConflict")
        await stage.client.delete(CONFIG_MAPS, "settings", stage.namespace)
        node = await node_is_ready(stage, NODE)
        assert said(node, "Conflicted") == ("False", "NoConflict")
        await becomes(stage, "settings", plan_is("pro"))


async def test_a_conflicted_object_that_leaves_the_form_stays(stage: Stage) -> None:
    await theirs(stage)
    async with operating(stage):
        await make_node(stage, entry("settings"))
        await node_says(stage, NODE, "Conflicted", "True")
        await want(stage, entry("other"))
        node = await node_is_ready(stage, NODE)
        assert [each["id"] for each in node["status"]["resources"]] == ["other"]
        assert (await stage.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "theirs"}
        assert await told(stage, "OrphanedResourceDeleted") == 0


async def test_force_takes_the_fields_over_and_tells_from_whom(stage: Stage) -> None:
    old = await theirs(stage, plan="theirs", more="stays")
    async with operating(stage):
        await make_node(stage, entry("settings", **FORCE))
        await node_is_ready(stage, NODE)
        now = await stage.get(CONFIG_MAPS, "settings")
        assert now["data"] == {"plan": "pro", "more": "stays"}
        assert now["metadata"]["uid"] == old["metadata"]["uid"]
        assert labels(now)["lynq.sh/managed"] == "true"
        assert "somebody" in await is_told(stage, "ForceApply", about=NODE)


async def test_force_over_nobody_is_no_news(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings", **FORCE))
        await node_is_ready(stage, NODE)
        await mark(stage, extra='{"plan": "free"}')
        await becomes(stage, "settings", plan_is("free"))
        await stage.settles()
        assert await told(stage, "ForceApply") == 0


async def test_an_object_whose_fields_nobody_disputes_is_taken_under_stuck(stage: Stage) -> None:
    await theirs(stage, other="stays")
    async with operating(stage):
        await make_node(stage, entry("settings"))
        await node_is_ready(stage, NODE)
        assert (await stage.get(CONFIG_MAPS, "settings"))["data"] == {
            "plan": "pro",
            "other": "stays",
        }


async def test_of_two_nodes_that_want_one_object_the_first_keeps_it(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("shared"))
        await node_is_ready(stage, NODE)
        first = await stage.get(CONFIG_MAPS, "shared")
        await make_node(stage, entry("shared", "second", **FORCE), name="beta-web")
        node = await node_says(stage, "beta-web", "Conflicted", "True", "ResourceConflict")
        assert "another LynqNode" in node["status"]["resources"][0]["message"]
        await stage.settles()
        now = await stage.get(CONFIG_MAPS, "shared")
        assert now["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]

        # The loser takes nothing along.
        await delete_node(stage, "beta-web")
        await is_gone(stage, NODES, "beta-web")
        assert await exists(stage, "shared")


async def test_the_second_node_gets_the_object_when_the_first_lets_it_go(stage: Stage) -> None:
    retain = {"deletionPolicy": "Retain"}
    async with operating(stage):
        await make_node(stage, entry("shared", **retain))
        await node_is_ready(stage, NODE)
        await make_node(stage, entry("shared", "second"), name="beta-web")
        await node_says(stage, "beta-web", "Conflicted", "True")
        await delete_node(stage)
        await is_gone(stage, NODES, NODE)
        await node_is_ready(stage, "beta-web")
        found = await becomes(stage, "shared", plan_is("second"))
        assert "lynq.sh/orphaned-at" not in annotations(found)
