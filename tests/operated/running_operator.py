"""Runs the whole operator in the test process, and waits for node status."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from lynq.controllers.installation_key import KEY_SECRET
from lynq.controllers.manager import Process, ProcessSettings
from lynq.controllers.options import Options
from lynq.kube import Interceptor, Resource
from lynq.kube.errors import NotFound
from operated.environment import NODES, Environment, Object
from waiting import eventually


@asynccontextmanager
async def running_operator(
    env: Environment,
    *,
    namespaces: tuple[str, ...] | None = None,
    key_secret: str = KEY_SECRET,
    interceptor: Interceptor | None = None,
    **options: Any,
) -> AsyncIterator[Process]:
    """Run hub, form and node controllers; with `namespaces=()` they watch the whole cluster.

    The requests of the operator pass the interceptor, those of the test do not.
    """
    watched = (env.namespace,) if namespaces is None else namespaces
    options = {"timing": env.timing, **options}
    settings = ProcessSettings(
        options=Options(sqlite_directory=env.directory, namespaces=watched, **options),
        key_secret=key_secret,
    )
    client = env.client.intercepted(interceptor) if interceptor else env.client
    process = Process(settings, client.intercepted(env.requests))
    process.context = replace(process.context, clock=env.clock)
    env.context, env.registry = process.context, process.registry
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(process.run(stop))
        yield process
        stop.set()


async def get_node(env: Environment, name: str) -> Object:
    """Return a LynqNode."""
    return await env.get(NODES, name)


def node_condition(node: Object, condition_type: str) -> tuple[str, str]:
    """Return status and reason of a node condition."""
    conditions = node.get("status", {}).get("conditions", [])
    condition: Object = next(
        (condition for condition in conditions if condition["type"] == condition_type), {}
    )
    return condition.get("status", ""), condition.get("reason", "")


def resource_status(node: Object, resource_id: str) -> Object:
    """Return the entry of one resource in a node status."""
    listed = node.get("status", {}).get("resources", [])
    return next((resource for resource in listed if resource["id"] == resource_id), {})


async def wait_for_node_condition(
    env: Environment,
    name: str,
    condition_type: str,
    status: str,
    reason: str = "",
    *,
    within: float = 30.0,
) -> Object:
    """Wait until a condition has this status and reason for the node's current generation."""

    async def matches() -> Object:
        node = await _existing_node(env, name)
        actual_status, actual_reason = node_condition(node, condition_type)
        assert (actual_status, reason and actual_reason) == (status, reason), node.get("status")
        assert node["status"]["observedGeneration"] == node["metadata"]["generation"]
        return node

    return await eventually(matches, within=within, every=0.05)


async def _existing_node(env: Environment, name: str) -> Object:
    try:
        return await get_node(env, name)
    except NotFound:
        raise AssertionError(f"node {name} does not exist") from None


async def wait_for_node_ready(env: Environment, name: str, *, within: float = 30.0) -> Object:
    """Wait until a node is Ready."""
    return await wait_for_node_condition(env, name, "Ready", "True", within=within)


async def wait_for_resource_state(
    env: Environment,
    node: str,
    resource_id: str,
    state: str,
    *,
    reason: str = "",
    within: float = 30.0,
) -> Object:
    """Wait until a resource has this state in a node status; return its entry."""

    async def matches() -> Object:
        found_node = await _existing_node(env, node)
        entry = resource_status(found_node, resource_id)
        assert entry.get("state") == state, found_node.get("status")
        assert reason in ("", entry.get("reason")), found_node.get("status")
        return entry

    return await eventually(matches, within=within, every=0.05)


async def wait_for_deletion(
    env: Environment, resource: Resource, name: str, *, within: float = 30.0
) -> None:
    """Wait until an object does not exist."""

    async def deleted() -> bool:
        try:
            await env.get(resource, name)
        except NotFound:
            return True
        return False

    await eventually(deleted, within=within, every=0.05)


async def wait_for_garbage_collector(env: Environment, node: str) -> None:
    """Wait until the garbage collector is done with a node.

    It looks for new kinds every 30 s and then waits up to 30 s for their caches, and each test that
    installs a definition makes it do so again. In a new cluster it does not know LynqNodes yet.
    """

    async def is_collected() -> bool:
        metadata = (await env.get(NODES, node))["metadata"]
        return (
            "deletionTimestamp" in metadata and "foregroundDeletion" not in metadata["finalizers"]
        )

    await eventually(is_collected, within=120)
