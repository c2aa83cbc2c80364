"""While the API server is busy, a new node reports its progress late; no object of it is lost."""

import asyncio
from dataclasses import replace

import pytest

from lynq.kube import Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS
from operated.builders import exists
from operated.environment import FORMS, QUICK, Environment, Object, config_map
from operated.manifests import deployment
from operated.running_operator import (
    get_node,
    running_operator,
    wait_for_node_condition,
    wait_for_node_ready,
)
from waiting import eventually, stays

NODE = "acme-web"
SETTINGS = "acme-settings"
SILENCE = 600.0
"""Seconds that no test takes."""
NEVER_READY: Object = {
    "id": "app",
    "nameTemplate": "{{ .uid }}-app",
    "spec": deployment("app", annotations={"local.lynq.sh/ready": "never"}),
}


@pytest.fixture
def busy_env(env: Environment) -> Environment:
    """Each write takes far longer than the quickest request."""

    async def delay_writes(request: Request, send: Send) -> Response:
        response = await send(request)
        if request.writes:
            await asyncio.sleep(0.2)
        return response

    env.client = env.client.intercepted(delay_writes)
    env.set_rows(("acme", 1, "pro"))
    return env


@pytest.fixture
def silent_env(busy_env: Environment) -> Environment:
    """An operator that reports no progress of a new node, however long the test takes."""
    busy_env.timing = replace(QUICK, inventory_report_delay=SILENCE, busy_report_delay=SILENCE)
    return busy_env


async def create_unready_tenant(env: Environment) -> None:
    """Create a node whose ConfigMap exists, and whose progress is not reported yet."""
    await env.create_hub()
    await env.create_form(deployments=[NEVER_READY])
    await eventually(lambda: exists(env, SETTINGS), within=30)
    assert not await is_reported(env)


async def is_reported(env: Environment) -> bool:
    status = (await get_node(env, NODE)).get("status", {})
    return bool(status.get("conditions") or status.get("resources"))


async def test_progress_of_a_new_node_is_reported_late(busy_env: Environment) -> None:
    async def is_unreported() -> bool:
        return not await is_reported(busy_env)

    async with running_operator(busy_env):
        await create_unready_tenant(busy_env)
        await stays(is_unreported, seconds=2)
        await wait_for_node_condition(busy_env, NODE, "Ready", "False")
        assert await is_reported(busy_env)


async def test_first_writes_of_a_busy_api_server_are_reported_with_their_result(
    busy_env: Environment,
) -> None:
    async def delay_config_maps(request: Request, send: Send) -> Response:
        if request.writes and "/configmaps/" in request.path:
            await asyncio.sleep(busy_env.timing.inventory_report_delay + 1)
        return await send(request)

    busy_env.client = busy_env.client.intercepted(delay_config_maps)
    async with running_operator(busy_env):
        await busy_env.create_hub()
        await busy_env.create_form()
        await wait_for_node_ready(busy_env, NODE)
    assert sum(request.path.endswith(f"/{NODE}/status") for request in busy_env.requests.sent) == 1


async def test_object_of_an_unreported_node_is_pruned_with_its_entry(
    silent_env: Environment,
) -> None:
    async def is_pruned() -> bool:
        return not await exists(silent_env, SETTINGS)

    async with running_operator(silent_env):
        await create_unready_tenant(silent_env)
        await silent_env.patch(FORMS, "web", {"spec": {"configMaps": []}})
        await eventually(is_pruned, within=30)


async def test_objects_of_an_unreported_node_are_deleted_with_it(silent_env: Environment) -> None:
    async with running_operator(silent_env):
        await create_unready_tenant(silent_env)
        silent_env.set_rows(("acme", 0, "pro"))
        await silent_env.force_sync()
        await silent_env.wait_for_nodes()
        assert not await exists(silent_env, SETTINGS)


async def test_objects_of_an_unreported_node_survive_a_restart(silent_env: Environment) -> None:
    async with running_operator(silent_env):
        await create_unready_tenant(silent_env)
        uid = (await silent_env.get(CONFIG_MAPS, SETTINGS))["metadata"]["uid"]
    assert not await is_reported(silent_env)
    silent_env.timing = QUICK
    async with running_operator(silent_env):
        await wait_for_node_condition(silent_env, NODE, "Ready", "False")
    assert (await silent_env.get(CONFIG_MAPS, SETTINGS))["metadata"]["uid"] == uid


async def test_object_that_existed_is_reported_at_once(busy_env: Environment) -> None:
    await busy_env.client.create(CONFIG_MAPS, {"metadata": {"name": SETTINGS}}, busy_env.namespace)
    async with running_operator(busy_env):
        await busy_env.create_hub()
        await busy_env.create_form(
            deployments=[NEVER_READY], configMaps=[config_map(adoptionPolicy="Own")]
        )
        await busy_env.wait_for_event("ResourceAdopted", containing="is owned now")
