"""Drift: changes by other clients are restored or reported on the watch event, with back-off."""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from lynq.kube.resource import CONFIG_MAPS, SECRETS
from operated.builders import (
    NODE,
    annotate,
    annotations,
    create_node,
    edit,
    entry,
    event_count,
    has_plan,
    labels,
    manifest_entry,
    owner_uids,
    wait_for_event,
    wait_for_object,
    write_verbs,
)
from operated.environment import NODES, Environment, Object
from operated.running_operator import (
    node_condition,
    running_operator,
    wait_for_node_condition,
    wait_for_node_ready,
    wait_for_resource_state,
)

FORCE = {"conflictPolicy": "Force"}
AT_ONCE = 5.0
"""Seconds, far below the 10-minute resync and the 30-second retry."""


async def create_ready_node(env: Environment, *entries: Object) -> Object:
    node = await create_node(env, *entries)
    await wait_for_node_ready(env, NODE)
    return node


@pytest.mark.parametrize("text", [None, "0000000000000000"])
async def test_lost_or_changed_hash_is_rewritten(env: Environment, text: str | None) -> None:
    async with running_operator(env):
        await create_ready_node(env, entry("settings"))
        expected = annotations(await env.get(CONFIG_MAPS, "settings"))["lynq.sh/applied-hash"]
        patch: Object = {"metadata": {"annotations": {"lynq.sh/applied-hash": text}}}
        await edit(env, "settings", patch | {"data": {"plan": None}}, manager="lynq-operator")
        obj = await wait_for_object(env, "settings", has_plan("pro"), within=AT_ONCE)
        assert annotations(obj)["lynq.sh/applied-hash"] == expected


async def test_edited_data_is_restored_under_force(env: Environment) -> None:
    async with running_operator(env):
        await create_ready_node(env, entry("settings", **FORCE))
        await edit(env, "settings", {"data": {"plan": "by hand", "more": "theirs"}})
        obj = await wait_for_object(env, "settings", has_plan("pro"), within=AT_ONCE)
        assert obj["data"]["more"] == "theirs"
        assert "kubectl-edit" in await wait_for_event(env, "ForceApply", about=NODE)
        await wait_for_node_ready(env, NODE)


async def test_edited_data_of_a_secret_with_string_data_is_restored(env: Environment) -> None:
    manifest = {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "right"}}
    secret = manifest_entry("secret", manifest, conflictPolicy="Force")

    def has_password(text: bytes) -> Callable[[Object], bool]:
        return lambda obj: obj["data"]["password"] == b64encode(text).decode()

    async with running_operator(env):
        await create_node(env, secrets=[secret])
        await wait_for_node_ready(env, NODE)
        assert has_password(b"right")(await env.get(SECRETS, "secret"))
        wrong = {"data": {"password": b64encode(b"wrong").decode()}}
        await edit(env, "secret", wrong, resource=SECRETS)
        await wait_for_object(env, "secret", has_password(b"right"), SECRETS)


async def test_edited_data_is_reported_as_conflict_under_stuck(env: Environment) -> None:
    async with running_operator(env):
        await create_ready_node(env, entry("settings"))
        await edit(env, "settings", {"data": {"plan": "by hand"}})
        node = await wait_for_node_condition(
            env, NODE, "Ready", "False", "ResourcesConflicted", within=AT_ONCE
        )
        assert node_condition(node, "Conflicted") == ("True", "ResourceConflict")
        resource = await wait_for_resource_state(env, NODE, "settings", "Conflicted")
        assert "'kubectl-edit'" in resource["message"]
        assert (await env.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "by hand"}
        await wait_for_event(env, "ResourceConflict", about=NODE)

        # The conflict ends when the other manager gives the field up.
        await edit(env, "settings", {"data": {"plan": None}})
        await wait_for_object(env, "settings", has_plan("pro"))
        await wait_for_node_ready(env, NODE)


async def test_removed_field_is_restored_under_stuck(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_ready_node(env, entry("settings"))
        await edit(env, "settings", {"data": {"plan": None}})
        await wait_for_object(env, "settings", has_plan("pro"), within=AT_ONCE)
        await wait_for_node_ready(env, NODE)
        assert await event_count(env, "ResourceConflict") == 0
        assert await event_count(env, "ForceApply") == 0


@pytest.mark.parametrize("strategy", ["merge", "replace"])
@pytest.mark.parametrize("text", ["by hand", None], ids=["edited", "removed"])
async def test_drift_is_restored_for_merge_and_replace(
    env: Environment, strategy: str, text: str | None
) -> None:
    """Merge and replace detect no conflicts, so conflictPolicy does not apply."""
    async with running_operator(env):
        await create_ready_node(env, entry("settings", patchStrategy=strategy))
        await edit(env, "settings", {"data": {"plan": text}})
        await wait_for_object(env, "settings", has_plan("pro"), within=AT_ONCE)
        await wait_for_node_ready(env, NODE)
        await env.wait_until_idle()
        assert len(write_verbs(env, "settings")) <= 2


async def test_removed_owner_reference_is_restored(env: Environment) -> None:
    async with running_operator(env):
        node = await create_ready_node(env, entry("settings"))
        await edit(env, "settings", {"metadata": {"ownerReferences": None}})
        obj = await wait_for_object(env, "settings", owner_uids, within=AT_ONCE)
        assert owner_uids(obj) == [node["metadata"]["uid"]]


@pytest.mark.parametrize("label", ["lynq.sh/managed", "lynq.sh/node", "lynq.sh/node-namespace"])
async def test_removed_label_is_restored(env: Environment, label: str) -> None:
    async with running_operator(env):
        await create_ready_node(env, entry("settings", deletionPolicy="Retain"))
        await edit(env, "settings", {"metadata": {"labels": {label: None}}})
        await wait_for_object(env, "settings", lambda obj: label in labels(obj), within=AT_ONCE)
        await wait_for_node_ready(env, NODE)


async def test_deleted_object_is_recreated(env: Environment) -> None:
    async with running_operator(env):
        await create_ready_node(env, entry("settings"))
        old = await env.get(CONFIG_MAPS, "settings")
        await env.client.delete(CONFIG_MAPS, "settings", env.namespace)
        obj = await wait_for_object(env, "settings", has_plan("pro"), within=AT_ONCE)
        assert obj["metadata"]["uid"] != old["metadata"]["uid"]


async def test_fields_added_by_other_managers_are_not_drift(env: Environment) -> None:
    async with running_operator(env):
        await create_ready_node(env, entry("settings"))
        await env.wait_until_idle()
        env.requests.sent.clear()
        more = {"labels": {"team": "shop"}, "annotations": {"note": "x"}}
        await edit(env, "settings", {"metadata": more, "data": {"more": "theirs"}})
        await env.wait_until_idle()
        assert env.requests.sent == []


@pytest.mark.parametrize(
    "undo",
    [
        {"data": {"plan": "theirs"}},
        {"metadata": {"annotations": {"lynq.sh/applied-hash": None}}},
        None,
    ],
    ids=["data", "hash", "deleted"],
)
@pytest.mark.timing
async def test_fight_with_another_controller_backs_off(env: Environment, undo: Any) -> None:
    async def insist() -> None:
        while True:
            # Counted before the edit: our reaction may precede its response.
            before = len(write_verbs(env, "settings"))
            if undo is None:
                await env.client.delete(CONFIG_MAPS, "settings", env.namespace)
            else:
                await edit(env, "settings", undo, manager="rival")
            while len(write_verbs(env, "settings")) == before:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)

    async with running_operator(env):
        await create_ready_node(env, entry("settings", **FORCE), entry("other"))
        env.requests.sent.clear()
        rival = asyncio.create_task(insist())
        # The duration of the fight, not a wait for a condition.
        await asyncio.sleep(5)
        rival.cancel()
        # Immediately, then after 1, 2 and 4 s; each attempt is up to two applies: one that
        # detects the conflict and one that forces.
        assert 2 <= len(write_verbs(env, "settings")) <= 8, write_verbs(env, "settings")

        # The back-off delays neither other resources nor new content.
        await annotate(env, extra='{"plan": "free"}')
        await wait_for_object(env, "other", has_plan("free"), within=AT_ONCE)
        await wait_for_object(env, "settings", has_plan("free"))


async def test_drift_is_restored_after_restart(env: Environment) -> None:
    async with running_operator(env):
        await create_ready_node(env, entry("settings", **FORCE))
    async with running_operator(env):
        await env.wait_until_idle()
        await edit(env, "settings", {"data": {"plan": "by hand"}})
        await wait_for_object(env, "settings", has_plan("pro"), within=AT_ONCE)


async def test_data_edited_during_downtime_is_restored_under_force(env: Environment) -> None:
    async with running_operator(env):
        await create_ready_node(env, entry("settings", **FORCE))
    await edit(env, "settings", {"data": {"plan": "by hand"}})
    async with running_operator(env):
        await wait_for_object(env, "settings", has_plan("pro"), within=AT_ONCE)


async def test_data_edited_during_downtime_is_a_conflict_under_stuck(env: Environment) -> None:
    async with running_operator(env):
        await create_ready_node(env, entry("settings"))
    await edit(env, "settings", {"data": {"plan": "by hand"}})
    for _ in range(2):
        async with running_operator(env):
            await env.wait_until_idle()
            await wait_for_resource_state(env, NODE, "settings", "Conflicted")
            await wait_for_node_condition(env, NODE, "Conflicted", "True")
    assert (await env.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "by hand"}


async def test_invalid_fields_digest_in_status_is_tolerated(env: Environment) -> None:
    async with running_operator(env):
        await create_ready_node(env, entry("settings", **FORCE))
    node = await env.get(NODES, NODE)
    for resource in node["status"]["resources"]:
        resource["fieldsDigest"] = "not a digest"
    patch = {"status": {"resources": node["status"]["resources"]}}
    await env.client.patch(NODES, NODE, patch, env.namespace, subresource="status")
    async with running_operator(env):
        await env.wait_until_idle()
        await edit(env, "settings", {"data": {"plan": "by hand"}})
        await wait_for_object(env, "settings", has_plan("pro"), within=AT_ONCE)
