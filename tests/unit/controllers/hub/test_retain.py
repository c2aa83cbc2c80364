"""A deleted hub whose nodes cannot release retained objects emits one event."""

from lynq.kube.resource import CONFIG_MAPS
from operated.builders import (
    NODE,
    annotate,
    event_count,
    labels,
    wait_for_event,
    wait_for_object,
)
from operated.environment import HUBS, Environment, config_map
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
)

KEPT = config_map(id="kept", nameTemplate="{{ .uid }}-kept", deletionPolicy="Retain")
FAILURE_REASON = "RetainResourceProcessFailed"


async def create_tenant(env: Environment) -> None:
    """Create a node with one object to delete and one to retain."""
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form(configMaps=[config_map(), KEPT])
    await wait_for_node_ready(env, NODE)


async def test_retain_failure_is_reported_once_on_hub(env: Environment) -> None:
    async with running_operator(env):
        await create_tenant(env)
        env.requests.failing.add(("patch", "/acme-kept"))
        await env.client.delete(HUBS, "hub", env.namespace)

        message = await wait_for_event(env, FAILURE_REASON, about="hub")
        assert message.startswith("Warning: ")
        assert f"ConfigMap {env.namespace}/acme-kept" in message
        assert "failed by the test" in message
        assert "acme-settings" not in message
        # A change of a deleted node requeues the hub.
        await annotate(env, touched="1")
        await env.wait_until_idle()
        assert await event_count(env, FAILURE_REASON) == 1

        env.requests.failing.clear()
        await wait_for_deletion(env, HUBS, "hub", within=40)
        await wait_for_object(
            env, "acme-kept", lambda obj: labels(obj).get("lynq.sh/orphaned") == "true"
        )
        await wait_for_deletion(env, CONFIG_MAPS, "acme-settings")


async def test_delete_failure_is_not_reported_as_retain_failure(env: Environment) -> None:
    async with running_operator(env):
        await create_tenant(env)
        env.requests.failing.add(("delete", "/acme-settings"))
        await env.client.delete(HUBS, "hub", env.namespace)
        await wait_for_event(env, "CleanupPartialFailure", about=NODE)
        await wait_for_event(env, "RetainResourcePreserved", about=NODE)
        await env.wait_until_idle()
        assert await event_count(env, FAILURE_REASON) == 0
        env.requests.failing.clear()
        await wait_for_deletion(env, HUBS, "hub", within=40)
