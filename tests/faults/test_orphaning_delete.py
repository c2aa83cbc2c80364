"""Deletes with propagationPolicy Orphan keep the objects of nodes."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from faults.crash import intercepted_operator
from faults.tenants import managed_objects, watched_namespaces
from lynq.kube import Request, Response, Send
from lynq.kube.errors import KubeError
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import HUBS, NODES, Environment, config_map
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
)
from waiting import eventually, stays


async def test_orphaning_delete_of_many_nodes_keeps_all_objects(
    env: Environment, other_namespace: str
) -> None:
    uids = [f"t{number:03}" for number in range(100)]
    env.set_rows(*((uid, 1, "pro") for uid in uids))
    async with running_operator(env, namespaces=watched_namespaces(env)):
        await env.create_hub()
        await env.create_form(configMaps=[config_map(targetNamespace=other_namespace)])

        async def ready() -> bool:
            return bool((await env.status()).get("ready") == len(uids))

        await eventually(ready, within=60)
        # Paused, so that the hub does not re-create the nodes, which would adopt the objects.
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
        await asyncio.gather(
            *(
                env.client.delete(NODES, f"{uid}-web", env.namespace, propagation="Orphan")
                for uid in uids
            )
        )
        await env.wait_for_nodes(within=60)
    remaining = await managed_objects(env, CONFIG_MAPS, other_namespace)
    assert sorted(remaining) == [f"{uid}-settings" for uid in uids]


async def test_orphaned_objects_survive_crash_during_orphaning_delete(
    env: Environment, other_namespace: str
) -> None:
    env.set_rows(("acme", 1, "pro"))
    names = [f"acme-{part}" for part in ("one", "two", "three")]
    maps = [
        config_map(id=name, nameTemplate=name, targetNamespace=other_namespace) for name in names
    ]
    async with running_operator(env, namespaces=watched_namespaces(env)):
        await env.create_hub()
        await env.create_form(configMaps=maps)
        await wait_for_node_ready(env, "acme-web")
        # Paused, so that the hub does not re-create the node, which would adopt the objects.
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
    async with killed_after_one_object(env) as killed:
        await env.client.delete(NODES, "acme-web", env.namespace, propagation="Orphan")
        await asyncio.wait_for(killed.wait(), 20)

    async def orphan_finalizer_removed() -> bool:
        return "orphan" not in (await env.get(NODES, "acme-web"))["metadata"]["finalizers"]

    await eventually(orphan_finalizer_removed)
    async with running_operator(env, namespaces=watched_namespaces(env)):
        await wait_for_deletion(env, NODES, "acme-web")
    assert sorted(await managed_objects(env, CONFIG_MAPS, other_namespace)) == sorted(names)


@asynccontextmanager
async def killed_after_one_object(env: Environment) -> AsyncIterator[asyncio.Event]:
    """Run an operator that crashes after it released one ConfigMap."""
    killed, releases = asyncio.Event(), itertools.count()

    async def intercept(request: Request, send: Send) -> Response:
        is_release = request.verb == "patch" and "/configmaps/" in request.path
        if is_release and next(releases) > 0:
            await killed.wait()
        if killed.is_set():
            raise KubeError("the operator has crashed")
        response = await send(request)
        if is_release:
            killed.set()
        return response

    process = intercepted_operator(env, intercept)
    running = asyncio.create_task(process.run(asyncio.Event()))
    try:
        await process.context.synced()
        yield killed
    finally:
        running.cancel()
        await asyncio.wait((running,))


async def test_edited_node_of_a_deleted_hub_deletes_nothing(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env):
        await env.create_hub()
        await env.create_form(configMaps=[config_map()])
        await wait_for_node_ready(env, "acme-web")
        await env.client.delete(HUBS, "hub", env.namespace, propagation="Orphan")
        await wait_for_deletion(env, HUBS, "hub")
        await env.patch(NODES, "acme-web", {"spec": {"configMaps": []}})

        async def is_kept() -> bool:
            return (
                "deletionTimestamp" not in (await env.get(CONFIG_MAPS, "acme-settings"))["metadata"]
            )

        await stays(is_kept, seconds=2)
