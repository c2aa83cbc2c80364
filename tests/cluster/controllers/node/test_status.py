"""The status: written when it says something new, in a fixed order, with times to be trusted."""

import asyncio

from cluster.controllers.node.making import (
    NODE,
    entry,
    exists,
    is_told,
    make_node,
    mark,
    of_kind,
    told,
    want,
    writes,
)
from cluster.controllers.operating import (
    node_is_ready,
    node_of,
    node_says,
    operating,
    resource_is,
    said,
)
from cluster.controllers.stage import NODES, Object, Stage
from cluster.local.manifests import deployment
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

ORDER = ["Ready", "Progressing", "Conflicted", "Degraded"]


def moments(node: Object) -> dict[str, str]:
    conditions = node["status"]["conditions"]
    return {each["type"]: each["lastTransitionTime"] for each in conditions}


async def test_a_ready_node_says_what_it_has(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"), entry("other"))
        node = await node_is_ready(stage, NODE)
        status = node["status"]
        assert [each["type"] for each in status["conditions"]] == ORDER
        assert said(node, "Ready") == ("True", "Reconciled")
        assert said(node, "Progressing") == ("False", "ReconcileComplete")
        assert said(node, "Conflicted") == ("False", "NoConflict")
        assert said(node, "Degraded") == ("False", "Healthy")
        assert status["desiredResources"] == status["readyResources"] == 2
        assert status["appliedResources"] == [
            f"ConfigMap/{stage.namespace}/other@other",
            f"ConfigMap/{stage.namespace}/settings@settings",
        ]
        (first, _) = status["resources"]
        assert {key: first[key] for key in ("id", "apiVersion", "kind", "name", "state")} == {
            "id": "settings",
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "settings",
            "state": "Ready",
        }
        assert "lynqnode.operator.lynq.sh/finalizer" in node["metadata"]["finalizers"]
        assert "2 resources" in await is_told(stage, "TemplateResourcesApplying", about=NODE)
        await is_told(stage, "TemplateAppliedSuccess", about=NODE)
        await is_told(stage, "LynqNodeReady", about=NODE)


async def test_a_node_without_resources_is_ready(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage)
        assert (await node_is_ready(stage, NODE))["status"].get("desiredResources", 0) == 0


async def test_an_equal_status_is_not_written_again(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"))
        await node_is_ready(stage, NODE)
        await stage.settles()
        stage.traffic.sent.clear()
        await mark(stage, touched="1")
        await stage.settles()
        assert stage.traffic.sent == []
    async with operating(stage):
        await stage.settles()
        assert writes(stage, "status") == []


async def test_a_transition_is_one_of_the_status_and_of_nothing_else(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"))
        before = moments(await node_is_ready(stage, NODE))
        # The times are in whole seconds.
        await asyncio.sleep(1.1)
        await want(stage, entry("settings"), entry("other"))

        async def both() -> Object:
            node = await node_is_ready(stage, NODE)
            assert node["status"]["readyResources"] == 2
            return node

        node = await eventually(both)
        assert moments(node) == before
        await want(stage, entry("settings", "{{ .nothing }}"))
        node = await node_says(stage, NODE, "Ready", "False")
        after = moments(node)
        assert after["Ready"] > before["Ready"]
        assert after["Degraded"] > before["Degraded"]
        assert after["Conflicted"] == before["Conflicted"]
        assert after["Progressing"] == before["Progressing"]


async def test_a_node_on_its_way_says_so(stage: Stage) -> None:
    slow = deployment("app", replicas=1, annotations={"local.lynq.sh/ready-after": "2s"})
    async with operating(stage):
        await make_node(stage, deployments=[of_kind("app", slow)])
        node = await node_says(stage, NODE, "Progressing", "True", "Reconciling")
        assert said(node, "Ready") == ("False", "NotAllResourcesReady")
        assert "0/1 ready" in node["status"]["conditions"][0]["message"]
        assert said(node, "Degraded") == ("True", "ResourcesNotReady")
        node = await node_is_ready(stage, NODE)
        assert said(node, "Progressing") == ("False", "ReconcileComplete")
        await is_told(stage, "LynqNodeReady", about=NODE)
        await stage.settles()
        assert await told(stage, "LynqNodeReady") == 1


async def test_a_paused_node_is_left_alone_until_it_is_resumed(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"))
        await node_is_ready(stage, NODE)
        await mark(stage, paused="true")
        node = await node_says(stage, NODE, "Paused", "True")
        assert [each["type"] for each in node["status"]["conditions"]] == [*ORDER, "Paused"]
        await want(stage, entry("other"))
        await stage.client.delete(CONFIG_MAPS, "settings", stage.namespace)
        await stage.settles()
        assert not await exists(stage, "other")
        assert not await exists(stage, "settings")

        await mark(stage, paused=None)
        await node_says(stage, NODE, "Paused", "False")
        await node_is_ready(stage, NODE)
        assert await exists(stage, "other")


async def test_a_status_that_somebody_wiped_is_made_anew_and_nothing_leaks(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"), entry("goes"))
        await node_is_ready(stage, NODE)
    node = await node_of(stage, NODE)
    node["status"] = {}
    await stage.client.replace(NODES, node, subresource="status")
    await want(stage, entry("settings"))
    async with operating(stage):
        await node_is_ready(stage, NODE)
        assert await exists(stage, "settings")
        await stage.is_gone(CONFIG_MAPS, "goes")


async def test_two_entries_for_one_object_are_told(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"), entry("second", nameTemplate="settings"))
        found = await resource_is(stage, NODE, "second", "Failed")
        assert found["reason"] == "DuplicateObject"
        await resource_is(stage, NODE, "settings", "Ready")
