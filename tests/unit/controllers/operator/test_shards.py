"""Three shards: each receives its own nodes, and respects the objects of nodes that it does not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from lynq.api.metadata import ObjectKey
from lynq.controllers.manager import Process
from lynq.controllers.options import Shard
from lynq.kube import (
    ClientOptions,
    Request,
    Response,
    Send,
)
from lynq.kube.resource import CONFIG_MAPS
from memory.api_server import MemoryApiServer
from operated.builders import exists
from operated.environment import FORMS, NODES, Environment, Object, config_map
from operated.manifests import deployment
from operated.running_operator import (
    get_node,
    running_operator,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually, stays

M = 3
SHARED = "pro-settings"


@asynccontextmanager
async def running_shards(env: Environment) -> AsyncIterator[list[Process]]:
    """Run all shards; the first one, which creates the installation key, is synced first."""
    # A node is not woken by objects of other shards, and would wait for half a minute.
    env.timing = replace(env.timing, not_ready_requeue=timedelta(seconds=2))
    async with AsyncExitStack() as stack:
        shards = []
        for number in range(M):
            process = await stack.enter_async_context(running_operator(env, shard=Shard(number, M)))
            await process.context.synced()
            shards.append(process)
        yield shards


def tenants_of(env: Environment, number: int, form: str = "web") -> list[str]:
    """Return uids whose nodes belong to this shard."""
    uids = (f"t{candidate}" for candidate in range(60))
    shard = Shard(number, M)
    return [uid for uid in uids if shard.owns(ObjectKey(env.namespace, f"{uid}-{form}"))]


async def owners_of(env: Environment, name: str) -> list[str]:
    metadata: Object = (await env.get(CONFIG_MAPS, name))["metadata"]
    return [owner["name"] for owner in metadata.get("ownerReferences", [])]


async def test_shard_receives_its_own_nodes_and_the_first_one_all(env: Environment) -> None:
    uids = [uid for number in range(M) for uid in tenants_of(env, number)[:3]]
    env.set_rows(*((uid, 1, uid) for uid in uids))
    async with running_shards(env) as shards:
        await env.create_hub()
        await env.create_form()
        await env.wait_for_status(ready=len(uids))
        for number, process in enumerate(shards):
            received = {key.name for key, _ in process.context.nodes.cache.items()}
            expected = uids if number == 0 else tenants_of(env, number)[:3]
            assert received == {f"{uid}-web" for uid in expected}


@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 1), (0, 1), (1, 0)])
async def test_object_is_handed_over_to_a_node_of_another_shard(
    env: Environment, first: int, second: int
) -> None:
    owner, contender = tenants_of(env, first)[0], tenants_of(env, second)[0]
    env.set_rows((owner, 1, "pro"))
    async with running_shards(env):
        await env.create_hub()
        await env.create_form(configMaps=[config_map(nameTemplate="{{ .plan }}-settings")])
        await wait_for_node_ready(env, f"{owner}-web")
        uid = (await env.get(CONFIG_MAPS, SHARED))["metadata"]["uid"]

        env.set_rows((owner, 1, "pro"), (contender, 1, "pro"))
        await env.force_sync()
        entry = await wait_for_resource_state(env, f"{contender}-web", "settings", "Conflicted")
        assert f'"{owner}-web"' in entry["message"]
        assert await owners_of(env, SHARED) == [f"{owner}-web"]

        env.set_rows((owner, 0, "pro"), (contender, 1, "pro"))
        await env.force_sync()
        await env.wait_for_nodes(f"{contender}-web")
        await wait_for_node_ready(env, f"{contender}-web", within=60)
        obj = await env.get(CONFIG_MAPS, SHARED)
        assert obj["metadata"]["uid"] == uid
        assert await owners_of(env, SHARED) == [f"{contender}-web"]
        labels = (await get_node(env, f"{contender}-web"))["metadata"]["labels"]
        assert "lynq.sh/conflicted" not in labels


async def test_object_that_another_shard_desires_while_its_deletion_waits_is_handed_over(
    env: Environment, api_server: MemoryApiServer
) -> None:
    owner, contender = tenants_of(env, 1)[0], tenants_of(env, 2)[0]
    test_client = env.client

    async def contest(request: Request, send: Send) -> Response:
        if request.verb == "delete" and request.path.endswith(f"/configmaps/{owner}-first"):
            env.set_rows((owner, 0, "pro"), (contender, 1, "pro"))
            await env.force_sync()
            await wait_for_resource_state(env, f"{contender}-web", "settings", "Conflicted")
        return await send(request)

    # Of each kind, one object is written at a time, so that the second deletion waits.
    options = ClientOptions(max_in_flight=2)
    env.client = api_server.client(options).intercepted(contest)
    async with running_shards(env):
        env.client = test_client
        env.set_rows((owner, 1, "pro"))
        await env.create_hub()
        first = config_map(id="first", nameTemplate="{{ .uid }}-first")
        shared = config_map(nameTemplate="{{ .plan }}-settings")
        await env.create_form(configMaps=[first, shared])
        await wait_for_node_ready(env, f"{owner}-web")
        uid = (await env.get(CONFIG_MAPS, SHARED))["metadata"]["uid"]
        env.set_rows((owner, 0, "pro"))
        await env.force_sync()
        await env.wait_for_nodes(f"{contender}-web", within=60)
        await wait_for_node_ready(env, f"{contender}-web", within=60)
        assert (await env.get(CONFIG_MAPS, SHARED))["metadata"]["uid"] == uid


async def test_node_that_waits_for_a_dependency_keeps_the_object_of_another_shard(
    env: Environment,
) -> None:
    owner, contender = tenants_of(env, 1)[0], tenants_of(env, 2)[0]
    app = deployment("app", replicas=1, annotations={"local.lynq.sh/ready": "{{ .plan }}"})
    env.set_rows((owner, 1, "soon"))
    async with running_shards(env):
        await env.create_hub()
        await env.create_form(
            deployments=[{"id": "app", "nameTemplate": "{{ .uid }}-app", "spec": app}],
            configMaps=[config_map("data", nameTemplate=SHARED, dependIds=["app"])],
        )
        await wait_for_node_ready(env, f"{owner}-web")
        uid = (await env.get(CONFIG_MAPS, SHARED))["metadata"]["uid"]
        env.set_rows((owner, 1, "soon"), (contender, 1, "never"))
        await env.force_sync()
        await wait_for_resource_state(env, f"{contender}-web", "settings", "Conflicted", within=60)
        env.set_rows((owner, 0, "soon"), (contender, 1, "never"))
        await env.force_sync()
        await env.wait_for_nodes(f"{contender}-web")
        assert (await env.get(CONFIG_MAPS, SHARED))["metadata"]["uid"] == uid


async def test_object_that_another_shard_desires_while_its_node_is_confirmed_is_handed_over(
    env: Environment,
) -> None:
    """The node is read once more before its objects are pruned, which may take a while."""
    uid = next(uid for uid in tenants_of(env, 1, "first") if uid in tenants_of(env, 2, "second"))
    shared, test_client = config_map(nameTemplate=SHARED), env.client
    contested: list[bool] = []

    async def contest(request: Request, send: Send) -> Response:
        is_confirmation = request.verb == "get" and request.path.endswith(f"/lynqnodes/{uid}-first")
        if is_confirmation and contested == [False]:
            contested[0] = True
            await env.create_form("second", configMaps=[shared])
            await wait_for_resource_state(env, f"{uid}-second", "settings", "Conflicted")
            # A deletion does without the nodes in conflict if it has just read them.
            await asyncio.sleep(env.timing.contenders_lifetime)
        return await send(request)

    env.set_rows((uid, 1, "pro"))
    env.client = test_client.intercepted(contest)
    async with running_shards(env):
        env.client = test_client
        await env.create_hub()
        other = config_map(id="other", nameTemplate="{{ .uid }}-other")
        await env.create_form("first", configMaps=[shared, other])
        await wait_for_node_ready(env, f"{uid}-first")
        before = (await env.get(CONFIG_MAPS, SHARED))["metadata"]["uid"]
        contested.append(False)
        await env.patch(FORMS, "first", {"spec": {"configMaps": [other]}})

        async def is_handed_over() -> bool:
            return await owners_of(env, SHARED) == [f"{uid}-second"]

        await eventually(is_handed_over, within=60)
        assert contested == [True]
        assert (await env.get(CONFIG_MAPS, SHARED))["metadata"]["uid"] == before


async def test_entry_moves_between_forms_whose_nodes_are_in_different_shards(
    env: Environment,
) -> None:
    uid = next(uid for uid in tenants_of(env, 1, "first") if uid in tenants_of(env, 2, "second"))
    moved = config_map(id="moved", nameTemplate="{{ .uid }}-moved")
    env.set_rows((uid, 1, "pro"))
    async with running_shards(env):
        await env.create_hub()
        await env.create_form("first", configMaps=[config_map(), moved])
        other = config_map(nameTemplate="{{ .uid }}-other")
        await env.create_form("second", configMaps=[other])
        await env.wait_for_status(ready=2)
        before = (await env.get(CONFIG_MAPS, f"{uid}-moved"))["metadata"]["uid"]
        await env.patch(FORMS, "first", {"spec": {"configMaps": [config_map()]}})
        await env.patch(FORMS, "second", {"spec": {"configMaps": [other, moved]}})

        async def is_handed_over() -> bool:
            return await owners_of(env, f"{uid}-moved") == [f"{uid}-second"]

        await eventually(is_handed_over, within=60)
        assert (await env.get(CONFIG_MAPS, f"{uid}-moved"))["metadata"]["uid"] == before


async def test_deleted_node_with_a_wrong_bucket_keeps_its_objects_if_it_was_orphaned(
    env: Environment,
) -> None:
    """Only the shard of the hubs may have observed the finalizer `orphan` of the node."""
    uid = tenants_of(env, 1)[0]
    name = f"{uid}-web"
    env.set_rows((uid, 1, "pro"))

    async def is_retained() -> bool:
        annotations = (await get_node(env, name))["metadata"]["annotations"]
        return bool(annotations.get("lynq.sh/retain") == "true")

    async with running_operator(env, shard=Shard(0, M)):
        await env.create_hub()
        await env.create_form()
        await eventually(lambda: exists(env, name, NODES))
        await env.client.delete(NODES, name, env.namespace, propagation="Orphan")
        await env.patch(NODES, name, {"metadata": {"labels": {"lynq.sh/bucket": None}}})
        await eventually(is_retained)
    async with running_operator(env, shard=Shard(1, M)):
        await env.wait_for_nodes()


@pytest.mark.parametrize("bucket", [None, "0"])
async def test_node_with_a_wrong_bucket_is_labelled_for_its_shard(
    env: Environment, bucket: str | None
) -> None:
    uid = tenants_of(env, 1)[0]
    env.set_rows((uid, 1, "pro"))
    async with running_shards(env):
        await env.create_hub()
        await env.create_form()
        node = await wait_for_node_ready(env, f"{uid}-web")
        right = node["metadata"]["labels"]["lynq.sh/bucket"]
        labels = {"metadata": {"labels": {"lynq.sh/bucket": bucket}}}
        await env.patch(NODES, f"{uid}-web", labels)

        async def is_labelled() -> bool:
            labels = (await get_node(env, f"{uid}-web"))["metadata"]["labels"]
            return bool(labels.get("lynq.sh/bucket") == right)

        await eventually(is_labelled)
        await stays(lambda: exists(env, f"{uid}-settings"), seconds=1)
        await env.client.delete(CONFIG_MAPS, f"{uid}-settings", env.namespace)
        await eventually(lambda: exists(env, f"{uid}-settings"), within=30)


async def create_refused_object(env: Environment) -> None:
    """Create a row whose only object exists before, so that its node is in conflict."""
    env.set_rows(("acme", 1, "pro"))
    await env.client.create(CONFIG_MAPS, {"metadata": {"name": SHARED}}, env.namespace)
    await env.create_hub()
    shared = config_map(nameTemplate="{{ .plan }}-settings", adoptionPolicy="Refuse")
    await env.create_form(configMaps=[shared])


async def test_node_is_labelled_before_its_status_reports_a_conflict(env: Environment) -> None:
    await create_refused_object(env)
    async with running_operator(env):
        await wait_for_resource_state(env, "acme-web", "settings", "Conflicted")
        patches = [
            b"lynq.sh/conflicted" in (request.body or b"")
            for request in env.requests.sent
            if request.verb == "patch" and "/lynqnodes/acme-web" in request.path
        ]
    assert patches[:2] == [True, False]


async def test_paused_node_in_conflict_is_labelled(env: Environment) -> None:
    """As a node that an older version has reported."""
    await create_refused_object(env)
    async with running_operator(env):
        await wait_for_resource_state(env, "acme-web", "settings", "Conflicted")
    metadata = {"labels": {"lynq.sh/conflicted": None}, "annotations": {"lynq.sh/paused": "true"}}
    await env.patch(NODES, "acme-web", {"metadata": metadata})

    async def is_labelled() -> bool:
        labels = (await get_node(env, "acme-web"))["metadata"]["labels"]
        return bool(labels.get("lynq.sh/conflicted") == "true")

    async with running_operator(env):
        await eventually(is_labelled)
