"""Node status: written only on change, with ordered conditions and stable transition times."""

import asyncio

from lynq.kube.resource import CONFIG_MAPS
from operated.builders import (
    NODE,
    annotate,
    create_node,
    entry,
    event_count,
    exists,
    manifest_entry,
    update_node,
    wait_for_event,
    write_verbs,
)
from operated.environment import NODES, Environment, Object
from operated.manifests import deployment
from operated.running_operator import (
    get_node,
    node_condition,
    running_operator,
    wait_for_node_condition,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually

ORDER = ["Ready", "Progressing", "Conflicted", "Degraded"]


def transition_times(node: Object) -> dict[str, str]:
    conditions = node["status"]["conditions"]
    return {condition["type"]: condition["lastTransitionTime"] for condition in conditions}


async def test_ready_node_reports_conditions_counts_and_inventory(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"), entry("other"))
        node = await wait_for_node_ready(env, NODE)
        status = node["status"]
        assert [condition["type"] for condition in status["conditions"]] == ORDER
        assert node_condition(node, "Ready") == ("True", "Reconciled")
        assert node_condition(node, "Progressing") == ("False", "ReconcileComplete")
        assert node_condition(node, "Conflicted") == ("False", "NoConflict")
        assert node_condition(node, "Degraded") == ("False", "Healthy")
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
        message = await wait_for_event(env, "TemplateAppliedSuccess", about=NODE)
        assert "2 of 2 resources are ready" in message


async def test_node_without_resources_is_ready(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env)
        assert (await wait_for_node_ready(env, NODE))["status"].get("desiredResources", 0) == 0


async def test_unchanged_status_is_not_written(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        await env.wait_until_idle()
        env.requests.sent.clear()
        await annotate(env, touched="1")
        await env.wait_until_idle()
        assert env.requests.sent == []
    async with running_operator(env):
        await env.wait_until_idle()
        assert write_verbs(env, "status") == []


async def test_last_transition_time_changes_only_with_condition_status(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"))
        before = transition_times(await wait_for_node_ready(env, NODE))
        # Transition times have a resolution of one second.
        await asyncio.sleep(1.1)
        await update_node(env, entry("settings"), entry("other"))

        async def both_ready() -> Object:
            node = await wait_for_node_ready(env, NODE)
            assert node["status"]["readyResources"] == 2
            return node

        node = await eventually(both_ready)
        assert transition_times(node) == before
        await update_node(env, entry("settings", "{{ .nothing }}"))
        node = await wait_for_node_condition(env, NODE, "Ready", "False")
        after = transition_times(node)
        assert after["Ready"] > before["Ready"]
        assert after["Degraded"] > before["Degraded"]
        assert after["Conflicted"] == before["Conflicted"]
        assert after["Progressing"] == before["Progressing"]


async def test_progressing_node_reports_pending_resources(env: Environment) -> None:
    slow = deployment("app", replicas=1, annotations={"local.lynq.sh/ready-after": "2s"})
    async with running_operator(env):
        await create_node(env, deployments=[manifest_entry("app", slow)])
        node = await wait_for_node_condition(env, NODE, "Progressing", "True", "Reconciling")
        assert node_condition(node, "Ready") == ("False", "NotAllResourcesReady")
        assert "0/1 ready" in node["status"]["conditions"][0]["message"]
        assert node_condition(node, "Degraded") == ("True", "ResourcesNotReady")
        node = await wait_for_node_ready(env, NODE)
        assert node_condition(node, "Progressing") == ("False", "ReconcileComplete")
        await wait_for_event(env, "LynqNodeReady", about=NODE)
        await env.wait_until_idle()
        assert await event_count(env, "LynqNodeReady") == 1


async def test_paused_node_is_not_reconciled_until_resumed(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        await annotate(env, paused="true")
        node = await wait_for_node_condition(env, NODE, "Paused", "True")
        assert [condition["type"] for condition in node["status"]["conditions"]] == [
            *ORDER,
            "Paused",
        ]
        await update_node(env, entry("other"))
        await env.client.delete(CONFIG_MAPS, "settings", env.namespace)
        await env.wait_until_idle()
        assert not await exists(env, "other")
        assert not await exists(env, "settings")

        await annotate(env, paused=None)
        await wait_for_node_condition(env, NODE, "Paused", "False")
        await wait_for_node_ready(env, NODE)
        assert await exists(env, "other")


async def test_wiped_status_is_rebuilt_and_nothing_leaks(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"), entry("removed"))
        await wait_for_node_ready(env, NODE)
    node = await get_node(env, NODE)
    node["status"] = {}
    await env.client.replace(NODES, node, subresource="status")
    await update_node(env, entry("settings"))
    async with running_operator(env):
        await wait_for_node_ready(env, NODE)
        assert await exists(env, "settings")
        await env.wait_for_deletion(CONFIG_MAPS, "removed")


async def test_two_entries_for_one_object_are_reported(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"), entry("second", nameTemplate="settings"))
        resource = await wait_for_resource_state(env, NODE, "second", "Failed")
        assert resource["reason"] == "DuplicateObject"
        await wait_for_resource_state(env, NODE, "settings", "Ready")
