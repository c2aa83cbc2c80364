"""deletionPolicy Retain that is set later counts from the moment the form says so."""

import pytest

from lynq.kube.resource import CONFIG_MAPS
from operated.builders import (
    NODE,
    annotations,
    create_node,
    delete_node,
    edit,
    entry,
    labels,
    owner_uids,
    update_node,
    wait_for_object,
    write_verbs,
)
from operated.environment import FORMS, NODES, Environment, Object, config_map
from operated.running_operator import (
    get_node,
    resource_status,
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually

RETAIN: Object = {"deletionPolicy": "Retain"}
ONCE: Object = {"creationPolicy": "Once"}
INVALID: Object = {"annotationsTemplate": {"not a key": "1"}}


def is_orphan(obj: Object) -> bool:
    return labels(obj).get("lynq.sh/orphaned") == "true"


async def test_retain_set_later_is_recorded_on_a_once_object_in_one_write(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("key", "first", **ONCE))
        await wait_for_node_ready(env, NODE)
        await env.wait_until_idle()
        env.requests.sent.clear()
        await update_node(env, entry("key", "second", **ONCE, **RETAIN))
        live = await wait_for_object(env, "key", lambda obj: not owner_uids(obj))
        assert annotations(live)["lynq.sh/deletion-policy"] == "Retain"
        assert labels(live)["lynq.sh/node"] == NODE
        assert live["data"] == {"plan": "first"}
        await env.wait_until_idle()
        assert write_verbs(env, "key") == ["patch"]

        await update_node(env, entry("key", "second", **ONCE))
        live = await wait_for_object(
            env, "key", lambda obj: annotations(obj)["lynq.sh/deletion-policy"] == "Delete"
        )

        async def is_recorded() -> bool:
            # Until then, the object is retained: its Delete may be older than the Retain.
            return "deletionPolicy" not in resource_status(await get_node(env, NODE), "key")

        await eventually(is_recorded)
        await update_node(env)
        await wait_for_deletion(env, CONFIG_MAPS, "key")


async def test_retain_set_later_is_recorded_in_one_patch_if_the_write_is_rejected(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_node(env, entry("invalid"), entry("contested"))
        await wait_for_node_ready(env, NODE)
        await edit(env, "contested", {"data": {"plan": "by hand"}})
        await wait_for_resource_state(env, NODE, "contested", "Conflicted")
        await env.wait_until_idle()
        env.requests.sent.clear()
        await update_node(env, entry("invalid", **RETAIN, **INVALID), entry("contested", **RETAIN))
        for name in ("invalid", "contested"):
            live = await wait_for_object(env, name, lambda obj: not owner_uids(obj))
            assert annotations(live)["lynq.sh/deletion-policy"] == "Retain"
            assert labels(live)["lynq.sh/node"] == NODE
        assert live["data"] == {"plan": "by hand"}
        await env.wait_until_idle()
        for name in ("invalid", "contested"):
            assert write_verbs(env, name).count("patch") == 1
        await wait_for_resource_state(env, NODE, "contested", "Conflicted")

        await update_node(env, entry("invalid", "corrected"), entry("contested", "by hand"))
        for name in ("invalid", "contested"):
            await wait_for_object(env, name, owner_uids)
        await wait_for_node_ready(env, NODE)


@pytest.mark.parametrize("end", ["entry removed", "node deleted"])
async def test_retain_set_later_counts_if_the_write_is_rejected(env: Environment, end: str) -> None:
    async with running_operator(env):
        await create_node(env, entry("invalid"), entry("contested"))
        await wait_for_node_ready(env, NODE)
        await edit(env, "contested", {"data": {"plan": "by hand"}})
        await wait_for_resource_state(env, NODE, "contested", "Conflicted")
        # The objects cannot be patched either, so only the status knows of the policy.
        env.requests.failing |= {("patch", "/invalid"), ("patch", "/contested")}
        await update_node(env, entry("invalid", **RETAIN, **INVALID), entry("contested", **RETAIN))
        resource = await wait_for_resource_state(env, NODE, "invalid", "Failed")
        assert resource["deletionPolicy"] == "Retain"
        await wait_for_resource_state(env, NODE, "contested", "Conflicted")
        live = await env.get(CONFIG_MAPS, "invalid")
        assert annotations(live)["lynq.sh/deletion-policy"] == "Delete"
    env.requests.failing.clear()
    async with running_operator(env):
        if end == "entry removed":
            await update_node(env)
        else:
            await delete_node(env)
        for name in ("invalid", "contested"):
            live = await wait_for_object(env, name, is_orphan)
            assert owner_uids(live) == []
        if end == "node deleted":
            await wait_for_deletion(env, NODES, NODE)


async def test_object_stays_retained_if_the_write_of_delete_is_rejected(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("kept", **RETAIN))
        await wait_for_node_ready(env, NODE)
        await update_node(env, entry("kept", **INVALID))
        await wait_for_resource_state(env, NODE, "kept", "Failed")
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        await wait_for_object(env, "kept", is_orphan)


async def test_retain_of_a_skipped_generation_counts(env: Environment) -> None:
    uids = ("a", "b", "c")
    env.set_rows(*((uid, 1, "pro") for uid in uids))
    first = config_map(id="first", nameTemplate="{{ .uid }}-first")
    async with running_operator(env):
        await env.create_hub()
        await env.create_form(configMaps=[config_map(), first], rollout={"maxSkew": 1})
        for uid in uids:
            await wait_for_node_ready(env, f"{uid}-web", within=30)
        # The first node of the rollout fails, so that the other nodes skip this generation.
        blocked = [config_map(**RETAIN), first | INVALID]
        await env.patch(FORMS, "web", {"spec": {"configMaps": blocked}})

        async def is_blocked() -> bool:
            nodes = await env.nodes()
            listed = [node["status"].get("failedResources", 0) for node in nodes.values()]
            return sorted(listed) == [0, 0, 1]

        await eventually(is_blocked, within=15, every=0.05)
        # A row that goes meanwhile has a node without the policy of the form.
        node = next(
            name
            for name, obj in (await env.nodes()).items()
            if not obj["status"].get("failedResources")
        )
        settings = node.replace("-web", "-settings")
        kept = await env.get(CONFIG_MAPS, settings)
        await env.client.delete(NODES, node, env.namespace)

        # The hub creates the node again, which adopts the orphan at once.
        def is_retained(obj: Object) -> bool:
            return is_orphan(obj) or owner_uids(obj) != owner_uids(kept)

        live = await wait_for_object(env, settings, is_retained)
        assert live["metadata"]["uid"] == kept["metadata"]["uid"]
    async with running_operator(env):
        await env.patch(FORMS, "web", {"spec": {"configMaps": [first], "rollout": None}})
        for uid in uids:
            await wait_for_object(env, f"{uid}-settings", is_orphan)


async def test_retain_set_with_another_name_retains_the_old_object(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("data"))
        await wait_for_node_ready(env, NODE)
        await update_node(env, entry("data", nameTemplate="renamed", **RETAIN))
        await wait_for_object(env, "renamed", lambda obj: not owner_uids(obj))
        await wait_for_object(env, "data", is_orphan)
