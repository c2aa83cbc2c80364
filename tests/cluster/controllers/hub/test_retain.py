"""A deleted hub whose nodes cannot let go of what they retain: it says so, once."""

from cluster.controllers.environment import HUBS, Environment, config_map
from cluster.controllers.node.builders import (
    NODE,
    annotate,
    becomes,
    event_count,
    event_recorded,
    labels,
)
from cluster.controllers.running_operator import is_gone, node_is_ready, running_operator
from lynq.kube.resource import CONFIG_MAPS

KEPT = config_map(id="kept", nameTemplate="{{ .uid }}-kept", deletionPolicy="Retain")
TOLD = "RetainResourceProcessFailed"


async def a_tenant(env: Environment) -> None:
    """Have a node with one object that goes with it and one that it retains."""
    env.rows(("acme", 1, "pro"))
    await env.hub()
    await env.form(configMaps=[config_map(), KEPT])
    await node_is_ready(env, NODE)


async def test_what_cannot_be_retained_is_told_once_on_the_hub(env: Environment) -> None:
    async with running_operator(env):
        await a_tenant(env)
        env.traffic.refuse.add(("patch", "/acme-kept"))
        await env.client.delete(HUBS, "hub", env.namespace)

        sentence = await event_recorded(env, TOLD, about="hub")
        assert sentence.startswith("Warning: ")
        assert f"ConfigMap {env.namespace}/acme-kept" in sentence
        assert "refused by the test" in sentence
        assert "acme-settings" not in sentence
        # Each change of a leaving node has the hub look at it again.
        await annotate(env, looked_at="again")
        await env.settles()
        assert await event_count(env, TOLD) == 1

        env.traffic.refuse.clear()
        await is_gone(env, HUBS, "hub", within=40)
        await becomes(env, "acme-kept", lambda obj: labels(obj).get("lynq.sh/orphaned") == "true")
        await is_gone(env, CONFIG_MAPS, "acme-settings")


async def test_what_cannot_be_deleted_is_not_told_as_unretained(env: Environment) -> None:
    async with running_operator(env):
        await a_tenant(env)
        env.traffic.refuse.add(("delete", "/acme-settings"))
        await env.client.delete(HUBS, "hub", env.namespace)
        await event_recorded(env, "CleanupPartialFailure", about=NODE)
        await event_recorded(env, "RetainResourcePreserved", about=NODE)
        await env.settles()
        assert await event_count(env, TOLD) == 0
        env.traffic.refuse.clear()
        await is_gone(env, HUBS, "hub", within=40)
