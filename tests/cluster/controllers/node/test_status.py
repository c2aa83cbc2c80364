"""The status: written when it says something new, in a fixed order, with times to be trusted."""

import asyncio

from cluster.controllers.environment import NODES, Environment, Object
from cluster.controllers.node.builders import (
    NODE,
    annotate,
    apply_node,
    entry,
    event_count,
    event_recorded,
    exists,
    make_node,
    of_kind,
    writes,
)
from cluster.controllers.running_operator import (
    condition_of,
    node_has_condition,
    node_is_ready,
    node_of,
    resource_is,
    running_operator,
)
from cluster.local.manifests import deployment
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

ORDER = ["Ready", "Progressing", "Conflicted", "Degraded"]


def moments(node: Object) -> dict[str, str]:
    conditions = node["status"]["conditions"]
    return {each["type"]: each["lastTransitionTime"] for each in conditions}


async def test_a_ready_node_says_what_it_has(env: Environment) -> None:
    async with running_operator(env):
        await make_node(env, entry("settings"), entry("other"))
        node = await node_is_ready(env, NODE)
        status = node["status"]
        assert [each["type"] for each in status["conditions"]] == ORDER
        assert condition_of(node, "Ready") == ("True", "Reconciled")
        assert condition_of(node, "Progressing") == ("False", "ReconcileComplete")
        assert condition_of(node, "Conflicted") == ("False", "NoConflict")
        assert condition_of(node, "Degraded") == ("False", "Healthy")
        assert status["desiredResources"] == status["readyResources"] == 2
        assert status["appliedResources"] == [
            f"ConfigMap/{env.namespace}/other@other",
            f"ConfigMap/{env.namespace}/settings@settings",
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
        assert "2 resources" in await event_recorded(env, "TemplateResourcesApplying", about=NODE)
        await event_recorded(env, "TemplateAppliedSuccess", about=NODE)
        await event_recorded(env, "LynqNodeReady", about=NODE)


async def test_a_node_without_resources_is_ready(env: Environment) -> None:
    async with running_operator(env):
        await make_node(env)
        assert (await node_is_ready(env, NODE))["status"].get("desiredResources", 0) == 0


async def test_an_equal_status_is_not_written_again(env: Environment) -> None:
    async with running_operator(env):
        await make_node(env, entry("settings"))
        await node_is_ready(env, NODE)
        await env.settles()
        env.traffic.sent.clear()
        await annotate(env, touched="1")
        await env.settles()
        assert env.traffic.sent == []
    async with running_operator(env):
        await env.settles()
        assert writes(env, "status") == []


async def test_a_transition_is_one_of_the_status_and_of_nothing_else(env: Environment) -> None:
    async with running_operator(env):
        await make_node(env, entry("settings"))
        before = moments(await node_is_ready(env, NODE))
        # The times are in whole seconds.
        await asyncio.sleep(1.1)
        await apply_node(env, entry("settings"), entry("other"))

        async def both() -> Object:
            node = await node_is_ready(env, NODE)
            assert node["status"]["readyResources"] == 2
            return node

        node = await eventually(both)
        assert moments(node) == before
        await apply_node(env, entry("settings", "{{ .nothing }}"))
        node = await node_has_condition(env, NODE, "Ready", "False")
        after = moments(node)
        assert after["Ready"] > before["Ready"]
        assert after["Degraded"] > before["Degraded"]
        assert after["Conflicted"] == before["Conflicted"]
        assert after["Progressing"] == before["Progressing"]


async def test_a_node_on_its_way_says_so(env: Environment) -> None:
    slow = deployment("app", replicas=1, annotations={"local.lynq.sh/ready-after": "2s"})
    async with running_operator(env):
        await make_node(env, deployments=[of_kind("app", slow)])
        node = await node_has_condition(env, NODE, "Progressing", "True", "Reconciling")
        assert condition_of(node, "Ready") == ("False", "NotAllResourcesReady")
        assert "0/1 ready" in node["status"]["conditions"][0]["message"]
        assert condition_of(node, "Degraded") == ("True", "ResourcesNotReady")
        node = await node_is_ready(env, NODE)
        assert condition_of(node, "Progressing") == ("False", "ReconcileComplete")
        await event_recorded(env, "LynqNodeReady", about=NODE)
        await env.settles()
        assert await event_count(env, "LynqNodeReady") == 1


async def test_a_paused_node_is_left_alone_until_it_is_resumed(env: Environment) -> None:
    async with running_operator(env):
        await make_node(env, entry("settings"))
        await node_is_ready(env, NODE)
        await annotate(env, paused="true")
        node = await node_has_condition(env, NODE, "Paused", "True")
        assert [each["type"] for each in node["status"]["conditions"]] == [*ORDER, "Paused"]
        await apply_node(env, entry("other"))
        await env.client.delete(CONFIG_MAPS, "settings", env.namespace)
        await env.settles()
        assert not await exists(env, "other")
        assert not await exists(env, "settings")

        await annotate(env, paused=None)
        await node_has_condition(env, NODE, "Paused", "False")
        await node_is_ready(env, NODE)
        assert await exists(env, "other")


async def test_a_status_that_somebody_wiped_is_made_anew_and_nothing_leaks(
    env: Environment,
) -> None:
    async with running_operator(env):
        await make_node(env, entry("settings"), entry("goes"))
        await node_is_ready(env, NODE)
    node = await node_of(env, NODE)
    node["status"] = {}
    await env.client.replace(NODES, node, subresource="status")
    await apply_node(env, entry("settings"))
    async with running_operator(env):
        await node_is_ready(env, NODE)
        assert await exists(env, "settings")
        await env.is_gone(CONFIG_MAPS, "goes")


async def test_two_entries_for_one_object_are_told(env: Environment) -> None:
    async with running_operator(env):
        await make_node(env, entry("settings"), entry("second", nameTemplate="settings"))
        found = await resource_is(env, NODE, "second", "Failed")
        assert found["reason"] == "DuplicateObject"
        await resource_is(env, NODE, "settings", "Ready")
