"""The node finalizer: deletes the node's own objects in reverse dependency order."""

import asyncio

from lynq.kube import Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS
from operated.builders import (
    NODE,
    annotate,
    create_node,
    delete_node,
    edit,
    entry,
    exists,
    has_plan,
    update_node,
    wait_for_event,
    wait_for_object,
)
from operated.environment import NODES, Environment, Object
from operated.running_operator import (
    get_node,
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)

HELD: Object = {"metadata": {"finalizers": ["example.com/hold"]}}
RELEASED: Object = {"metadata": {"finalizers": None}}


def deleted(env: Environment) -> list[str]:
    sent = (request for request in env.requests.sent if request.verb == "delete")
    return [request.path.rpartition("/")[2] for request in sent]


async def test_dependents_are_deleted_before_dependencies(env: Environment) -> None:
    async with running_operator(env):
        await create_node(
            env,
            entry("first"),
            entry("third", dependIds=["second"]),
            entry("second", dependIds=["first"]),
        )
        await wait_for_node_ready(env, NODE)
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
    assert deleted(env) == ["third", "second", "first"]


async def test_object_with_finalizer_is_reported_and_blocks_node_deletion(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("first"), entry("second", dependIds=["first"]))
        await wait_for_node_ready(env, NODE)
        await edit(env, "second", HELD)
        await delete_node(env)
        resource = await wait_for_resource_state(env, NODE, "second", "Deleting", within=20)
        assert resource["message"]
        node = await get_node(env, NODE)
        assert "second" in node["status"]["conditions"][0]["message"]
        assert await exists(env, "first")

        await edit(env, "second", RELEASED)
        await wait_for_deletion(env, NODES, NODE)
        assert not await exists(env, "first")
        await wait_for_event(env, "LynqNodeDeleted", about=NODE)


async def test_object_replaced_by_foreign_one_is_not_deleted(
    env: Environment,
) -> None:
    """The delete carries the uid of the cached object as precondition."""
    replaced = asyncio.Event()

    async def replace_first(request: Request, send: Send) -> Response:
        if request.verb == "delete" and not replaced.is_set():
            replaced.set()
            await env.client.delete(CONFIG_MAPS, "settings", env.namespace)
            foreign = {"metadata": {"name": "settings"}, "data": {"plan": "theirs"}}
            await env.client.create(CONFIG_MAPS, foreign, env.namespace)
        return await send(request)

    interfering = Environment(env.client.intercepted(replace_first), env.namespace, env.directory)
    async with running_operator(interfering):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        await env.client.delete(NODES, NODE, env.namespace)
        await wait_for_deletion(env, NODES, NODE)
        assert replaced.is_set()
        await wait_for_object(env, "settings", has_plan("theirs"))


async def test_object_removed_from_spec_before_deletion_is_deleted(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("unchanged"), entry("removed"))
        await wait_for_node_ready(env, NODE)
        await edit(env, "removed", HELD)
        await update_node(env, entry("unchanged"))
        resource = await wait_for_resource_state(env, NODE, "removed", "Deleting")
        assert resource["name"] == "removed"
        node = await wait_for_node_ready(env, NODE)
        assert node["status"]["desiredResources"] == 1
        await delete_node(env)
        await env.wait_until_idle()
        # The dependencies of a removed entry are unknown, so every other object is kept.
        assert await exists(env, "unchanged")
        assert await exists(env, NODE, NODES)
        await edit(env, "removed", RELEASED)
        await wait_for_deletion(env, NODES, NODE)
        assert not await exists(env, "removed")
        assert not await exists(env, "unchanged")


async def test_object_removed_from_spec_during_downtime_is_deleted_with_node(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_node(env, entry("unchanged"), entry("removed"))
        await wait_for_node_ready(env, NODE)
    await update_node(env, entry("unchanged"))
    await delete_node(env)
    async with running_operator(env):
        await wait_for_deletion(env, NODES, NODE)
        assert not await exists(env, "removed")


async def test_paused_or_broken_node_can_be_deleted(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        await annotate(env, paused="true")
        await update_node(env, entry("settings", dependIds=["missing"]))
        await annotate(env, extra="no json")
        await env.wait_until_idle()
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        assert not await exists(env, "settings")


async def test_failed_deletion_is_reported_and_retried(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"), entry("other"))
        await wait_for_node_ready(env, NODE)
        env.requests.failing.add(("delete", "/settings"))
        await delete_node(env)
        message = await wait_for_event(env, "CleanupPartialFailure", about=NODE)
        assert "settings" in message
        assert not await exists(env, "other")
        assert await exists(env, NODE, NODES)
        env.requests.failing.clear()
        await wait_for_deletion(env, NODES, NODE)
        assert not await exists(env, "settings")


async def test_missing_object_does_not_block_finalizer(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
    await env.client.delete(CONFIG_MAPS, "settings", env.namespace)
    await delete_node(env)
    async with running_operator(env):
        await wait_for_deletion(env, NODES, NODE)


async def test_deactivated_row_deletes_node_and_objects(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    await env.create_hub()
    await env.create_form()
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
        await wait_for_node_ready(env, "beta-web")
        env.set_rows(("acme", 0, "pro"), ("beta", 1, "pro"))
        await env.force_sync()
        await wait_for_deletion(env, NODES, "acme-web")
        assert not await exists(env, "acme-settings")
        assert await exists(env, "beta-settings")
