"""Uncertain state deletes nothing: broken entries and stale caches."""

import asyncio

from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS
from operated.builders import (
    NODE,
    create_node,
    entry,
    exists,
    has_plan,
    update_node,
    wait_for_object,
)
from operated.environment import FORMS, NODES, Environment, config_map
from operated.failover import WatchBlocker, failover
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_condition,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually, stays

BROKEN = "{{ .nothing }}"


async def uid_of(env: Environment, name: str) -> str:
    return str((await env.get(CONFIG_MAPS, name))["metadata"]["uid"])


async def is_deleting(env: Environment, node: str) -> bool:
    try:
        return "deletionTimestamp" in (await env.get(NODES, node))["metadata"]
    except NotFound:
        return True


async def test_entry_renamed_and_broken_at_once_keeps_its_object(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        before = (await env.get(CONFIG_MAPS, "settings"))["metadata"]["uid"]

        await update_node(env, {**entry("settings", BROKEN), "id": "config"})
        await wait_for_node_condition(env, NODE, "Degraded", "True", "ResourceFailures")
        assert (await env.get(CONFIG_MAPS, "settings"))["metadata"]["uid"] == before
        kept = await wait_for_resource_state(env, NODE, "settings", "Deleting")
        assert '"config"' in kept["message"]

        # Once repaired, the entry owns its object and the old id is dropped.
        await update_node(env, {**entry("settings", "repaired"), "id": "config"})
        await wait_for_object(env, "settings", has_plan("repaired"))
        node = await wait_for_node_ready(env, NODE)
        assert [resource["id"] for resource in node["status"]["resources"]] == ["config"]
        assert (await env.get(CONFIG_MAPS, "settings"))["metadata"]["uid"] == before


async def test_object_kept_by_broken_entry_is_deleted_once_undesired(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"), entry("other"))
        await wait_for_node_ready(env, NODE)
        await update_node(env, {**entry("settings", BROKEN), "id": "config"})
        # The broken entry may be the successor of either object.
        for name in ("settings", "other"):
            await wait_for_resource_state(env, NODE, name, "Deleting")
            assert await exists(env, name)

        await update_node(env, entry("other"))
        await wait_for_deletion(env, CONFIG_MAPS, "settings")
        await wait_for_node_ready(env, NODE)


async def test_object_of_stale_cached_node_survives_failover(
    env: Environment,
) -> None:
    env.set_rows(("acme", 1, "pro"))
    blocker = WatchBlocker(NODES)
    async with failover(env, blocker, "acme-web") as handover:
        blocker.block()
        more = config_map(id="more", nameTemplate="{{ .uid }}-more")
        await env.patch(FORMS, "web", {"spec": {"configMaps": [config_map(), more]}})

        await wait_for_object(env, "acme-more", has_plan("pro"))
        before = await uid_of(env, "acme-more")
        await wait_for_node_ready(env, "acme-web")
        await handover.stop_leader()

        async def object_kept() -> bool:
            return await uid_of(env, "acme-more") == before

        # The new leader observes both objects, and a stale node that desires one of them.
        await stays(object_kept, seconds=6, every=0.1)
        blocker.unblock()
        await stays(object_kept, seconds=2, every=0.1)


async def test_node_protected_during_failover_is_kept(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"), ("corp", 1, "pro"))
    blocker = WatchBlocker(NODES)
    async with failover(env, blocker, "acme-web", "beta-web", "corp-web") as handover:
        # One sync interval, so that the standby's cache is complete before it becomes stale.
        await asyncio.sleep(1)
        blocker.block()
        protect = {"metadata": {"annotations": {"lynq.sh/protect": "true"}}}
        await env.patch(NODES, "acme-web", protect)
        await handover.stop_leader()
        env.set_rows(("corp", 1, "pro"))

        async def beta_deleting() -> bool:
            return await is_deleting(env, "beta-web")

        await eventually(beta_deleting, within=30)

        async def acme_kept() -> bool:
            return not await is_deleting(env, "acme-web")

        await stays(acme_kept, seconds=3, every=0.1)
        blocker.unblock()
        await stays(acme_kept, seconds=2, every=0.1)
