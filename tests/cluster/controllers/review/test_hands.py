"""Hands on our own objects: what people edit must not make us delete what is somebody's."""

import asyncio
from typing import Any

import pytest

from cluster.controllers.operating import (
    is_gone,
    node_is_ready,
    operating,
    resource_is,
)
from cluster.controllers.stage import HUBS, NODES, Stage, config_map
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

ROWS = (("acme", 1, "pro"), ("beta", 1, "pro"))


async def test_a_node_labelled_as_another_hubs_is_not_deleted_by_that_hub(stage: Stage) -> None:
    stage.rows(*ROWS)
    stage.rows(file="other.db")
    await stage.hub()
    await stage.hub("other", source={"sqlite": {"path": "other.db", "table": "tenants"}})
    await stage.form()
    async with stage.operator():
        await stage.has_nodes("acme-web", "beta-web")
    before = (await stage.nodes())["acme-web"]["metadata"]
    await stage.change(NODES, "acme-web", {"metadata": {"labels": {"lynq.sh/hub": "other"}}})
    # The hub that it does not belong to is the first to look.
    await stage.change(HUBS, "hub", {"spec": {"paused": True}})
    async with stage.operator():
        await stage.has_condition("Ready", "True", "other")
        await asyncio.sleep(1)
        assert (await stage.get(NODES, "acme-web"))["metadata"]["uid"] == before["uid"]
        await stage.change(HUBS, "hub", {"spec": {"paused": False}})

        async def healed() -> bool:
            found = (await stage.get(NODES, "acme-web"))["metadata"]
            assert found["uid"] == before["uid"]
            return bool(found["labels"] == before["labels"])

        await eventually(healed)


async def test_a_node_deleted_with_orphan_leaves_its_objects(stage: Stage) -> None:
    stage.rows(*ROWS)
    async with operating(stage):
        await stage.hub()
        await stage.form()
        node = await node_is_ready(stage, "acme-web")
        settings = (await stage.get(CONFIG_MAPS, "acme-settings"))["metadata"]
        await stage.client.delete(NODES, "acme-web", stage.namespace, propagation="Orphan")

        async def another() -> bool:
            found = (await stage.nodes()).get("acme-web", node)
            return bool(found["metadata"]["uid"] != node["metadata"]["uid"])

        # The row is still there, so a new node comes and takes up what the old one has left.
        await eventually(another, within=30)
        again = await node_is_ready(stage, "acme-web", within=30)
        found = (await stage.get(CONFIG_MAPS, "acme-settings"))["metadata"]
        assert found["uid"] == settings["uid"]
        owners = [each["uid"] for each in found.get("ownerReferences", [])]
        assert owners == [again["metadata"]["uid"]]
        assert "lynq.sh/orphaned" not in found["labels"]


async def test_everything_of_a_node_deleted_with_orphan_stays_with_its_row_gone(
    stage: Stage,
) -> None:
    stage.rows(*ROWS)
    async with operating(stage):
        await stage.hub()
        await stage.form()
        await node_is_ready(stage, "acme-web")
        settings = (await stage.get(CONFIG_MAPS, "acme-settings"))["metadata"]
        stage.rows(ROWS[1])
        await stage.client.delete(NODES, "acme-web", stage.namespace, propagation="Orphan")
        await stage.read_again()
        await is_gone(stage, NODES, "acme-web")
        await asyncio.sleep(2)
        found = (await stage.get(CONFIG_MAPS, "acme-settings"))["metadata"]
        assert found["uid"] == settings["uid"]
        assert "ownerReferences" not in found


@pytest.mark.parametrize(
    "edited", [[], [config_map(nameTemplate="acme-other")]], ids=["dropped", "renamed"]
)
async def test_an_object_that_somebody_edits_out_of_a_node_stays(
    stage: Stage, edited: list[Any]
) -> None:
    stage.rows(*ROWS)
    async with operating(stage):
        await stage.hub()
        await stage.form(configMaps=[config_map()])
        await node_is_ready(stage, "acme-web")
        before = (await stage.get(CONFIG_MAPS, "acme-settings"))["metadata"]
        # Not to be put right before the node's own pass has seen it.
        await stage.change(HUBS, "hub", {"spec": {"paused": True}})
        await stage.has_condition("Paused", "True")
        await stage.change(NODES, "acme-web", {"spec": {"configMaps": edited}})
        await eventually(lambda: is_spared(stage, "acme-web"))
        await stage.settles()
        assert (await stage.get(CONFIG_MAPS, "acme-settings"))["metadata"]["uid"] == before["uid"]
        await stage.change(HUBS, "hub", {"spec": {"paused": False}})
        await resource_is(stage, "acme-web", "settings", "Ready")
        await node_is_ready(stage, "acme-web")
        await is_gone(stage, CONFIG_MAPS, "acme-other")
        assert (await stage.get(CONFIG_MAPS, "acme-settings"))["metadata"]["uid"] == before["uid"]


async def test_an_object_that_somebody_edits_the_row_away_from_stays(stage: Stage) -> None:
    """What an object is called may come from the row, which people can edit in the node as well."""
    stage.rows(*ROWS)
    async with operating(stage):
        await stage.hub()
        named = config_map()
        named["spec"]["metadata"] = {"name": "{{ .uid }}-{{ .plan }}"}
        del named["nameTemplate"]
        await stage.form(configMaps=[named])
        await node_is_ready(stage, "acme-web")
        before = (await stage.get(CONFIG_MAPS, "acme-pro"))["metadata"]
        # Not to be put right before the node's own pass has seen it.
        await stage.change(HUBS, "hub", {"spec": {"paused": True}})
        await stage.has_condition("Paused", "True")
        edited = {"lynq.sh/extra": '{"plan": "other"}'}
        await stage.change(NODES, "acme-web", {"metadata": {"annotations": edited}})
        await eventually(lambda: is_spared(stage, "acme-web"))
        await stage.settles()
        assert (await stage.get(CONFIG_MAPS, "acme-pro"))["metadata"]["uid"] == before["uid"]
        await stage.change(HUBS, "hub", {"spec": {"paused": False}})
        await is_gone(stage, CONFIG_MAPS, "acme-other")
        assert (await stage.get(CONFIG_MAPS, "acme-pro"))["metadata"]["uid"] == before["uid"]


async def is_spared(stage: Stage, node: str) -> bool:
    """Return whether a node says that an object stays because it was edited."""
    listed = (await stage.get(NODES, node))["status"]["resources"]
    return any("somebody edited it" in each.get("message", "") for each in listed)
