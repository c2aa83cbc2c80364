"""An entry that renders another object, and both need what the API server allocates once."""

from built_in_resources import SERVICES
from operated.builders import (
    NODE,
    create_node,
    manifest_entry,
    update_node,
    wait_for_object,
)
from operated.environment import Environment, Object
from operated.running_operator import (
    get_node,
    running_operator,
    wait_for_node_ready,
)
from waiting import eventually


async def held_entry(env: Environment, name: str) -> Object:
    """Wait until the status lists an object as held back; return its entry."""

    async def matches() -> Object:
        resources: list[Object] = (await get_node(env, NODE))["status"]["resources"]
        place = (env.namespace, name)
        entries = [item for item in resources if (item["namespace"], item["name"]) == place]
        assert [item.get("reason") for item in entries] == ["HeldBack"], resources
        return entries[0]

    return await eventually(matches, within=15, every=0.05)


async def test_message_says_what_to_do_if_old_and_new_need_the_same_place(
    env: Environment,
) -> None:
    def service(name: str) -> Object:
        spec = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 31347}]}
        manifest = {"apiVersion": "v1", "kind": "Service", "spec": spec}
        return manifest_entry("web", manifest, nameTemplate=name)

    async with running_operator(env):
        await create_node(env, services=[service("web")])
        await wait_for_node_ready(env, NODE)
        await update_node(env, services=[service("web-2")])
        held = await held_entry(env, "web")
        assert "delete this object" in held["message"]
        await env.client.delete(SERVICES, "web", env.namespace)
        await wait_for_object(env, "web-2", bool, SERVICES)
        node = await wait_for_node_ready(env, NODE)
        assert [resource["name"] for resource in node["status"]["resources"]] == ["web-2"]
