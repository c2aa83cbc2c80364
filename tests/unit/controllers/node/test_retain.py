"""deletionPolicy: deletion and retention of objects, and adoption of orphans."""

import pytest

from lynq.kube.resource import CONFIG_MAPS
from operated.builders import (
    NODE,
    annotations,
    create_node,
    delete_node,
    edit,
    entry,
    event_count,
    has_plan,
    labels,
    owner_uids,
    update_node,
    wait_for_event,
    wait_for_object,
    write_verbs,
)
from operated.environment import NODES, Environment, Object
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
)

RETAIN = {"deletionPolicy": "Retain"}


def is_orphan(obj: Object) -> bool:
    return labels(obj).get("lynq.sh/orphaned") == "true"


async def test_objects_removed_from_spec_are_deleted_or_retained(env: Environment) -> None:
    async with running_operator(env):
        await create_node(
            env,
            entry("unchanged"),
            entry("deleted"),
            entry("kept", **RETAIN),
            entry("also-unchanged"),
        )
        await wait_for_node_ready(env, NODE)
        kept = await env.get(CONFIG_MAPS, "kept")
        assert owner_uids(kept) == []
        assert labels(kept)["lynq.sh/node"] == NODE
        assert labels(kept)["lynq.sh/node-namespace"] == env.namespace

        # The annotation holds the policy of an object that is no longer in the spec.
        await update_node(env, entry("unchanged"), entry("also-unchanged"))
        await wait_for_deletion(env, CONFIG_MAPS, "deleted")
        obj = await wait_for_object(env, "kept", is_orphan)
        assert annotations(obj)["lynq.sh/orphaned-reason"] == "RemovedFromTemplate"
        assert "lynq.sh/orphaned-at" in annotations(obj)
        assert annotations(obj)["lynq.sh/orphaned-from"] == f"{env.namespace}/{NODE}"
        assert {"lynq.sh/node", "lynq.sh/node-namespace"}.isdisjoint(labels(obj))
        assert labels(obj)["lynq.sh/managed"] == "true"
        assert obj["data"] == {"plan": "pro"}

        message = await wait_for_event(env, "OrphanedResourceDeleted", about=NODE)
        assert message.startswith("Normal: ")
        assert "deleted" in message
        assert "kept" in await wait_for_event(env, "OrphanedResourceRetained", about=NODE)
        await wait_for_event(env, "OrphanMarkersAdded", about="kept")
        node = await wait_for_node_ready(env, NODE)
        assert [resource["id"] for resource in node["status"]["resources"]] == [
            "unchanged",
            "also-unchanged",
        ]
        await env.wait_until_idle()
        assert await event_count(env, "OrphanedResourceDeleted") == 1


async def test_orphan_is_adopted_in_one_write(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("kept", **RETAIN))
        await wait_for_node_ready(env, NODE)
        uid = (await env.get(CONFIG_MAPS, "kept"))["metadata"]["uid"]
        await update_node(env)
        await wait_for_object(env, "kept", is_orphan)
        await env.wait_until_idle()
        env.requests.sent.clear()

        await update_node(env, entry("kept", "again", **RETAIN))
        obj = await wait_for_object(env, "kept", has_plan("again"))
        assert obj["metadata"]["uid"] == uid
        assert "lynq.sh/orphaned" not in labels(obj)
        assert not [key for key in annotations(obj) if "orphaned" in key]
        assert labels(obj)["lynq.sh/node"] == NODE
        await wait_for_node_ready(env, NODE)
        await env.wait_until_idle()
        assert write_verbs(env, "kept") == ["patch"]
        await wait_for_event(env, "OrphanMarkersRemoved", about="kept")


async def test_adopted_orphan_is_updated_without_self_conflict(
    env: Environment,
) -> None:
    """Adoption owns fields by Update: the next apply must not conflict with them."""
    async with running_operator(env):
        await create_node(env, entry("kept", **RETAIN))
        await wait_for_node_ready(env, NODE)
        await update_node(env)
        await wait_for_object(env, "kept", is_orphan)
        await update_node(env, entry("kept", "again", **RETAIN))
        await wait_for_object(env, "kept", has_plan("again"))

        await update_node(env, entry("kept", "third", **RETAIN))
        await wait_for_object(env, "kept", has_plan("third"))
        await wait_for_node_ready(env, NODE)
        assert await event_count(env, "ResourceConflict") == 0
        # A later edit is a conflict, which proves that the fields are ours by Apply.
        await edit(env, "kept", {"data": {"plan": "by hand"}})
        await wait_for_event(env, "ResourceConflict", about=NODE)


async def test_node_deletion_deletes_or_retains_its_objects(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_node(env, entry("deleted"), entry("kept", **RETAIN))
        await wait_for_node_ready(env, NODE)
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)

        await wait_for_deletion(env, CONFIG_MAPS, "deleted", within=0)
        obj = await wait_for_object(env, "kept", is_orphan)
        assert annotations(obj)["lynq.sh/orphaned-reason"] == "LynqNodeDeleted"
        assert "lynq.sh/node" not in labels(obj)
        assert "kept" in await wait_for_event(env, "ResourceRetained", about=NODE)
        await wait_for_event(env, "OrphanMarkersAdded", about="kept")
        await wait_for_event(env, "LynqNodeDeleted", about=NODE)


async def test_orphan_is_adopted_by_another_node(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("kept", **RETAIN))
        await wait_for_node_ready(env, NODE)
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        await create_node(env, entry("kept", "second", **RETAIN), name="beta-web")
        await wait_for_node_ready(env, "beta-web")
        obj = await wait_for_object(env, "kept", has_plan("second"))
        assert labels(obj)["lynq.sh/node"] == "beta-web"


async def test_policy_change_switches_between_owner_reference_and_labels(env: Environment) -> None:
    async with running_operator(env):
        node = await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        await update_node(env, entry("settings", **RETAIN))
        live = await wait_for_object(env, "settings", lambda obj: not owner_uids(obj))
        assert labels(live)["lynq.sh/node"] == NODE
        await update_node(env, entry("settings"))
        live = await wait_for_object(env, "settings", owner_uids)
        assert owner_uids(live) == [node["metadata"]["uid"]]
        assert "lynq.sh/node" not in labels(live)
        await wait_for_node_ready(env, NODE)


async def test_retain_of_either_object_of_a_reused_id_counts(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("data", **RETAIN), entry("cache"))
        await wait_for_node_ready(env, NODE)
        await update_node(
            env, entry("data", nameTemplate="data-2"), entry("cache", nameTemplate="c", **RETAIN)
        )
        await wait_for_object(env, "data", is_orphan)
        await wait_for_object(env, "cache", is_orphan)
        await wait_for_node_ready(env, NODE)


@pytest.mark.parametrize("strategy", ["apply", "replace"])
async def test_adoption_removes_fields_absent_from_manifest(
    env: Environment, strategy: str
) -> None:
    parts: Object = {**RETAIN, "patchStrategy": strategy, "labelsTemplate": {"old": "1"}}
    old = entry("kept", **parts)
    old["spec"]["data"]["old"] = "x"
    async with running_operator(env):
        await create_node(env, old)
        await wait_for_node_ready(env, NODE)
        await update_node(env)
        await wait_for_object(env, "kept", is_orphan)
        await edit(env, "kept", {"data": {"theirs": "y"}})
        await update_node(env, entry("kept", **parts | {"labelsTemplate": {"new": "1"}}))
        live = await wait_for_object(env, "kept", lambda obj: not is_orphan(obj))
        assert live["data"] == {"plan": "pro", "theirs": "y"}
        assert labels(live).get("new") == "1"
        assert "old" not in labels(live)


async def test_merge_removes_our_owner_reference_from_retained_object(
    env: Environment,
) -> None:
    """Otherwise the garbage collector deletes it with a node deleted in the foreground."""
    created = await env.client.create(CONFIG_MAPS, {"metadata": {"name": "other"}}, env.namespace)
    uid = created["metadata"]["uid"]
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": uid}
    async with running_operator(env):
        await create_node(env, entry("kept", patchStrategy="merge"))
        await wait_for_node_ready(env, NODE)
        owners = (await env.get(CONFIG_MAPS, "kept"))["metadata"]["ownerReferences"]
        await edit(env, "kept", {"metadata": {"ownerReferences": [*owners, other]}})
        await update_node(env, entry("kept", patchStrategy="merge", **RETAIN))
        await wait_for_object(env, "kept", lambda obj: owner_uids(obj) == [uid])
        await wait_for_node_ready(env, NODE)
