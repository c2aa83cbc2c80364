"""What a process has not seen yet: its caches lag behind, one kind more than another."""

import asyncio

from cluster.controllers.node.making import NODE, becomes, entry, make_node, plan_is
from cluster.controllers.operating import node_is_ready, operating
from cluster.controllers.stage import FORMS, HUBS, NODES, Stage, config_map
from cluster.controllers.succession import Fog, candidate, succession
from lynq.kube import Request, Response, Send
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


async def test_who_waits_for_the_lease_watches_kinds_that_came_into_use_meanwhile(
    stage: Stage,
) -> None:
    watched: list[str] = []

    async def note(request: Request, send: Send) -> Response:
        if request.stream:
            watched.append(request.path.rpartition("/")[2])
        return await send(request)

    stage.rows(("acme", 1, "pro"))
    async with candidate(stage) as leader, candidate(stage, note) as heir:
        await leader.world.synced()
        await heir.world.synced()
        assert "configmaps" not in watched
        await stage.hub()
        await stage.form()
        await node_is_ready(stage, "acme-web")
        await eventually(lambda: watched.count("configmaps") == 1)


async def test_a_pass_ends_when_its_node_is_changed_while_it_announces_what_it_does(
    stage: Stage,
) -> None:
    """Or the status of what it wrote would be taken for that of the change."""
    others, once = stage.client, iter([True])

    async def first(request: Request, send: Send) -> Response:
        response = await send(request)
        if request.path.endswith(f"/{NODE}/status") and next(once, False):
            new = {"spec": {"configMaps": [entry("settings", "new")]}}
            await others.patch(NODES, NODE, new, stage.namespace)
            # Time for the watch to be first.
            await asyncio.sleep(0.5)
        return response

    stage.client = others.intercepted(first)
    async with operating(stage):
        await make_node(stage, entry("settings"))
        await becomes(stage, "settings", plan_is("new"))
        await node_is_ready(stage, NODE)
    sent = [each.body or b"" for each in stage.traffic.sent if each.verb == "apply"]
    assert [b'"new"' in body for body in sent] == [True]
