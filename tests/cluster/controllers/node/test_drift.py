"""Drift: what others change of our objects is set right, or told, at once; and never in a race."""

import asyncio
from typing import Any

import pytest

from cluster.controllers.node.making import (
    NODE,
    annotations,
    becomes,
    edit,
    entry,
    is_told,
    labels,
    make_node,
    mark,
    owners,
    plan_is,
    told,
    writes,
)
from cluster.controllers.operating import (
    node_is_ready,
    node_says,
    operating,
    resource_is,
    said,
)
from cluster.controllers.stage import NODES, Object, Stage
from lynq.kube.resource import CONFIG_MAPS

FORCE = {"conflictPolicy": "Force"}
AT_ONCE = 5.0
"""Far below the ten minutes of the backstop, and the half minute of the next look."""


async def ready(stage: Stage, *wish: Object) -> Object:
    made = await make_node(stage, *wish)
    await node_is_ready(stage, NODE)
    return made


@pytest.mark.parametrize("text", [None, "0000000000000000"])
async def test_a_hash_that_is_lost_or_changed_is_written_again(
    stage: Stage, text: str | None
) -> None:
    async with operating(stage):
        await ready(stage, entry("settings"))
        right = annotations(await stage.get(CONFIG_MAPS, "settings"))["lynq.sh/applied-hash"]
        patch: Object = {"metadata": {"annotations": {"lynq.sh/applied-hash": text}}}
        await edit(stage, "settings", patch | {"data": {"plan": None}}, by="lynq-operator")
        found = await becomes(stage, "settings", plan_is("pro"), within=AT_ONCE)
        assert annotations(found)["lynq.sh/applied-hash"] == right


async def test_data_edited_under_force_is_restored_at_once(stage: Stage) -> None:
    async with operating(stage):
        await ready(stage, entry("settings", **FORCE))
        await edit(stage, "settings", {"data": {"plan": "by hand", "more": "theirs"}})
        found = await becomes(stage, "settings", plan_is("pro"), within=AT_ONCE)
        assert found["data"]["more"] == "theirs"
        assert "somebody" in await is_told(stage, "ForceApply", about=NODE)
        await node_is_ready(stage, NODE)


async def test_data_edited_under_stuck_is_a_conflict_at_once(stage: Stage) -> None:
    async with operating(stage):
        await ready(stage, entry("settings"))
        await edit(stage, "settings", {"data": {"plan": "by hand"}})
        node = await node_says(
            stage, NODE, "Ready", "False", "ResourcesFailedAndConflicted", within=AT_ONCE
        )
        assert said(node, "Conflicted") == ("True", "ResourceConflict")
        found = await resource_is(stage, NODE, "settings", "Conflicted")
        assert "'somebody'" in found["message"]
        assert (await stage.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "by hand"}
        await is_told(stage, "ResourceConflict", about=NODE)

        # Given back, all is well again.
        await edit(stage, "settings", {"data": {"plan": None}})
        await becomes(stage, "settings", plan_is("pro"))
        await node_is_ready(stage, NODE)


async def test_a_field_that_was_only_removed_is_restored_under_stuck_too(stage: Stage) -> None:
    async with operating(stage):
        await ready(stage, entry("settings"))
        await edit(stage, "settings", {"data": {"plan": None}})
        await becomes(stage, "settings", plan_is("pro"), within=AT_ONCE)
        await node_is_ready(stage, NODE)
        assert await told(stage, "ResourceConflict") == 0
        assert await told(stage, "ForceApply") == 0


@pytest.mark.parametrize("strategy", ["merge", "replace"])
@pytest.mark.parametrize("text", ["by hand", None], ids=["edited", "removed"])
async def test_drift_of_what_is_merged_or_replaced_is_restored_at_once(
    stage: Stage, strategy: str, text: str | None
) -> None:
    """There are no conflicts for these, so conflictPolicy says nothing."""
    async with operating(stage):
        await ready(stage, entry("settings", patchStrategy=strategy))
        await edit(stage, "settings", {"data": {"plan": text}})
        await becomes(stage, "settings", plan_is("pro"), within=AT_ONCE)
        await node_is_ready(stage, NODE)
        await stage.settles()
        assert len(writes(stage, "settings")) <= 2


async def test_an_owner_reference_that_was_removed_is_restored(stage: Stage) -> None:
    async with operating(stage):
        made = await ready(stage, entry("settings"))
        await edit(stage, "settings", {"metadata": {"ownerReferences": None}})
        found = await becomes(stage, "settings", owners, within=AT_ONCE)
        assert owners(found) == [made["metadata"]["uid"]]


@pytest.mark.parametrize("label", ["lynq.sh/managed", "lynq.sh/node", "lynq.sh/node-namespace"])
async def test_a_label_that_was_removed_is_restored(stage: Stage, label: str) -> None:
    async with operating(stage):
        await ready(stage, entry("settings", deletionPolicy="Retain"))
        await edit(stage, "settings", {"metadata": {"labels": {label: None}}})
        await becomes(stage, "settings", lambda obj: label in labels(obj), within=AT_ONCE)
        await node_is_ready(stage, NODE)


async def test_an_object_that_was_deleted_is_made_again(stage: Stage) -> None:
    async with operating(stage):
        await ready(stage, entry("settings"))
        old = await stage.get(CONFIG_MAPS, "settings")
        await stage.client.delete(CONFIG_MAPS, "settings", stage.namespace)
        found = await becomes(stage, "settings", plan_is("pro"), within=AT_ONCE)
        assert found["metadata"]["uid"] != old["metadata"]["uid"]


async def test_what_others_add_and_own_is_no_drift(stage: Stage) -> None:
    async with operating(stage):
        await ready(stage, entry("settings"))
        await stage.settles()
        stage.traffic.sent.clear()
        more = {"labels": {"team": "shop"}, "annotations": {"note": "x"}}
        await edit(stage, "settings", {"metadata": more, "data": {"more": "theirs"}})
        await stage.settles()
        assert stage.traffic.sent == []


@pytest.mark.parametrize(
    "undo",
    [
        {"data": {"plan": "theirs"}},
        {"metadata": {"annotations": {"lynq.sh/applied-hash": None}}},
        None,
    ],
    ids=["data", "hash", "deleted"],
)
async def test_two_controllers_that_fight_never_fight_hot(stage: Stage, undo: Any) -> None:
    async def insist() -> None:
        while True:
            # Before the edit: the answer to it may come after what we do about it.
            seen = len(writes(stage, "settings"))
            if undo is None:
                await stage.client.delete(CONFIG_MAPS, "settings", stage.namespace)
            else:
                await edit(stage, "settings", undo, by="rival")
            while len(writes(stage, "settings")) == seen:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)

    async with operating(stage):
        await ready(stage, entry("settings", **FORCE), entry("other"))
        stage.traffic.sent.clear()
        rival = asyncio.create_task(insist())
        await asyncio.sleep(5)
        rival.cancel()
        # At once, then after 1, 2, 4 s; each of them may be an apply that finds out who holds
        # the fields and one that takes them.
        assert 2 <= len(writes(stage, "settings")) <= 8, writes(stage, "settings")

        # Somebody else's fight delays nobody, and new content waits for no back-off.
        await mark(stage, extra='{"plan": "free"}')
        await becomes(stage, "other", plan_is("free"), within=AT_ONCE)
        await becomes(stage, "settings", plan_is("free"))


async def test_drift_after_a_restart_is_seen_too(stage: Stage) -> None:
    async with operating(stage):
        await ready(stage, entry("settings", **FORCE))
    async with operating(stage):
        await stage.settles()
        await edit(stage, "settings", {"data": {"plan": "by hand"}})
        await becomes(stage, "settings", plan_is("pro"), within=AT_ONCE)


async def test_data_edited_while_nobody_ran_is_restored_under_force(stage: Stage) -> None:
    async with operating(stage):
        await ready(stage, entry("settings", **FORCE))
    await edit(stage, "settings", {"data": {"plan": "by hand"}})
    async with operating(stage):
        await becomes(stage, "settings", plan_is("pro"), within=AT_ONCE)


async def test_data_edited_while_nobody_ran_is_a_conflict_under_stuck(stage: Stage) -> None:
    async with operating(stage):
        await ready(stage, entry("settings"))
    await edit(stage, "settings", {"data": {"plan": "by hand"}})
    for _ in range(2):
        async with operating(stage):
            await stage.settles()
            await resource_is(stage, NODE, "settings", "Conflicted")
            await node_says(stage, NODE, "Conflicted", "True")
    assert (await stage.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "by hand"}


async def test_a_digest_that_somebody_wrote_breaks_nothing(stage: Stage) -> None:
    async with operating(stage):
        await ready(stage, entry("settings", **FORCE))
    node = await stage.get(NODES, NODE)
    for each in node["status"]["resources"]:
        each["fieldsDigest"] = "not a digest"
    patch = {"status": {"resources": node["status"]["resources"]}}
    await stage.client.patch(NODES, NODE, patch, stage.namespace, subresource="status")
    async with operating(stage):
        await stage.settles()
        await edit(stage, "settings", {"data": {"plan": "by hand"}})
        await becomes(stage, "settings", plan_is("pro"), within=AT_ONCE)
