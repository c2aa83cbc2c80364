"""The whole operator in the test's own process, in the environment's namespace."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from cluster.controllers.environment import NODES, Environment, Object
from lynq.controllers.manager import Process, ProcessSettings
from lynq.controllers.options import Options
from lynq.kube import Resource
from lynq.kube.errors import NotFound
from waiting import eventually


@asynccontextmanager
async def running_operator(
    env: Environment, *, namespaces: tuple[str, ...] | None = None, **options: Any
) -> AsyncIterator[Process]:
    """Run hub, form and node controllers; `namespaces=()` lets them see the whole cluster."""
    watched = (env.namespace,) if namespaces is None else namespaces
    settings = ProcessSettings(
        options=Options(sqlite_directory=env.directory, namespaces=watched, **options)
    )
    process = Process(settings, env.client.intercepted(env.requests))
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(process.run(stop))
        yield process
        stop.set()


async def get_node(env: Environment, name: str) -> Object:
    """Return a node's whole object."""
    return await env.get(NODES, name)


def node_condition(node: Object, aspect: str) -> tuple[str, str]:
    """Return status and reason of a node's condition."""
    conditions = node.get("status", {}).get("conditions", [])
    condition: Object = next(
        (condition for condition in conditions if condition["type"] == aspect), {}
    )
    return condition.get("status", ""), condition.get("reason", "")


def resource_status(node: Object, resource_id: str) -> Object:
    """Return what a node's status says of one of its resources."""
    listed = node.get("status", {}).get("resources", [])
    return next((resource for resource in listed if resource["id"] == resource_id), {})


async def wait_for_node_condition(
    env: Environment,
    name: str,
    aspect: str,
    status: str,
    reason: str = "",
    *,
    within: float = 15.0,
) -> Object:
    """Wait until a node's condition is so, for the generation that it has."""

    async def so() -> Object:
        node = await _node_if_any(env, name)
        found, why = node_condition(node, aspect)
        assert (found, reason and why) == (status, reason), node.get("status")
        assert node["status"]["observedGeneration"] == node["metadata"]["generation"]
        return node

    return await eventually(so, within=within, every=0.05)


async def _node_if_any(env: Environment, name: str) -> Object:
    try:
        return await get_node(env, name)
    except NotFound:
        raise AssertionError(f"there is no node {name}") from None


async def wait_for_node_ready(env: Environment, name: str, *, within: float = 15.0) -> Object:
    """Wait until a node is ready."""
    return await wait_for_node_condition(env, name, "Ready", "True", within=within)


async def wait_for_resource_state(
    env: Environment, node: str, resource_id: str, state: str, *, within: float = 15.0
) -> Object:
    """Wait until a node's status says that a resource is in a state; return its entry."""

    async def so() -> Object:
        found_node = await _node_if_any(env, node)
        entry = resource_status(found_node, resource_id)
        assert entry.get("state") == state, found_node.get("status")
        return entry

    return await eventually(so, within=within, every=0.05)


async def wait_for_deletion(
    env: Environment, resource: Resource, name: str, *, within: float = 15.0
) -> None:
    """Wait until an object is not there any more."""

    async def gone() -> bool:
        try:
            await env.get(resource, name)
        except NotFound:
            return True
        return False

    await eventually(gone, within=within, every=0.05)
