"""Conflicts with persistent managers: back-off, and no overwrite under Stuck."""

import asyncio

import pytest

from lynq.kube.resource import CONFIG_MAPS
from operated.builders import (
    NODE,
    create_node,
    edit,
    entry,
    has_plan,
    labels,
    update_node,
    wait_for_object,
    write_verbs,
)
from operated.environment import Environment, Object
from operated.running_operator import (
    running_operator,
    wait_for_node_condition,
    wait_for_node_ready,
    wait_for_resource_state,
)

RETAIN = {"deletionPolicy": "Retain"}


@pytest.mark.parametrize(
    "undo",
    [
        {"metadata": {"annotations": {"lynq.sh/applied-hash": "0000000000000000"}}},
        {"metadata": {"labels": {"lynq.sh/orphaned": "true"}}},
    ],
    ids=["hash", "orphaned"],
)
async def test_repeatedly_changed_metadata_backs_off(env: Environment, undo: Object) -> None:
    """Another operator version, or a tool that applies an exported object, causes this."""

    async def insist() -> None:
        while True:
            await edit(env, "settings", undo, manager="rival")
            await asyncio.sleep(0.05)

    async with running_operator(env):
        await create_node(env, entry("settings", conflictPolicy="Force"))
        await wait_for_node_ready(env, NODE)
        env.requests.sent.clear()
        rival = asyncio.create_task(insist())
        # The duration of the fight, not a wait for a condition.
        await asyncio.sleep(5)
        rival.cancel()
        assert 2 <= len(write_verbs(env, "settings")) <= 8, write_verbs(env, "settings")


async def test_orphan_taken_by_another_manager_is_not_overwritten_under_stuck(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_node(env, entry("kept", **RETAIN))
        await wait_for_node_ready(env, NODE)
        await update_node(env)
        await wait_for_object(env, "kept", lambda obj: "lynq.sh/orphaned" in labels(obj))
        await edit(env, "kept", {"data": {"plan": "theirs"}}, manager="argocd")

        await update_node(env, entry("kept", "ours", **RETAIN))
        await wait_for_node_condition(env, NODE, "Conflicted", "True", "ResourceConflict")
        resource = await wait_for_resource_state(env, NODE, "kept", "Conflicted")
        assert "'argocd'" in resource["message"]
        assert (await env.get(CONFIG_MAPS, "kept"))["data"] == {"plan": "theirs"}

        # Force overwrites it.
        await update_node(env, entry("kept", "ours", **RETAIN, conflictPolicy="Force"))
        await wait_for_object(env, "kept", has_plan("ours"))
        await wait_for_node_ready(env, NODE)
        assert "lynq.sh/orphaned" not in labels(await env.get(CONFIG_MAPS, "kept"))


async def test_orphan_with_foreign_additions_is_adopted_under_stuck(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_node(env, entry("kept", **RETAIN))
        await wait_for_node_ready(env, NODE)
        await update_node(env)
        await wait_for_object(env, "kept", lambda obj: "lynq.sh/orphaned" in labels(obj))
        await edit(env, "kept", {"data": {"more": "theirs"}}, manager="argocd")
        await update_node(env, entry("kept", "ours", **RETAIN))
        await wait_for_object(env, "kept", has_plan("ours"))
        await wait_for_node_ready(env, NODE)
