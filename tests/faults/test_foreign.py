"""What others do to our objects, and what we must not do to theirs."""

import asyncio

from cluster.controllers.operating import is_gone, node_is_ready, node_says, operating, resource_in
from cluster.controllers.stage import HUBS, NODES, Object, Stage
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

ROWS = (("acme", 1, "pro"), ("beta", 1, "pro"))
FINALIZER = "lynqnode.operator.lynq.sh/finalizer"


async def tenants(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub(source={"syncInterval": "1s"})
    await stage.form()
    for name in ("acme-web", "beta-web"):
        await node_is_ready(stage, name)


async def test_an_object_of_somebody_else_is_neither_taken_nor_deleted(stage: Stage) -> None:
    metadata = {"name": "acme-settings", "namespace": stage.namespace}
    theirs: Object = {"metadata": metadata, "data": {"plan": "theirs"}}
    made = await stage.client.apply(CONFIG_MAPS, theirs, manager="somebody")
    async with operating(stage):
        stage.rows(*ROWS)
        await stage.hub(source={"syncInterval": "1s"})
        await stage.form()
        node = await node_says(stage, "acme-web", "Conflicted", "True")
        entry = resource_in(node, "settings")
        assert entry["state"] == "Conflicted"
        assert "somebody" in entry["message"]
        await node_is_ready(stage, "beta-web")
        await stage.has_status(ready=1, failed=1)

        stage.rows(ROWS[1])
        await stage.has_nodes("beta-web")
        assert await stage.get(CONFIG_MAPS, "acme-settings") == made
        await stage.has_status(desired=1, ready=1, failed=0)


async def test_a_node_deleted_by_hand_comes_back(stage: Stage) -> None:
    async with operating(stage):
        await tenants(stage)
        before = await stage.nodes()
        settings = await stage.get(CONFIG_MAPS, "acme-settings")
        await stage.client.delete(NODES, "acme-web", stage.namespace)

        async def another() -> bool:
            node = (await stage.nodes()).get("acme-web")
            return node is not None and node["metadata"]["uid"] not in str(before)

        await eventually(another, within=15)
        await node_is_ready(stage, "acme-web")
        again = await stage.get(CONFIG_MAPS, "acme-settings")
        assert again["metadata"]["uid"] != settings["metadata"]["uid"]
        assert again["data"] == settings["data"]
        assert (await stage.nodes())["beta-web"] == before["beta-web"]


async def test_an_edit_of_a_nodes_spec_is_undone(stage: Stage) -> None:
    async with operating(stage):
        await tenants(stage)
        before = (await stage.nodes())["acme-web"]
        await stage.change(NODES, "acme-web", {"spec": {"configMaps": []}})

        async def undone() -> bool:
            node = await stage.get(NODES, "acme-web")
            return bool(node["spec"] == before["spec"])

        await eventually(undone, within=15)
        await node_is_ready(stage, "acme-web")
        await stage.has_event("DriftCorrected", containing="acme")
        assert (await stage.get(CONFIG_MAPS, "acme-settings"))["data"] == {"plan": "pro"}


async def test_what_ties_a_node_to_its_hub_is_put_back(stage: Stage) -> None:
    async with operating(stage):
        await tenants(stage)
        before = (await stage.nodes())["acme-web"]["metadata"]
        marks = ("labels", "ownerReferences", "finalizers")
        for mark in marks:
            await stage.change(NODES, "acme-web", {"metadata": {mark: None}})

            async def healed(mark: str = mark) -> bool:
                found = (await stage.get(NODES, "acme-web"))["metadata"]
                assert found["uid"] == before["uid"]
                return bool(found.get(mark) == before[mark])

            await eventually(healed, within=15)
        # Without both, labels and owner, nothing would say whose it is; with one of them it heals.
        await stage.change(NODES, "acme-web", {"metadata": {"labels": None, "finalizers": None}})

        async def whole() -> bool:
            found = (await stage.get(NODES, "acme-web"))["metadata"]
            return all(found.get(mark) == before[mark] for mark in marks)

        await eventually(whole, within=15)
        assert before["finalizers"] == [FINALIZER]
        assert await stage.names() == ["acme-web", "beta-web"]


async def test_annotations_that_a_row_gave_are_put_back(stage: Stage) -> None:
    async with operating(stage):
        await tenants(stage)
        forged = {"metadata": {"annotations": {"lynq.sh/extra": '{"plan":"forged"}'}}}
        await stage.change(NODES, "acme-web", forged)

        async def undone() -> bool:
            node = await stage.get(NODES, "acme-web")
            return "forged" not in node["metadata"]["annotations"]["lynq.sh/extra"]

        await eventually(undone, within=15)

        async def as_the_row_says() -> bool:
            return bool((await stage.get(CONFIG_MAPS, "acme-settings"))["data"]["plan"] == "pro")

        await eventually(as_the_row_says, within=15)


async def test_nodes_of_a_hub_that_leaves_them_orphaned_stay(stage: Stage) -> None:
    async with operating(stage):
        await tenants(stage)
        await stage.client.delete(HUBS, "hub", stage.namespace, propagation="Orphan")
        await stage.is_gone(HUBS, "hub")
        await asyncio.sleep(2)
        nodes = await stage.nodes()
        assert sorted(nodes) == ["acme-web", "beta-web"]
        assert all("ownerReferences" not in node["metadata"] for node in nodes.values())
        assert await stage.get(CONFIG_MAPS, "acme-settings")


async def test_objects_deleted_or_stripped_by_others_come_back(stage: Stage) -> None:
    async with operating(stage):
        await tenants(stage)
        before = await stage.get(CONFIG_MAPS, "acme-settings")
        await stage.client.delete(CONFIG_MAPS, "acme-settings", stage.namespace)

        async def back() -> bool:
            found = await stage.client.list(CONFIG_MAPS, stage.namespace)
            named = {each["metadata"]["name"]: each for each in found.items}
            again = named.get("acme-settings", {})
            return bool(again.get("data") == before["data"])

        await eventually(back, within=15)
        strip = {"metadata": {"labels": None, "annotations": None, "ownerReferences": None}}
        await stage.change(CONFIG_MAPS, "beta-settings", strip)

        async def marked() -> bool:
            metadata = (await stage.get(CONFIG_MAPS, "beta-settings"))["metadata"]
            return bool({"labels", "annotations", "ownerReferences"} <= metadata.keys())

        await eventually(marked, within=15)
        stage.rows()
        await stage.has_nodes(within=15)
        for name in ("acme-settings", "beta-settings"):
            await is_gone(stage, CONFIG_MAPS, name)
