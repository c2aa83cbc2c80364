"""dependIds: what comes after what, and what a failure means for those that depend on it."""

import json

from cluster.controllers.node.making import (
    NODE,
    becomes,
    entry,
    exists,
    is_told,
    make_node,
    mark,
    of_kind,
    plan_is,
    told,
    want,
)
from cluster.controllers.operating import (
    node_is_ready,
    node_says,
    operating,
    resource_is,
    said,
)
from cluster.controllers.stage import Object, Stage
from cluster.local.manifests import deployment, job
from lynq.kube.resource import CONFIG_MAPS

BROKEN = "{{ .nothing }}"


def applied(stage: Stage) -> list[str]:
    """Return the names of applied objects in their order."""
    sent = (request for request in stage.traffic.sent if request.verb == "apply")
    return [request.path.rpartition("/")[2] for request in sent]


def late_app(after: str = "1s") -> Object:
    wait = {"local.lynq.sh/ready-after": after}
    return of_kind("app", deployment("app", replicas=1, annotations=wait))


async def test_waves_go_in_order(stage: Stage) -> None:
    async with operating(stage):
        await make_node(
            stage,
            entry("third", dependIds=["second"]),
            entry("second", dependIds=["first"]),
            entry("first"),
        )
        await node_is_ready(stage, NODE)
    assert applied(stage) == ["first", "second", "third"]


async def test_a_dependent_waits_until_its_dependency_is_ready(stage: Stage) -> None:
    async with operating(stage):
        await make_node(
            stage, entry("after", dependIds=["app"]), entry("beside"), deployments=[late_app()]
        )
        found = await resource_is(stage, NODE, "after", "Waiting")
        assert found["reason"] == "DependencyNotReady"
        assert '"app"' in found["message"]
        await becomes(stage, "beside", bool)
        assert not await exists(stage, "after")
        node = await node_says(stage, NODE, "Ready", "False", "NotAllResourcesReady")
        assert said(node, "Degraded") == ("True", "ResourcesNotReady")
        node = await node_is_ready(stage, NODE)
        assert await exists(stage, "after")
        assert said(node, "Progressing") == ("False", "ReconcileComplete")


async def test_what_is_not_ready_for_long_is_not_in_progress_for_long(stage: Stage) -> None:
    """Progressing is about our own work: that is over when all that can be written is."""
    async with operating(stage):
        await make_node(stage, deployments=[late_app("1h")])
        node = await node_says(stage, NODE, "Progressing", "False", "ReconcileComplete")
        assert said(node, "Ready") == ("False", "NotAllResourcesReady")


async def test_what_depends_on_a_failure_is_skipped_and_comes_when_it_is_repaired(
    stage: Stage,
) -> None:
    async with operating(stage):
        wish = (
            entry("second", dependIds=["first"]),
            entry("third", dependIds=["second"]),
            entry("beside"),
        )
        await make_node(stage, entry("first", BROKEN), *wish)
        node = await node_says(stage, NODE, "Ready", "False", "ResourcesFailed")
        assert said(node, "Degraded") == ("True", "ResourceFailures")
        assert node["status"]["skippedResourceIds"] == ["second", "third"]
        assert node["status"]["skippedResources"] == 2
        assert node["status"]["failedResources"] == 1
        await becomes(stage, "beside", bool)
        assert not await exists(stage, "second")
        sentence = await is_told(stage, "DependencySkipped", about=NODE, containing='"second"')
        assert "first" in sentence
        await is_told(stage, "TemplateRenderError", about=NODE)

        await want(stage, entry("first"), *wish)
        node = await node_is_ready(stage, NODE)
        assert "skippedResourceIds" not in node["status"]
        assert node["status"].get("skippedResources", 0) == 0
        assert await exists(stage, "third")
        assert await told(stage, "DependencySkipped") == 2


async def test_a_dependent_may_proceed_in_spite_of_a_failure(stage: Stage) -> None:
    async with operating(stage):
        await make_node(
            stage,
            entry("after", dependIds=["seed"], skipOnDependencyFailure=False),
            jobs=[of_kind("seed", job("seed", job="fail"))],
        )
        await resource_is(stage, NODE, "seed", "Failed")
        await becomes(stage, "after", plan_is("pro"))
        sentence = await is_told(stage, "DependencyFailedButProceeding", about=NODE)
        assert '"after"' in sentence
        assert '"seed"' in sentence
        await is_told(stage, "ResourceFailed", about=NODE)
        await mark(stage, touched="1")
        await stage.settles()
        assert await told(stage, "DependencyFailedButProceeding") == 1


async def test_a_cycle_stops_the_node_and_touches_nothing(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("first"))
        await node_is_ready(stage, NODE)
        await want(
            stage,
            entry("first", "changed", dependIds=["second"]),
            entry("second", dependIds=["first"]),
        )
        node = await node_says(stage, NODE, "Ready", "False", "DependencyError")
        assert said(node, "Degraded") == ("True", "DependencyCycle")
        assert "circular dependency" in node["status"]["conditions"][0]["message"]
        assert [each["id"] for each in node["status"]["resources"]] == ["first"]
        await is_told(stage, "DependencyError", about=NODE, containing="circular dependency")
        assert (await stage.get(CONFIG_MAPS, "first"))["data"] == {"plan": "pro"}
        await stage.settles()
        assert await told(stage, "DependencyError") == 1

        await want(stage, entry("first", "changed"))
        await node_is_ready(stage, NODE)
        await becomes(stage, "first", plan_is("changed"))


async def test_an_unknown_dependency_stops_the_node(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("first", dependIds=["nobody"]))
        node = await node_says(stage, NODE, "Ready", "False", "DependencyError")
        assert said(node, "Degraded") == ("True", "DependencyCycle")
        assert "nobody" in node["status"]["conditions"][0]["message"]
        assert not await exists(stage, "first")


async def test_values_that_cannot_be_read_stop_the_node(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("first"), annotations={"lynq.sh/extra": '{"plan": s3cret'})
        node = await node_says(stage, NODE, "Ready", "False", "VariablesBuildError")
        assert said(node, "Degraded") == ("True", "VariablesBuildError")
        assert "s3cret" not in json.dumps(node["status"])
        await is_told(stage, "TemplateRenderError", about=NODE)
        assert await told(stage, "DependencyError") == 0
        assert not await exists(stage, "first")

        await mark(stage, extra='{"plan": "pro"}')
        await node_is_ready(stage, NODE)


async def test_a_node_in_trouble_can_be_paused_and_resumed(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("first", dependIds=["nobody"]))
        await node_says(stage, NODE, "Ready", "False", "DependencyError")
        await mark(stage, paused="true")
        await node_says(stage, NODE, "Paused", "True")
        await mark(stage, paused=None)
        await node_says(stage, NODE, "Paused", "False")
