"""What a process has not seen yet: its caches lag behind, one kind more than another."""

import asyncio

from cluster.controllers.operating import node_is_ready
from cluster.controllers.stage import FORMS, HUBS, NODES, Stage, config_map
from cluster.controllers.succession import Fog, succession
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually


async def node_uids(stage: Stage) -> dict[str, str]:
    return {name: node["metadata"]["uid"] for name, node in (await stage.nodes()).items()}


async def plan_becomes(stage: Stage, plan: str) -> None:
    async def so() -> bool:
        return bool((await stage.get(CONFIG_MAPS, "acme-settings"))["data"]["plan"] == plan)

    await eventually(so)


async def test_a_form_that_the_next_leader_has_not_seen_keeps_its_nodes(stage: Stage) -> None:
    stage.rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    fog = Fog(FORMS)
    async with succession(stage, fog, "acme-web", "beta-web") as change:
        fog.fall()
        late = config_map(nameTemplate="{{ .uid }}-late")
        await stage.form("late", configMaps=[late])
        for name in ("acme-late", "beta-late"):
            await node_is_ready(stage, name)
        kept = await node_uids(stage)
        await eventually(lambda: len(list(change.heir.world.nodes.values())) == 4)
        await change.happens()

        stage.rows(("acme", 1, "pro"), ("beta", 1, "pro"), ("corp", 1, "pro"))
        await node_is_ready(stage, "corp-web", within=30)
        await asyncio.sleep(2)
        after = await stage.nodes()
        assert {name: after[name]["metadata"]["uid"] for name in kept if name in after} == kept
        assert not [name for name in after if "deletionTimestamp" in after[name]["metadata"]]
        fog.lift()
        await node_is_ready(stage, "corp-late", within=30)
        assert await stage.get(CONFIG_MAPS, "acme-late")


async def test_nodes_that_the_next_leader_has_not_seen_are_not_made_twice(stage: Stage) -> None:
    stage.rows(("acme", 1, "pro"))
    fog = Fog(NODES)
    async with succession(stage, fog, "acme-web") as change:
        fog.fall()
        stage.rows(("acme", 1, "gold"), ("beta", 1, "pro"))
        await node_is_ready(stage, "beta-web")
        await plan_becomes(stage, "gold")
        before = await node_uids(stage)
        await change.happens()

        await asyncio.sleep(6)
        # It knows of an old acme-web and of no beta-web; neither does harm.
        assert await node_uids(stage) == before
        fog.lift()
        stage.rows(("acme", 1, "silver"), ("beta", 1, "pro"), ("corp", 1, "pro"))
        await node_is_ready(stage, "corp-web", within=30)
        await plan_becomes(stage, "silver")


async def test_a_hub_that_was_pointed_elsewhere_meanwhile_loses_nothing(stage: Stage) -> None:
    rows = (("acme", 1, "pro"), ("beta", 1, "pro"), ("corp", 1, "pro"))
    stage.rows(rows[0])
    stage.rows(*rows, file="other.db")
    fog = Fog(HUBS)
    async with succession(stage, fog, "acme-web") as change:
        fog.fall()
        other = {"sqlite": {"path": "other.db"}}
        await stage.change(HUBS, "hub", {"spec": {"source": other}})
        for uid, *_ in rows:
            await node_is_ready(stage, f"{uid}-web")
        before = await node_uids(stage)
        await change.happens()

        # It reads what the hub said before, and finds one row of three.
        await asyncio.sleep(6)
        assert await node_uids(stage) == before
        fog.lift()
        stage.rows(*rows[:2], file="other.db")
        await stage.has_nodes("acme-web", "beta-web", within=30)
