"""deletionPolicy: what goes with its entry or its node, what is retained, and how it comes back."""

import pytest

from cluster.controllers.node.making import (
    NODE,
    annotations,
    becomes,
    delete_node,
    edit,
    entry,
    is_told,
    labels,
    make_node,
    owners,
    plan_is,
    told,
    want,
    writes,
)
from cluster.controllers.operating import is_gone, node_is_ready, operating
from cluster.controllers.stage import NODES, Object, Stage
from lynq.kube.resource import CONFIG_MAPS

RETAIN = {"deletionPolicy": "Retain"}


def is_orphan(obj: Object) -> bool:
    return labels(obj).get("lynq.sh/orphaned") == "true"


async def test_what_leaves_the_form_is_deleted_or_retained(stage: Stage) -> None:
    async with operating(stage):
        await make_node(
            stage, entry("stays"), entry("goes"), entry("kept", **RETAIN), entry("also-kept")
        )
        await node_is_ready(stage, NODE)
        kept = await stage.get(CONFIG_MAPS, "kept")
        assert owners(kept) == []
        assert labels(kept)["lynq.sh/node"] == NODE
        assert labels(kept)["lynq.sh/node-namespace"] == stage.namespace

        # The policy of what is no longer in the form is the annotation's.
        await want(stage, entry("stays"), entry("also-kept"))
        await is_gone(stage, CONFIG_MAPS, "goes")
        found = await becomes(stage, "kept", is_orphan)
        assert annotations(found)["lynq.sh/orphaned-reason"] == "RemovedFromTemplate"
        assert "lynq.sh/orphaned-at" in annotations(found)
        assert {"lynq.sh/node", "lynq.sh/node-namespace"}.isdisjoint(labels(found))
        assert labels(found)["lynq.sh/managed"] == "true"
        assert found["data"] == {"plan": "pro"}

        gone = await is_told(stage, "OrphanedResourceDeleted", about=NODE)
        assert gone.startswith("Normal: ")
        assert "goes" in gone
        assert "kept" in await is_told(stage, "OrphanedResourceRetained", about=NODE)
        await is_told(stage, "OrphanMarkersAdded", about="kept")
        node = await node_is_ready(stage, NODE)
        assert [each["id"] for each in node["status"]["resources"]] == ["stays", "also-kept"]
        await stage.settles()
        assert await told(stage, "OrphanedResourceDeleted") == 1


async def test_an_orphan_that_is_wanted_again_is_adopted_in_one_write(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("kept", **RETAIN))
        await node_is_ready(stage, NODE)
        uid = (await stage.get(CONFIG_MAPS, "kept"))["metadata"]["uid"]
        await want(stage)
        await becomes(stage, "kept", is_orphan)
        await stage.settles()
        stage.traffic.sent.clear()

        await want(stage, entry("kept", "again", **RETAIN))
        found = await becomes(stage, "kept", plan_is("again"))
        assert found["metadata"]["uid"] == uid
        assert "lynq.sh/orphaned" not in labels(found)
        assert {"lynq.sh/orphaned-at", "lynq.sh/orphaned-reason"}.isdisjoint(annotations(found))
        assert labels(found)["lynq.sh/node"] == NODE
        await node_is_ready(stage, NODE)
        await stage.settles()
        assert writes(stage, "kept") == ["patch"]
        await is_told(stage, "OrphanMarkersRemoved", about="kept")


async def test_what_was_adopted_follows_the_form_without_a_conflict_with_ourselves(
    stage: Stage,
) -> None:
    """Adopted fields are ours by Update: the next apply must not take us for somebody else."""
    async with operating(stage):
        await make_node(stage, entry("kept", **RETAIN))
        await node_is_ready(stage, NODE)
        await want(stage)
        await becomes(stage, "kept", is_orphan)
        await want(stage, entry("kept", "again", **RETAIN))
        await becomes(stage, "kept", plan_is("again"))

        await want(stage, entry("kept", "third", **RETAIN))
        await becomes(stage, "kept", plan_is("third"))
        await node_is_ready(stage, NODE)
        assert await told(stage, "ResourceConflict") == 0
        # Whose it is now is told by the next drift.
        await edit(stage, "kept", {"data": {"plan": "by hand"}})
        await is_told(stage, "ResourceConflict", about=NODE)


async def test_a_deleted_node_takes_its_objects_along_and_leaves_the_retained(
    stage: Stage,
) -> None:
    async with operating(stage):
        await make_node(stage, entry("goes"), entry("kept", **RETAIN))
        await node_is_ready(stage, NODE)
        await delete_node(stage)
        await is_gone(stage, NODES, NODE)

        await is_gone(stage, CONFIG_MAPS, "goes", within=0)
        found = await becomes(stage, "kept", is_orphan)
        assert annotations(found)["lynq.sh/orphaned-reason"] == "LynqNodeDeleted"
        assert "lynq.sh/node" not in labels(found)
        assert "kept" in await is_told(stage, "ResourceRetained", about=NODE)
        await is_told(stage, "OrphanMarkersAdded", about="kept")
        await is_told(stage, "LynqNodeDeleted", about=NODE)


async def test_an_orphan_of_one_node_can_be_adopted_by_another(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("kept", **RETAIN))
        await node_is_ready(stage, NODE)
        await delete_node(stage)
        await is_gone(stage, NODES, NODE)
        await make_node(stage, entry("kept", "second", **RETAIN), name="beta-web")
        await node_is_ready(stage, "beta-web")
        found = await becomes(stage, "kept", plan_is("second"))
        assert labels(found)["lynq.sh/node"] == "beta-web"


async def test_a_policy_that_changes_changes_how_the_object_is_tied(stage: Stage) -> None:
    async with operating(stage):
        made = await make_node(stage, entry("settings"))
        await node_is_ready(stage, NODE)
        await want(stage, entry("settings", **RETAIN))
        found = await becomes(stage, "settings", lambda obj: not owners(obj))
        assert labels(found)["lynq.sh/node"] == NODE
        await want(stage, entry("settings"))
        found = await becomes(stage, "settings", owners)
        assert owners(found) == [made["metadata"]["uid"]]
        assert "lynq.sh/node" not in labels(found)
        await node_is_ready(stage, NODE)


async def test_an_id_that_is_used_for_another_object_does_not_lend_it_its_policy(
    stage: Stage,
) -> None:
    async with operating(stage):
        await make_node(stage, entry("data", **RETAIN), entry("cache"))
        await node_is_ready(stage, NODE)
        await want(
            stage, entry("data", nameTemplate="data-2"), entry("cache", nameTemplate="c", **RETAIN)
        )
        await becomes(stage, "data", is_orphan)
        await is_gone(stage, CONFIG_MAPS, "cache")
        await node_is_ready(stage, NODE)


@pytest.mark.parametrize("strategy", ["apply", "replace"])
async def test_what_the_manifest_no_longer_says_goes_when_an_orphan_is_adopted(
    stage: Stage, strategy: str
) -> None:
    parts: Object = {**RETAIN, "patchStrategy": strategy, "labelsTemplate": {"old": "1"}}
    old = entry("kept", **parts)
    old["spec"]["data"]["old"] = "x"
    async with operating(stage):
        await make_node(stage, old)
        await node_is_ready(stage, NODE)
        await want(stage)
        await becomes(stage, "kept", is_orphan)
        await edit(stage, "kept", {"data": {"theirs": "y"}})
        await want(stage, entry("kept", **parts | {"labelsTemplate": {"new": "1"}}))
        found = await becomes(stage, "kept", lambda obj: not is_orphan(obj))
        assert found["data"] == {"plan": "pro", "theirs": "y"}
        assert labels(found).get("new") == "1"
        assert "old" not in labels(found)


async def test_a_merge_takes_our_owner_reference_off_what_is_to_be_retained(stage: Stage) -> None:
    """Or the garbage collector takes it along with a node that is deleted in the foreground."""
    made = await stage.client.create(CONFIG_MAPS, {"metadata": {"name": "other"}}, stage.namespace)
    uid = made["metadata"]["uid"]
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": uid}
    async with operating(stage):
        await make_node(stage, entry("kept", patchStrategy="merge"))
        await node_is_ready(stage, NODE)
        ours = (await stage.get(CONFIG_MAPS, "kept"))["metadata"]["ownerReferences"]
        await edit(stage, "kept", {"metadata": {"ownerReferences": [*ours, other]}})
        await want(stage, entry("kept", patchStrategy="merge", **RETAIN))
        await becomes(stage, "kept", lambda obj: owners(obj) == [uid])
        await node_is_ready(stage, NODE)
