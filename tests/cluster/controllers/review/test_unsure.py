"""What is not known for sure takes nothing away: broken entries, caches that lag behind."""

import asyncio

from cluster.controllers.node.making import NODE, becomes, entry, exists, make_node, plan_is, want
from cluster.controllers.operating import is_gone, node_is_ready, node_says, operating, resource_is
from cluster.controllers.stage import FORMS, NODES, Stage, config_map
from cluster.controllers.succession import Fog, succession
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

BROKEN = "{{ .nothing }}"


async def uid_of(stage: Stage, name: str) -> str:
    return str((await stage.get(CONFIG_MAPS, name))["metadata"]["uid"])


async def is_leaving(stage: Stage, node: str) -> bool:
    try:
        return "deletionTimestamp" in (await stage.get(NODES, node))["metadata"]
    except NotFound:
        return True


async def test_an_entry_that_is_renamed_and_broken_at_once_keeps_its_object(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"))
        await node_is_ready(stage, NODE)
        before = (await stage.get(CONFIG_MAPS, "settings"))["metadata"]["uid"]

        await want(stage, {**entry("settings", BROKEN), "id": "config"})
        await node_says(stage, NODE, "Degraded", "True", "ResourceFailures")
        assert (await stage.get(CONFIG_MAPS, "settings"))["metadata"]["uid"] == before
        kept = await resource_is(stage, NODE, "settings", "Deleting")
        assert '"config"' in kept["message"]

        # Mended, it has its object; nothing else is remembered of the old name.
        await want(stage, {**entry("settings", "mended"), "id": "config"})
        await becomes(stage, "settings", plan_is("mended"))
        node = await node_is_ready(stage, NODE)
        assert [each["id"] for each in node["status"]["resources"]] == ["config"]
        assert (await stage.get(CONFIG_MAPS, "settings"))["metadata"]["uid"] == before


async def test_what_a_broken_entry_kept_goes_when_nobody_wants_it(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"), entry("other"))
        await node_is_ready(stage, NODE)
        await want(stage, {**entry("settings", BROKEN), "id": "config"})
        await is_gone(stage, CONFIG_MAPS, "other")
        await resource_is(stage, NODE, "settings", "Deleting")
        assert await exists(stage, "settings")

        await want(stage, entry("other"))
        await is_gone(stage, CONFIG_MAPS, "settings")
        await node_is_ready(stage, NODE)


async def test_an_object_of_a_node_that_the_next_leader_knows_of_old_stays(stage: Stage) -> None:
    stage.rows(("acme", 1, "pro"))
    fog = Fog(NODES)
    async with succession(stage, fog, "acme-web") as change:
        fog.fall()
        more = config_map(id="more", nameTemplate="{{ .uid }}-more")
        await stage.change(FORMS, "web", {"spec": {"configMaps": [config_map(), more]}})

        await becomes(stage, "acme-more", plan_is("pro"))
        before = await uid_of(stage, "acme-more")
        await node_is_ready(stage, "acme-web")
        await change.happens()

        # It sees both objects, and a node that wants one of them.
        await asyncio.sleep(6)
        assert await uid_of(stage, "acme-more") == before
        fog.lift()
        await asyncio.sleep(2)
        assert await uid_of(stage, "acme-more") == before


async def test_a_node_that_was_protected_meanwhile_stays(stage: Stage) -> None:
    stage.rows(("acme", 1, "pro"), ("beta", 1, "pro"), ("corp", 1, "pro"))
    fog = Fog(NODES)
    async with succession(stage, fog, "acme-web", "beta-web", "corp-web") as change:
        await asyncio.sleep(1)
        fog.fall()
        shield = {"metadata": {"annotations": {"lynq.sh/protect": "true"}}}
        await stage.change(NODES, "acme-web", shield)
        await change.happens()
        stage.rows(("corp", 1, "pro"))

        async def beta_goes() -> bool:
            return await is_leaving(stage, "beta-web")

        await eventually(beta_goes, within=30)
        await asyncio.sleep(3)
        assert not await is_leaving(stage, "acme-web")
        fog.lift()
        await asyncio.sleep(2)
        assert not await is_leaving(stage, "acme-web")
