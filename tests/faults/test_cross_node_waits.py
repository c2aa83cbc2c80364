"""Nodes that wait for other nodes: rollouts across shards, and objects that change owners."""

from contextlib import AsyncExitStack

from faults.tenants import managed_objects
from lynq.api.metadata import ObjectKey
from lynq.controllers.options import Shard
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import Environment, Object, config_map
from operated.running_operator import (
    running_operator,
    wait_for_node_ready,
)
from waiting import eventually


async def test_rollout_progresses_when_hub_shard_owns_none_of_its_nodes(
    env: Environment,
) -> None:
    other_shard = Shard(1, 2)
    uids = [f"t{number}" for number in range(40)]
    uids_of_other_shard = [
        uid for uid in uids if other_shard.owns(ObjectKey(env.namespace, f"{uid}-web"))
    ][:2]
    env.set_rows(*((uid, 1, "pro") for uid in uids_of_other_shard))
    async with AsyncExitStack() as stack:
        for number in range(2):
            process = await stack.enter_async_context(running_operator(env, shard=Shard(number, 2)))
            await process.context.synced()
        await env.create_hub()
        await env.create_form(configMaps=[], deployments=[deployment()], rollout={"maxSkew": 1})
        for uid in uids_of_other_shard:
            await wait_for_node_ready(env, f"{uid}-web")


async def test_swapped_objects_stay_until_one_of_them_is_deleted(env: Environment) -> None:
    numbers = range(6)
    before = {f"p{number}": f"t{number}" for number in numbers}
    env.set_rows(*((f"t{number}", 1, f"p{number}") for number in numbers))
    async with running_operator(env):
        await env.create_hub(sync_interval="1s")
        await env.create_form(configMaps=[config_map(nameTemplate="{{ .plan }}-settings")])
        for number in numbers:
            await wait_for_node_ready(env, f"t{number}-web")
        # Each node gets the object of the next one: every successor waits for another node.
        env.set_rows(*((f"t{number}", 1, f"p{(number + 1) % 6}") for number in numbers))
        await eventually(lambda: all_hold_back(env))
        await owners_are(env, before)
        await env.client.delete(CONFIG_MAPS, "p0-settings", env.namespace)
        await eventually(lambda: owners_are(env, {f"p{(n + 1) % 6}": f"t{n}" for n in numbers}))


async def all_hold_back(env: Environment) -> bool:
    """Check that every node keeps its old object, because the new one is another node's."""
    for node in (await env.nodes()).values():
        reasons = [resource.get("reason") for resource in node["status"].get("resources", [])]
        assert reasons == ["ResourceConflict", "HeldBack"]
    return True


async def owners_are(env: Environment, expected: dict[str, str]) -> bool:
    """Check that the settings of each plan are owned by the node of this uid."""
    listed = await managed_objects(env, CONFIG_MAPS, env.namespace)
    owner_uids = {
        name: [owner["name"] for owner in obj["metadata"].get("ownerReferences", [])]
        for name, obj in listed.items()
    }
    assert owner_uids == {f"{plan}-settings": [f"{uid}-web"] for plan, uid in expected.items()}
    return True


def deployment() -> Object:
    labels = {"app": "{{ .uid }}"}
    pods = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "app", "image": "app"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": pods}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    return {"id": "app", "nameTemplate": "{{ .uid }}-app", "spec": manifest}
