"""Manual edits of nodes must not delete objects of tenants."""

from typing import Any

import pytest

from lynq.kube.resource import CONFIG_MAPS
from operated.environment import HUBS, NODES, Environment, config_map
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually, stays

ROWS = (("acme", 1, "pro"), ("beta", 1, "pro"))


async def test_node_with_label_of_another_hub_is_not_deleted(
    env: Environment,
) -> None:
    env.set_rows(*ROWS)
    env.set_rows(file="other.db")
    await env.create_hub()
    await env.create_hub("other", source={"sqlite": {"path": "other.db", "table": "tenants"}})
    await env.create_form()
    async with env.run_controllers():
        await env.wait_for_nodes("acme-web", "beta-web")
    before = (await env.nodes())["acme-web"]["metadata"]
    await env.patch(NODES, "acme-web", {"metadata": {"labels": {"lynq.sh/hub": "other"}}})
    # Paused, so that the other hub reconciles first.
    await env.patch(HUBS, "hub", {"spec": {"paused": True}})
    async with env.run_controllers():
        await env.wait_for_condition("Ready", "True", "other")

        async def node_kept() -> bool:
            return bool((await env.get(NODES, "acme-web"))["metadata"]["uid"] == before["uid"])

        await stays(node_kept, seconds=1, every=0.1)
        await env.patch(HUBS, "hub", {"spec": {"paused": False}})

        async def restored() -> bool:
            metadata = (await env.get(NODES, "acme-web"))["metadata"]
            assert metadata["uid"] == before["uid"]
            return bool(metadata["labels"] == before["labels"])

        await eventually(restored)


async def test_orphaning_node_delete_keeps_objects_for_the_next_node(env: Environment) -> None:
    env.set_rows(*ROWS)
    async with running_operator(env):
        await env.create_hub()
        await env.create_form()
        node = await wait_for_node_ready(env, "acme-web")
        settings = (await env.get(CONFIG_MAPS, "acme-settings"))["metadata"]
        await env.client.delete(NODES, "acme-web", env.namespace, propagation="Orphan")

        async def recreated() -> bool:
            current = (await env.nodes()).get("acme-web", node)
            return bool(current["metadata"]["uid"] != node["metadata"]["uid"])

        # The row still exists, so the hub creates a new node, which adopts the objects.
        await eventually(recreated, within=60)
        new_node = await wait_for_node_ready(env, "acme-web", within=60)
        metadata = (await env.get(CONFIG_MAPS, "acme-settings"))["metadata"]
        assert metadata["uid"] == settings["uid"]
        owner_uids = [owner["uid"] for owner in metadata.get("ownerReferences", [])]
        # The garbage collector may remove the owner reference before the operator marks the orphan.
        # Then nothing shows which node wrote the object: it is adopted, and stays with the row.
        is_adopted = "lynq.sh/adopted" in metadata["annotations"]
        assert owner_uids == ([] if is_adopted else [new_node["metadata"]["uid"]])
        assert "lynq.sh/orphaned" not in metadata["labels"]


async def test_orphaning_node_delete_keeps_objects_after_row_removal(
    env: Environment,
) -> None:
    env.set_rows(*ROWS)
    async with running_operator(env):
        await env.create_hub()
        await env.create_form()
        await wait_for_node_ready(env, "acme-web")
        settings = (await env.get(CONFIG_MAPS, "acme-settings"))["metadata"]
        env.set_rows(ROWS[1])
        await env.client.delete(NODES, "acme-web", env.namespace, propagation="Orphan")
        await env.force_sync()
        await wait_for_deletion(env, NODES, "acme-web")

        async def object_kept() -> bool:
            metadata = (await env.get(CONFIG_MAPS, "acme-settings"))["metadata"]
            return bool(metadata["uid"] == settings["uid"])

        await stays(object_kept, seconds=2, every=0.1)
        metadata = (await env.get(CONFIG_MAPS, "acme-settings"))["metadata"]
        assert "ownerReferences" not in metadata


@pytest.mark.parametrize(
    "edited", [[], [config_map(nameTemplate="acme-other")]], ids=["dropped", "renamed"]
)
async def test_object_edited_out_of_node_spec_is_kept(env: Environment, edited: list[Any]) -> None:
    env.set_rows(*ROWS)
    async with running_operator(env):
        await env.create_hub()
        await env.create_form(configMaps=[config_map()])
        await wait_for_node_ready(env, "acme-web")
        before = (await env.get(CONFIG_MAPS, "acme-settings"))["metadata"]
        # Paused, so that the hub does not restore the node before its reconcile.
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
        await env.wait_for_condition("Paused", "True")
        await env.patch(NODES, "acme-web", {"spec": {"configMaps": edited}})
        await eventually(lambda: reports_edit(env, "acme-web"))
        await env.wait_until_idle()
        assert (await env.get(CONFIG_MAPS, "acme-settings"))["metadata"]["uid"] == before["uid"]
        await env.patch(HUBS, "hub", {"spec": {"paused": False}})
        await wait_for_resource_state(env, "acme-web", "settings", "Ready")
        await wait_for_node_ready(env, "acme-web")
        await wait_for_deletion(env, CONFIG_MAPS, "acme-other")
        assert (await env.get(CONFIG_MAPS, "acme-settings"))["metadata"]["uid"] == before["uid"]


async def test_object_renamed_by_edited_row_values_is_kept(env: Environment) -> None:
    """Object names may be rendered from row values, which can be edited in the node."""
    env.set_rows(*ROWS)
    async with running_operator(env):
        await env.create_hub()
        named = config_map()
        named["spec"]["metadata"] = {"name": "{{ .uid }}-{{ .plan }}"}
        del named["nameTemplate"]
        await env.create_form(configMaps=[named])
        await wait_for_node_ready(env, "acme-web")
        before = (await env.get(CONFIG_MAPS, "acme-pro"))["metadata"]
        # Paused, so that the hub does not restore the node before its reconcile.
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
        await env.wait_for_condition("Paused", "True")
        edited = {"lynq.sh/extra": '{"plan": "other"}'}
        await env.patch(NODES, "acme-web", {"metadata": {"annotations": edited}})
        await eventually(lambda: reports_edit(env, "acme-web"))
        await env.wait_until_idle()
        assert (await env.get(CONFIG_MAPS, "acme-pro"))["metadata"]["uid"] == before["uid"]
        await env.patch(HUBS, "hub", {"spec": {"paused": False}})
        await wait_for_deletion(env, CONFIG_MAPS, "acme-other")
        assert (await env.get(CONFIG_MAPS, "acme-pro"))["metadata"]["uid"] == before["uid"]


async def reports_edit(env: Environment, node: str) -> bool:
    """Return whether the node reports that it waits for its hub because it was edited."""
    conditions = (await env.get(NODES, node))["status"]["conditions"]
    return any(condition["reason"] == "WaitingForHub" for condition in conditions)
