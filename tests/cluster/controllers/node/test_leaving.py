"""A node that is deleted: its objects go first, in the order of the graph, and only its own."""

import asyncio

from cluster.controllers.node.making import (
    NODE,
    becomes,
    delete_node,
    edit,
    entry,
    exists,
    is_told,
    make_node,
    mark,
    plan_is,
    want,
)
from cluster.controllers.operating import (
    is_gone,
    node_is_ready,
    node_of,
    operating,
    resource_is,
)
from cluster.controllers.stage import NODES, Object, Stage
from lynq.kube import Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS

HELD: Object = {"metadata": {"finalizers": ["example.com/hold"]}}
LET_GO: Object = {"metadata": {"finalizers": None}}


def deleted(stage: Stage) -> list[str]:
    sent = (request for request in stage.traffic.sent if request.verb == "delete")
    return [request.path.rpartition("/")[2] for request in sent]


async def test_dependents_go_before_what_they_depend_on(stage: Stage) -> None:
    async with operating(stage):
        await make_node(
            stage,
            entry("first"),
            entry("third", dependIds=["second"]),
            entry("second", dependIds=["first"]),
        )
        await node_is_ready(stage, NODE)
        await delete_node(stage)
        await is_gone(stage, NODES, NODE)
    assert deleted(stage) == ["third", "second", "first"]


async def test_an_object_that_cannot_go_is_named_and_keeps_the_node(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("first"), entry("second", dependIds=["first"]))
        await node_is_ready(stage, NODE)
        await edit(stage, "second", HELD)
        await delete_node(stage)
        found = await resource_is(stage, NODE, "second", "Deleting", within=20)
        assert found["message"]
        node = await node_of(stage, NODE)
        assert "second" in node["status"]["conditions"][0]["message"]
        assert await exists(stage, "first")

        await edit(stage, "second", LET_GO)
        await is_gone(stage, NODES, NODE)
        assert not await exists(stage, "first")
        await is_told(stage, "LynqNodeDeleted", about=NODE)


async def test_an_object_that_somebody_replaced_by_their_own_is_not_deleted(stage: Stage) -> None:
    """The cache still shows ours when the deletion is sent: the uid tells them apart."""
    replaced = asyncio.Event()

    async def replace_first(request: Request, send: Send) -> Response:
        if request.verb == "delete" and not replaced.is_set():
            replaced.set()
            await stage.client.delete(CONFIG_MAPS, "settings", stage.namespace)
            theirs = {"metadata": {"name": "settings"}, "data": {"plan": "theirs"}}
            await stage.client.create(CONFIG_MAPS, theirs, stage.namespace)
        return await send(request)

    actor = Stage(stage.client.intercepted(replace_first), stage.namespace, stage.directory)
    async with operating(actor):
        await make_node(stage, entry("settings"))
        await node_is_ready(stage, NODE)
        await stage.client.delete(NODES, NODE, stage.namespace)
        await is_gone(stage, NODES, NODE)
        assert replaced.is_set()
        await becomes(stage, "settings", plan_is("theirs"))


async def test_an_object_that_left_the_form_just_before_goes_too(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("stays"), entry("left"))
        await node_is_ready(stage, NODE)
        await edit(stage, "left", HELD)
        await want(stage, entry("stays"))
        found = await resource_is(stage, NODE, "left", "Deleting")
        assert found["name"] == "left"
        node = await node_is_ready(stage, NODE)
        assert node["status"]["desiredResources"] == 1
        await delete_node(stage)
        await stage.settles()
        # What it depended on is forgotten, so all that is left may be needed by it.
        assert await exists(stage, "stays")
        assert await exists(stage, NODE, NODES)
        await edit(stage, "left", LET_GO)
        await is_gone(stage, NODES, NODE)
        assert not await exists(stage, "left")
        assert not await exists(stage, "stays")


async def test_what_left_the_form_while_nobody_worked_goes_with_the_node(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("stays"), entry("left"))
        await node_is_ready(stage, NODE)
    await want(stage, entry("stays"))
    await delete_node(stage)
    async with operating(stage):
        await is_gone(stage, NODES, NODE)
        assert not await exists(stage, "left")


async def test_a_paused_or_broken_node_can_be_deleted(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"))
        await node_is_ready(stage, NODE)
        await mark(stage, paused="true")
        await want(stage, entry("settings", dependIds=["nobody"]))
        await mark(stage, extra="no json")
        await stage.settles()
        await delete_node(stage)
        await is_gone(stage, NODES, NODE)
        assert not await exists(stage, "settings")


async def test_a_deletion_that_is_refused_is_told_and_tried_again(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"), entry("other"))
        await node_is_ready(stage, NODE)
        stage.traffic.refuse.add(("delete", "/settings"))
        await delete_node(stage)
        sentence = await is_told(stage, "CleanupPartialFailure", about=NODE)
        assert "settings" in sentence
        assert not await exists(stage, "other")
        assert await exists(stage, NODE, NODES)
        stage.traffic.refuse.clear()
        await is_gone(stage, NODES, NODE)
        assert not await exists(stage, "settings")


async def test_an_object_that_is_gone_already_holds_nobody_up(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"))
        await node_is_ready(stage, NODE)
    await stage.client.delete(CONFIG_MAPS, "settings", stage.namespace)
    await delete_node(stage)
    async with operating(stage):
        await is_gone(stage, NODES, NODE, within=5)


async def test_the_row_goes_and_so_does_everything_of_it(stage: Stage) -> None:
    stage.rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    await stage.hub()
    await stage.form()
    async with operating(stage):
        await node_is_ready(stage, "acme-web")
        await node_is_ready(stage, "beta-web")
        stage.rows(("acme", 0, "pro"), ("beta", 1, "pro"))
        await stage.read_again()
        await is_gone(stage, NODES, "acme-web")
        assert not await exists(stage, "acme-settings")
        assert await exists(stage, "beta-settings")
