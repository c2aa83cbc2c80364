"""What a process has not seen yet: its caches lag behind, one kind more than another."""

import asyncio

from cluster.controllers.environment import FORMS, HUBS, NODES, Environment, config_map
from cluster.controllers.failover import WatchBlocker, candidate, failover
from cluster.controllers.node.builders import NODE, create_node, entry, has_plan, wait_for_object
from cluster.controllers.running_operator import running_operator, wait_for_node_ready
from lynq.kube import Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually


async def node_uids(env: Environment) -> dict[str, str]:
    return {name: node["metadata"]["uid"] for name, node in (await env.nodes()).items()}


async def plan_becomes(env: Environment, plan: str) -> None:
    async def so() -> bool:
        return bool((await env.get(CONFIG_MAPS, "acme-settings"))["data"]["plan"] == plan)

    await eventually(so)


async def test_nodes_of_unseen_form_survive_failover(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    blocker = WatchBlocker(FORMS)
    async with failover(env, blocker, "acme-web", "beta-web") as handover:
        blocker.block()
        late = config_map(nameTemplate="{{ .uid }}-late")
        await env.create_form("late", configMaps=[late])
        for name in ("acme-late", "beta-late"):
            await wait_for_node_ready(env, name)
        kept = await node_uids(env)
        await eventually(lambda: len(list(handover.standby.context.nodes.values())) == 4)
        await handover.stop_leader()

        env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"), ("corp", 1, "pro"))
        await wait_for_node_ready(env, "corp-web", within=30)
        await asyncio.sleep(2)
        after = await env.nodes()
        assert {name: after[name]["metadata"]["uid"] for name in kept if name in after} == kept
        assert not [name for name in after if "deletionTimestamp" in after[name]["metadata"]]
        blocker.unblock()
        await wait_for_node_ready(env, "corp-late", within=30)
        assert await env.get(CONFIG_MAPS, "acme-late")


async def test_unseen_nodes_are_not_recreated_after_failover(
    env: Environment,
) -> None:
    env.set_rows(("acme", 1, "pro"))
    blocker = WatchBlocker(NODES)
    async with failover(env, blocker, "acme-web") as handover:
        blocker.block()
        env.set_rows(("acme", 1, "gold"), ("beta", 1, "pro"))
        await wait_for_node_ready(env, "beta-web")
        await plan_becomes(env, "gold")
        before = await node_uids(env)
        await handover.stop_leader()

        await asyncio.sleep(6)
        # It knows of an old acme-web and of no beta-web; neither does harm.
        assert await node_uids(env) == before
        blocker.unblock()
        env.set_rows(("acme", 1, "silver"), ("beta", 1, "pro"), ("corp", 1, "pro"))
        await wait_for_node_ready(env, "corp-web", within=30)
        await plan_becomes(env, "silver")


async def test_nodes_of_changed_source_survive_failover(env: Environment) -> None:
    rows = (("acme", 1, "pro"), ("beta", 1, "pro"), ("corp", 1, "pro"))
    env.set_rows(rows[0])
    env.set_rows(*rows, file="other.db")
    blocker = WatchBlocker(HUBS)
    async with failover(env, blocker, "acme-web") as handover:
        blocker.block()
        other = {"sqlite": {"path": "other.db"}}
        await env.patch(HUBS, "hub", {"spec": {"source": other}})
        for uid, *_ in rows:
            await wait_for_node_ready(env, f"{uid}-web")
        before = await node_uids(env)
        await handover.stop_leader()

        # It reads what the hub said before, and finds one row of three.
        await asyncio.sleep(6)
        assert await node_uids(env) == before
        blocker.unblock()
        env.set_rows(*rows[:2], file="other.db")
        await env.wait_for_nodes("acme-web", "beta-web", within=30)


async def test_standby_watches_kinds_that_come_into_use(
    env: Environment,
) -> None:
    watched: list[str] = []

    async def note(request: Request, send: Send) -> Response:
        if request.stream:
            watched.append(request.path.rpartition("/")[2])
        return await send(request)

    env.set_rows(("acme", 1, "pro"))
    async with candidate(env) as leader, candidate(env, note) as standby:
        await leader.context.synced()
        await standby.context.synced()
        assert "configmaps" not in watched
        await env.create_hub()
        await env.create_form()
        await wait_for_node_ready(env, "acme-web")
        await eventually(lambda: watched.count("configmaps") == 1)


async def test_node_changed_during_status_write_is_reconciled_again(
    env: Environment,
) -> None:
    """Or the status of what it wrote would be taken for that of the change."""
    others, once = env.client, iter([True])

    async def first(request: Request, send: Send) -> Response:
        response = await send(request)
        if request.path.endswith(f"/{NODE}/status") and next(once, False):
            new = {"spec": {"configMaps": [entry("settings", "new")]}}
            await others.patch(NODES, NODE, new, env.namespace)
            # Time for the watch to be first.
            await asyncio.sleep(0.5)
        return response

    env.client = others.intercepted(first)
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_object(env, "settings", has_plan("new"))
        await wait_for_node_ready(env, NODE)
    sent = [request.body or b"" for request in env.requests.sent if request.verb == "apply"]
    assert [b'"new"' in body for body in sent] == [True]
