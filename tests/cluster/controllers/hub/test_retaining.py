"""A deleted hub whose nodes cannot let go of what they retain: it says so, once."""

from cluster.controllers.node.making import NODE, becomes, is_told, labels, mark, told
from cluster.controllers.operating import is_gone, node_is_ready, operating
from cluster.controllers.stage import HUBS, Stage, config_map
from lynq.kube.resource import CONFIG_MAPS

KEPT = config_map(id="kept", nameTemplate="{{ .uid }}-kept", deletionPolicy="Retain")
TOLD = "RetainResourceProcessFailed"


async def a_tenant(stage: Stage) -> None:
    """Have a node with one object that goes with it and one that it retains."""
    stage.rows(("acme", 1, "pro"))
    await stage.hub()
    await stage.form(configMaps=[config_map(), KEPT])
    await node_is_ready(stage, NODE)


async def test_what_cannot_be_retained_is_told_once_on_the_hub(stage: Stage) -> None:
    async with operating(stage):
        await a_tenant(stage)
        stage.traffic.refuse.add(("patch", "/acme-kept"))
        await stage.client.delete(HUBS, "hub", stage.namespace)

        sentence = await is_told(stage, TOLD, about="hub")
        assert sentence.startswith("Warning: ")
        assert f"ConfigMap {stage.namespace}/acme-kept" in sentence
        assert "refused by the test" in sentence
        assert "acme-settings" not in sentence
        # Each change of a leaving node has the hub look at it again.
        await mark(stage, looked_at="again")
        await stage.settles()
        assert await told(stage, TOLD) == 1

        stage.traffic.refuse.clear()
        await is_gone(stage, HUBS, "hub", within=40)
        await becomes(stage, "acme-kept", lambda obj: labels(obj).get("lynq.sh/orphaned") == "true")
        await is_gone(stage, CONFIG_MAPS, "acme-settings")


async def test_what_cannot_be_deleted_is_not_told_as_unretained(stage: Stage) -> None:
    async with operating(stage):
        await a_tenant(stage)
        stage.traffic.refuse.add(("delete", "/acme-settings"))
        await stage.client.delete(HUBS, "hub", stage.namespace)
        await is_told(stage, "CleanupPartialFailure", about=NODE)
        await is_told(stage, "RetainResourcePreserved", about=NODE)
        await stage.settles()
        assert await told(stage, TOLD) == 0
        stage.traffic.refuse.clear()
        await is_gone(stage, HUBS, "hub", within=40)
