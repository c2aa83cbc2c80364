"""Proof of ownership across namespaces, and nodes that desire the same object."""

import uuid

from lynq.kube.resource import CONFIG_MAPS, NAMESPACES
from operated.builders import (
    NODE,
    annotations,
    create_node,
    delete_node,
    entry,
    extra_namespace,
    has_plan,
    labels,
    manifest_entry,
    update_node,
    wait_for_object,
)
from operated.environment import NODES, Environment, Object
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually, stays

OTHER = "beta-web"


async def test_copy_in_another_namespace_is_not_deleted(env: Environment) -> None:
    async with (
        extra_namespace(env) as home,
        extra_namespace(env) as look,
        running_operator(env, namespaces=()),
    ):
        node = await create_node(env, entry("settings", targetNamespace=home))
        await wait_for_node_ready(env, NODE)
        live = await env.client.get(CONFIG_MAPS, "settings", home)
        place = f"{node['metadata']['uid']}:/ConfigMap:{home}/settings"
        assert annotations(live)["lynq.sh/tracking-id"] == place
        kept = ("labels", "annotations", "managedFields")
        metadata = {key: live["metadata"][key] for key in kept}
        copy = {"metadata": metadata | {"name": "settings"}, "data": live["data"]}
        created = await env.client.create(CONFIG_MAPS, copy, look)

        async def unchanged() -> bool:
            return await env.client.get(CONFIG_MAPS, "settings", look) == created

        await stays(unchanged, seconds=1, every=0.1)
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        assert await unchanged()


async def test_changed_tracking_label_is_restored(env: Environment) -> None:
    async with extra_namespace(env) as home, running_operator(env, namespaces=()):
        await create_node(env, entry("settings", targetNamespace=home))
        await create_node(env, entry("other"), name=OTHER)
        await wait_for_node_ready(env, NODE)
        await wait_for_node_ready(env, OTHER)
        uid = (await env.client.get(CONFIG_MAPS, "settings", home))["metadata"]["uid"]
        for name in ("nobody", OTHER):
            patch = {"metadata": {"labels": {"lynq.sh/node": name}}, "data": {"plan": "forged"}}
            await env.client.patch(CONFIG_MAPS, "settings", patch, home, manager="kubectl-label")
            live = await wait_for_object(
                env, "settings", lambda obj: labels(obj)["lynq.sh/node"] == NODE, namespace=home
            )
            assert live["metadata"]["uid"] == uid
        # The disputed field is reported, because conflictPolicy is Stuck.
        await wait_for_resource_state(env, NODE, "settings", "Conflicted")
        await delete_node(env, OTHER)
        await wait_for_deletion(env, NODES, OTHER)
        assert await env.client.get(CONFIG_MAPS, "settings", home)


async def test_recreated_node_takes_over_objects_of_the_same_name(env: Environment) -> None:
    async with extra_namespace(env) as home:
        async with running_operator(env, namespaces=()):
            await create_node(env, entry("settings", targetNamespace=home))
            await wait_for_node_ready(env, NODE)
        first = await env.client.get(CONFIG_MAPS, "settings", home)
        # Without its finalizer, the node leaves its objects behind.
        await env.patch(NODES, NODE, {"metadata": {"finalizers": None}})
        await delete_node(env)
        node = await create_node(env, entry("settings", targetNamespace=home), plan="free")
        async with running_operator(env, namespaces=()):
            await wait_for_node_ready(env, NODE)
            live = await wait_for_object(env, "settings", has_plan("free"), namespace=home)
            assert live["metadata"]["uid"] == first["metadata"]["uid"]
            proof = annotations(live)["lynq.sh/tracking-id"]
            assert proof.startswith(node["metadata"]["uid"])
            assert "lynq.sh/adopted" not in annotations(live)
            await delete_node(env)
            await wait_for_deletion(env, NODES, NODE)
            listed = await env.client.list(CONFIG_MAPS, home)
            assert "settings" not in [obj["metadata"]["name"] for obj in listed.items]


async def test_two_nodes_at_once_give_the_object_to_the_first(env: Environment) -> None:
    async with running_operator(env):
        names = [NODE, OTHER]
        for name in names:
            await create_node(env, entry("shared", name), name=name)

        async def settled() -> tuple[str, str]:
            nodes = await env.nodes()
            assert all(nodes[name].get("status", {}).get("resources") for name in names)
            states = {name: nodes[name]["status"]["resources"][0] for name in names}
            assert sorted(entry["state"] for entry in states.values()) == ["Conflicted", "Ready"]
            owner = next(name for name in names if states[name]["state"] == "Ready")
            other = next(name for name in names if name != owner)
            assert owner in states[other]["message"]
            return owner, other

        owner, other = await eventually(settled, within=15)
        uid = (await wait_for_object(env, "shared", has_plan(owner)))["metadata"]["uid"]
        # The object goes over to the other node when its owner is deleted.
        await delete_node(env, owner)
        await wait_for_deletion(env, NODES, owner)
        live = await wait_for_object(env, "shared", has_plan(other))
        assert live["metadata"]["uid"] == uid


async def test_namespace_desired_by_two_nodes_survives_its_owner(env: Environment) -> None:
    name = f"shared-{uuid.uuid4().hex[:8]}"
    manifest: Object = {"apiVersion": "v1", "kind": "Namespace"}
    home = manifest_entry("home", manifest, nameTemplate=name)
    async with running_operator(env, namespaces=()):
        await create_node(env, namespaces=[home])
        await wait_for_node_ready(env, NODE)
        await create_node(env, namespaces=[home], name=OTHER)
        await wait_for_resource_state(env, OTHER, "home", "Conflicted")
        uid = (await env.client.get(NAMESPACES, name))["metadata"]["uid"]
        await update_node(env, entry("settings"), namespaces=[])
        await wait_for_node_ready(env, OTHER)
        live = await env.client.get(NAMESPACES, name)
        assert live["metadata"]["uid"] == uid
        assert labels(live)["lynq.sh/node"] == OTHER
        await delete_node(env, OTHER)
        await wait_for_deletion(env, NODES, OTHER)
