"""Stale caches after failover, and during writes and deletions, delete and overwrite nothing."""

import asyncio

import pytest

from lynq.kube import Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS
from operated.builders import NODE, create_node, entry, has_plan, wait_for_object
from operated.environment import FORMS, HUBS, NODES, Environment, config_map
from operated.failover import WatchBlocker, candidate, failover
from operated.running_operator import running_operator, wait_for_node_ready
from waiting import eventually, stays


async def node_uids(env: Environment) -> dict[str, str]:
    return {name: node["metadata"]["uid"] for name, node in (await env.nodes()).items()}


async def wait_for_plan(env: Environment, plan: str) -> None:
    async def matches() -> bool:
        return bool((await env.get(CONFIG_MAPS, "acme-settings"))["data"]["plan"] == plan)

    await eventually(matches)


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

        async def nodes_kept() -> bool:
            nodes = await env.nodes()
            uids = {name: nodes[name]["metadata"]["uid"] for name in kept if name in nodes}
            assert uids == kept
            return not [name for name in nodes if "deletionTimestamp" in nodes[name]["metadata"]]

        await stays(nodes_kept, seconds=2, every=0.1)
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
        await wait_for_plan(env, "gold")
        before = await node_uids(env)
        await handover.stop_leader()

        async def unchanged() -> bool:
            return await node_uids(env) == before

        # The new leader has an old acme-web and no beta-web in its cache.
        await stays(unchanged, seconds=6, every=0.1)
        blocker.unblock()
        env.set_rows(("acme", 1, "silver"), ("beta", 1, "pro"), ("corp", 1, "pro"))
        await wait_for_node_ready(env, "corp-web", within=30)
        await wait_for_plan(env, "silver")


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

        async def unchanged() -> bool:
            return await node_uids(env) == before

        # The new leader reads the old source, which has one row of three.
        await stays(unchanged, seconds=6, every=0.1)
        blocker.unblock()
        env.set_rows(*rows[:2], file="other.db")
        await env.wait_for_nodes("acme-web", "beta-web", within=30)


async def test_standby_watches_kinds_that_come_into_use(
    env: Environment,
) -> None:
    watched: list[str] = []

    async def record_watches(request: Request, send: Send) -> Response:
        if request.stream:
            watched.append(request.path.rpartition("/")[2])
        return await send(request)

    env.set_rows(("acme", 1, "pro"))
    async with candidate(env) as leader, candidate(env, record_watches) as standby:
        await leader.context.synced()
        await standby.context.synced()
        assert "configmaps" not in watched
        await env.create_hub()
        await env.create_form()
        await wait_for_node_ready(env, "acme-web")
        await eventually(lambda: watched.count("configmaps") == 1)


@pytest.mark.parametrize("policy", ["Delete", "Retain", "Release"])
async def test_object_that_another_node_adopted_is_not_pruned(
    env: Environment, policy: str
) -> None:
    """The cache of a new leader may have the object from before the adoption."""
    client, pending = env.client, iter([True])
    is_adopted = policy == "Release"
    if is_adopted:
        await client.create(CONFIG_MAPS, {"metadata": {"name": "settings"}}, env.namespace)
    taken = {"lynq.sh/tracking-id": f"another-node:/ConfigMap:{env.namespace}/settings"}
    marks = {"ownerReferences": None, "labels": {"lynq.sh/node": "other"}, "annotations": taken}

    async def take_before_prune(request: Request, send: Send) -> Response:
        is_pruning = request.verb in {"delete", "get"} and request.path.endswith("/settings")
        if is_pruning and is_deleted.is_set() and next(pending, False):
            # The watch shows nothing of it before the request.
            await client.patch(CONFIG_MAPS, "settings", {"metadata": marks}, env.namespace)
        return await send(request)

    env.client, is_deleted = client.intercepted(take_before_prune), asyncio.Event()
    async with running_operator(env):
        parts = {} if is_adopted else {"deletionPolicy": policy}
        await create_node(env, entry("settings", **parts))
        await wait_for_node_ready(env, NODE)
        uid = (await client.get(CONFIG_MAPS, "settings", env.namespace))["metadata"]["uid"]
        is_deleted.set()
        await client.delete(NODES, NODE, env.namespace)
        await env.wait_for_nodes()
    obj = await client.get(CONFIG_MAPS, "settings", env.namespace)
    metadata = obj["metadata"]
    assert obj["data"] == {"plan": "pro"}
    assert (metadata["uid"], metadata["labels"]["lynq.sh/node"]) == (uid, "other")
    assert "lynq.sh/orphaned" not in metadata["labels"]


async def test_node_changed_during_status_write_is_reconciled_again(
    env: Environment,
) -> None:
    """Otherwise the status of the old content would count for the new generation."""
    client, pending = env.client, iter([True])

    async def change_after_status(request: Request, send: Send) -> Response:
        response = await send(request)
        if request.path.endswith(f"/{NODE}/status") and next(pending, False):
            new = {"spec": {"configMaps": [entry("settings", "new")]}}
            await client.patch(NODES, NODE, new, env.namespace)
            # Time for the watch event to arrive before the response.
            await asyncio.sleep(0.5)
        return response

    env.client = client.intercepted(change_after_status)
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_object(env, "settings", has_plan("new"))
        await wait_for_node_ready(env, NODE)
    sent = [request.body or b"" for request in env.requests.sent if request.verb == "apply"]
    assert [b'"new"' in body for body in sent] == [True]
