"""Changes of our objects by other clients, and objects that belong to other clients."""

from lynq.kube.resource import CONFIG_MAPS
from operated.environment import HUBS, NODES, Environment, Object
from operated.running_operator import (
    resource_status,
    running_operator,
    wait_for_deletion,
    wait_for_node_condition,
    wait_for_node_ready,
)
from waiting import eventually

ROWS = (("acme", 1, "pro"), ("beta", 1, "pro"))
FINALIZER = "lynqnode.operator.lynq.sh/finalizer"


async def create_tenants(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub(sync_interval="1s")
    await env.create_form()
    for name in ("acme-web", "beta-web"):
        await wait_for_node_ready(env, name)


async def test_foreign_object_is_neither_adopted_nor_deleted(env: Environment) -> None:
    metadata = {"name": "acme-settings", "namespace": env.namespace}
    foreign: Object = {"metadata": metadata, "data": {"plan": "theirs"}}
    obj = await env.client.apply(CONFIG_MAPS, foreign, manager="kubectl-edit")
    async with running_operator(env):
        env.set_rows(*ROWS)
        await env.create_hub(sync_interval="1s")
        await env.create_form()
        node = await wait_for_node_condition(env, "acme-web", "Conflicted", "True")
        entry = resource_status(node, "settings")
        assert entry["state"] == "Conflicted"
        assert "kubectl-edit" in entry["message"]
        await wait_for_node_ready(env, "beta-web")
        await env.wait_for_status(ready=1, failed=1)

        env.set_rows(ROWS[1])
        await env.wait_for_nodes("beta-web")
        assert await env.get(CONFIG_MAPS, "acme-settings") == obj
        await env.wait_for_status(desired=1, ready=1, failed=0)


async def test_deleted_node_is_recreated(env: Environment) -> None:
    async with running_operator(env):
        await create_tenants(env)
        before = await env.nodes()
        settings = await env.get(CONFIG_MAPS, "acme-settings")
        await env.client.delete(NODES, "acme-web", env.namespace)

        async def recreated() -> bool:
            node = (await env.nodes()).get("acme-web")
            return node is not None and node["metadata"]["uid"] not in str(before)

        await eventually(recreated, within=15)
        await wait_for_node_ready(env, "acme-web")
        new = await env.get(CONFIG_MAPS, "acme-settings")
        assert new["metadata"]["uid"] != settings["metadata"]["uid"]
        assert new["data"] == settings["data"]
        assert (await env.nodes())["beta-web"] == before["beta-web"]


async def test_edited_node_spec_is_restored(env: Environment) -> None:
    async with running_operator(env):
        await create_tenants(env)
        before = (await env.nodes())["acme-web"]
        await env.patch(NODES, "acme-web", {"spec": {"configMaps": []}})

        async def restored() -> bool:
            node = await env.get(NODES, "acme-web")
            return bool(node["spec"] == before["spec"])

        await eventually(restored, within=15)
        await wait_for_node_ready(env, "acme-web")
        await env.wait_for_event("DriftCorrected", containing="acme")
        assert (await env.get(CONFIG_MAPS, "acme-settings"))["data"] == {"plan": "pro"}


async def test_hub_references_of_node_are_restored(env: Environment) -> None:
    async with running_operator(env):
        await create_tenants(env)
        before = (await env.nodes())["acme-web"]["metadata"]
        fields = ("labels", "ownerReferences", "finalizers")
        for field in fields:
            await env.patch(NODES, "acme-web", {"metadata": {field: None}})

            async def field_restored(field: str = field) -> bool:
                metadata = (await env.get(NODES, "acme-web"))["metadata"]
                assert metadata["uid"] == before["uid"]
                return bool(metadata.get(field) == before[field])

            await eventually(field_restored, within=15)
        # Either the label or the owner reference is enough to identify the hub.
        await env.patch(NODES, "acme-web", {"metadata": {"labels": None, "finalizers": None}})

        async def all_restored() -> bool:
            metadata = (await env.get(NODES, "acme-web"))["metadata"]
            return all(metadata.get(field) == before[field] for field in fields)

        await eventually(all_restored, within=15)
        assert before["finalizers"] == [FINALIZER]
        assert await env.node_names() == ["acme-web", "beta-web"]


async def test_row_annotations_of_node_are_restored(env: Environment) -> None:
    async with running_operator(env):
        await create_tenants(env)
        forged = {"metadata": {"annotations": {"lynq.sh/extra": '{"plan":"forged"}'}}}
        await env.patch(NODES, "acme-web", forged)

        async def restored() -> bool:
            node = await env.get(NODES, "acme-web")
            return "forged" not in node["metadata"]["annotations"]["lynq.sh/extra"]

        await eventually(restored, within=15)

        async def matches_row() -> bool:
            return bool((await env.get(CONFIG_MAPS, "acme-settings"))["data"]["plan"] == "pro")

        await eventually(matches_row, within=15)


async def test_orphaning_hub_delete_keeps_nodes(env: Environment) -> None:
    async with running_operator(env):
        await create_tenants(env)
        await env.client.delete(HUBS, "hub", env.namespace, propagation="Orphan")
        await env.wait_for_deletion(HUBS, "hub")
        await env.nodes_stay("acme-web", "beta-web", seconds=2)
        nodes = await env.nodes()
        assert all("ownerReferences" not in node["metadata"] for node in nodes.values())
        assert await env.get(CONFIG_MAPS, "acme-settings")


async def test_deleted_or_stripped_objects_are_restored(env: Environment) -> None:
    async with running_operator(env):
        await create_tenants(env)
        before = await env.get(CONFIG_MAPS, "acme-settings")
        await env.client.delete(CONFIG_MAPS, "acme-settings", env.namespace)

        async def object_recreated() -> bool:
            listed = await env.client.list(CONFIG_MAPS, env.namespace)
            named = {obj["metadata"]["name"]: obj for obj in listed.items}
            recreated = named.get("acme-settings", {})
            return bool(recreated.get("data") == before["data"])

        await eventually(object_recreated, within=15)
        strip = {"metadata": {"labels": None, "annotations": None, "ownerReferences": None}}
        await env.patch(CONFIG_MAPS, "beta-settings", strip)

        async def metadata_restored() -> bool:
            metadata = (await env.get(CONFIG_MAPS, "beta-settings"))["metadata"]
            return bool({"labels", "annotations", "ownerReferences"} <= metadata.keys())

        await eventually(metadata_restored, within=15)
        # One row is left: an emptied table deletes nothing.
        env.set_rows(("last", 1, "pro"))
        await env.wait_for_nodes("last-web", within=15)
        for name in ("acme-settings", "beta-settings"):
            await wait_for_deletion(env, CONFIG_MAPS, name)
