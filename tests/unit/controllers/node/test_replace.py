"""An entry that renders another object: the old one is pruned after its successor is accepted."""

import uuid

import pytest

from lynq.kube.resource import CONFIG_MAPS
from operated.builders import (
    NODE,
    create_node,
    entry,
    exists,
    manifest_entry,
    update_node,
)
from operated.environment import Environment, Object
from operated.running_operator import (
    get_node,
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually, stays


async def held_entry(env: Environment, name: str) -> Object:
    """Wait until the status lists an object as held back; return its entry."""

    async def matches() -> Object:
        resources: list[Object] = (await get_node(env, NODE))["status"]["resources"]
        place = (env.namespace, name)
        entries = [item for item in resources if (item["namespace"], item["name"]) == place]
        assert [item.get("reason") for item in entries] == ["HeldBack"], resources
        return entries[0]

    return await eventually(matches, within=15, every=0.05)


def job(resource_id: str, **parts: object) -> Object:
    """Return an entry whose object is never ready."""
    container = {"name": "c", "image": "registry.invalid/none"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"template": template, "suspend": True}
    return manifest_entry(
        resource_id, {"apiVersion": "batch/v1", "kind": "Job", "spec": spec}, **parts
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"nameTemplate": "Settings"}, id="capital letter"),
        pytest.param({"targetNamespace": f"typo-{uuid.uuid4().hex[:10]}"}, id="missing namespace"),
        pytest.param({"id": "renamed", "nameTemplate": "Settings"}, id="renamed id and bad name"),
    ],
)
async def test_object_stays_while_its_successor_is_rejected(
    env: Environment, change: Object
) -> None:
    async with running_operator(env, namespaces=()):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        uid = (await env.get(CONFIG_MAPS, "settings"))["metadata"]["uid"]

        await update_node(env, entry("settings") | change)
        successor = change.get("id", "settings")
        await wait_for_resource_state(env, NODE, successor, "Failed")
        held = await held_entry(env, "settings")
        assert held["state"] == "Deleting"
        assert f'"{successor}"' in held["message"]
        assert "kept until" in held["message"]
        await stays(lambda: exists(env, "settings"), seconds=0.5)
        assert (await env.get(CONFIG_MAPS, "settings"))["metadata"]["uid"] == uid


async def test_held_object_is_pruned_once_its_successor_is_accepted_after_restart(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        await update_node(env, entry("settings", nameTemplate="Settings"))
        await held_entry(env, "settings")
    async with running_operator(env):
        await stays(lambda: exists(env, "settings"), seconds=0.5)
        await update_node(env, entry("settings", nameTemplate="settings-2"))
        await wait_for_deletion(env, CONFIG_MAPS, "settings")
        assert await exists(env, "settings-2")
        node = await wait_for_node_ready(env, NODE)
        assert [resource["name"] for resource in node["status"]["resources"]] == ["settings-2"]


async def test_successor_is_created_before_the_old_object_is_deleted(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        await env.wait_until_idle()
        env.requests.sent.clear()
        await update_node(env, entry("settings", nameTemplate="settings-2"))
        await wait_for_deletion(env, CONFIG_MAPS, "settings")
        writes = [
            (request.verb, request.path.rpartition("/")[2])
            for request in env.requests.sent
            if "/configmaps" in request.path and request.verb != "get"
        ]
        assert writes == [("apply", "settings-2"), ("delete", "settings")]
        await wait_for_node_ready(env, NODE)


@pytest.mark.parametrize("state", ["Waiting", "Skipped"])
async def test_object_stays_while_its_successor_is_not_applied(
    env: Environment, state: str
) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        first = job("first") if state == "Waiting" else job("first", nameTemplate="First")
        await update_node(
            env, entry("settings", nameTemplate="settings-2", dependIds=["first"]), jobs=[first]
        )
        await wait_for_resource_state(env, NODE, "settings", state)
        await held_entry(env, "settings")
        assert await exists(env, "settings")
        assert not await exists(env, "settings-2")


async def test_object_stays_while_a_changed_dependent_is_rejected(env: Environment) -> None:
    """The live dependent still refers to the old object."""
    async with running_operator(env):
        dependent = entry("app", dependIds=["settings"])
        await create_node(env, entry("settings"), dependent)
        await wait_for_node_ready(env, NODE)
        bad = entry("app", dependIds=["settings"], annotationsTemplate={"not a key": "1"})
        await update_node(env, entry("settings", nameTemplate="settings-2"), bad)
        await wait_for_resource_state(env, NODE, "app", "Failed")
        held = await held_entry(env, "settings")
        assert '"app"' in held["message"]
        assert await exists(env, "settings-2")
        await update_node(env, entry("settings", nameTemplate="settings-2"), dependent)
        await wait_for_deletion(env, CONFIG_MAPS, "settings")


async def test_removed_entry_is_pruned_while_an_accepted_entry_is_rejected(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"), entry("other"))
        await wait_for_node_ready(env, NODE)
        bad = entry("other", annotationsTemplate={"not a key": "1"})
        await update_node(env, bad)
        await wait_for_deletion(env, CONFIG_MAPS, "settings")
        await wait_for_resource_state(env, NODE, "other", "Failed")
