"""patchStrategy: how an object is made and changed, each way over nothing and over something."""

import pytest

from cluster.controllers.node.making import (
    NODE,
    annotations,
    becomes,
    edit,
    entry,
    labels,
    make_node,
    mark,
    of_kind,
    owners,
    plan_is,
    told,
    want,
    writes,
)
from cluster.controllers.operating import node_is_ready, operating
from cluster.controllers.stage import Object, Stage
from cluster.local.manifests import deployment
from lynq.kube import Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS, DEPLOYMENTS

STRATEGIES = ("apply", "merge", "replace")


def both(first: str, second: str | None, **parts: object) -> Object:
    """Return an entry with two keys, or one."""
    made = entry("settings", first, **parts)
    if second is not None:
        made["spec"]["data"]["second"] = second
    return made


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_an_object_is_made_and_changed(stage: Stage, strategy: str) -> None:
    parts = {"patchStrategy": strategy}
    async with operating(stage):
        made = await make_node(stage, entry("settings", **parts))
        await node_is_ready(stage, NODE)
        first = await becomes(stage, "settings", plan_is("pro"))
        assert owners(first) == [made["metadata"]["uid"]]
        assert labels(first)["lynq.sh/managed"] == "true"
        assert "lynq.sh/applied-hash" in annotations(first)

        stage.traffic.sent.clear()
        await mark(stage, extra='{"plan": "free"}')
        now = await becomes(stage, "settings", plan_is("free"))
        assert now["metadata"]["uid"] == first["metadata"]["uid"]
        await node_is_ready(stage, NODE)
        await stage.settles()
        verb = {"apply": "apply", "merge": "patch", "replace": "replace"}[strategy]
        assert writes(stage, "settings") == [verb]


@pytest.mark.parametrize(
    ("strategy", "left"),
    [
        # merge and replace know no conflicts; replace leaves nothing of what was there.
        ("merge", {"plan": "pro", "more": "theirs"}),
        ("replace", {"plan": "pro"}),
    ],
)
async def test_merge_and_replace_take_an_object_that_is_there(
    stage: Stage, strategy: str, left: Object
) -> None:
    theirs = {"metadata": {"name": "settings"}, "data": {"plan": "theirs", "more": "theirs"}}
    old = await stage.client.create(CONFIG_MAPS, theirs, stage.namespace, manager="somebody")
    async with operating(stage):
        made = await make_node(stage, entry("settings", patchStrategy=strategy))
        await node_is_ready(stage, NODE)
        now = await stage.get(CONFIG_MAPS, "settings")
        assert now["data"] == left
        assert now["metadata"]["uid"] == old["metadata"]["uid"]
        assert owners(now) == [made["metadata"]["uid"]]
        assert await told(stage, "ResourceConflict") == 0


async def test_what_leaves_an_applied_or_replaced_manifest_leaves_the_object(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, both("pro", "x"))
        await node_is_ready(stage, NODE)
        await want(stage, both("pro", None))
        await becomes(stage, "settings", lambda obj: obj["data"] == {"plan": "pro"})
        await want(stage, both("pro", "x", patchStrategy="replace"))
        await becomes(stage, "settings", lambda obj: "second" in obj["data"])
        await want(stage, both("pro", None, patchStrategy="replace"))
        await becomes(stage, "settings", lambda obj: obj["data"] == {"plan": "pro"})


@pytest.mark.parametrize("before", ["merge", "replace"])
async def test_a_strategy_that_changes_to_apply_owns_what_it_made_before(
    stage: Stage, before: str
) -> None:
    async with operating(stage):
        await make_node(stage, both("pro", "x", patchStrategy=before))
        await node_is_ready(stage, NODE)
        # New value, dropped key: neither may be a conflict with ourselves, nor stay behind.
        await want(stage, both("free", None, patchStrategy="apply"))
        await becomes(stage, "settings", lambda obj: obj["data"] == {"plan": "free"})
        await node_is_ready(stage, NODE)
        assert await told(stage, "ResourceConflict") == 0


async def test_apply_leaves_to_others_what_the_manifest_does_not_say(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"))
        await node_is_ready(stage, NODE)
        await edit(stage, "settings", {"data": {"more": "theirs"}})
        await mark(stage, extra='{"plan": "free"}')
        found = await becomes(stage, "settings", plan_is("free"))
        assert found["data"]["more"] == "theirs"
        assert await told(stage, "ResourceConflict") == 0


async def test_replace_of_an_object_that_others_write_too_gets_through(stage: Stage) -> None:
    """The Deployment's own controller writes its status all the time."""
    app = deployment("app", replicas=1)
    async with operating(stage):
        await make_node(stage, deployments=[of_kind("app", app, patchStrategy="replace")])
        await node_is_ready(stage, NODE)
        for replicas in (2, 3):
            app["spec"]["replicas"] = replicas
            await want(stage, deployments=[of_kind("app", app, patchStrategy="replace")])
        await becomes(
            stage, "app", lambda obj: obj["status"].get("readyReplicas") == 3, DEPLOYMENTS
        )
        await node_is_ready(stage, NODE)
        assert await told(stage, "ApplyFailed") == 0


async def test_replace_gets_through_although_others_write_in_between_each_time(
    stage: Stage,
) -> None:
    others, rivals = stage.client, iter(range(4))

    async def first(request: Request, send: Send) -> Response:
        if request.verb == "replace" and (number := next(rivals, None)) is not None:
            note = {"metadata": {"annotations": {"rival": str(number)}}}
            await others.patch(CONFIG_MAPS, "settings", note, stage.namespace)
        return await send(request)

    stage.client = others.intercepted(first)
    async with operating(stage):
        await make_node(stage, entry("settings", patchStrategy="replace"))
        await node_is_ready(stage, NODE)
        await mark(stage, extra='{"plan": "free"}')
        await becomes(stage, "settings", plan_is("free"))
        await node_is_ready(stage, NODE)
        assert next(rivals, None) is None
        assert await told(stage, "ApplyFailed") == 0
