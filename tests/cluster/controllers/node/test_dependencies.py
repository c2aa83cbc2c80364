"""dependIds: what comes after what, and what a failure means for those that depend on it."""

import json

from cluster.controllers.environment import Environment, Object
from cluster.controllers.node.builders import (
    NODE,
    annotate,
    apply_node,
    becomes,
    entry,
    event_count,
    event_recorded,
    exists,
    make_node,
    of_kind,
    plan_is,
)
from cluster.controllers.running_operator import (
    condition_of,
    node_has_condition,
    node_is_ready,
    resource_is,
    running_operator,
)
from cluster.local.manifests import deployment, job
from lynq.kube.resource import CONFIG_MAPS

BROKEN = "{{ .nothing }}"


def applied(env: Environment) -> list[str]:
    """Return the names of applied objects in their order."""
    sent = (request for request in env.traffic.sent if request.verb == "apply")
    return [request.path.rpartition("/")[2] for request in sent]


def late_app(after: str = "1s") -> Object:
    wait = {"local.lynq.sh/ready-after": after}
    return of_kind("app", deployment("app", replicas=1, annotations=wait))


async def test_waves_go_in_order(env: Environment) -> None:
    async with running_operator(env):
        await make_node(
            env,
            entry("third", dependIds=["second"]),
            entry("second", dependIds=["first"]),
            entry("first"),
        )
        await node_is_ready(env, NODE)
    assert applied(env) == ["first", "second", "third"]


async def test_a_dependent_waits_until_its_dependency_is_ready(env: Environment) -> None:
    async with running_operator(env):
        await make_node(
            env, entry("after", dependIds=["app"]), entry("beside"), deployments=[late_app()]
        )
        found = await resource_is(env, NODE, "after", "Waiting")
        assert found["reason"] == "DependencyNotReady"
        assert '"app"' in found["message"]
        await becomes(env, "beside", bool)
        assert not await exists(env, "after")
        node = await node_has_condition(env, NODE, "Ready", "False", "NotAllResourcesReady")
        assert condition_of(node, "Degraded") == ("True", "ResourcesNotReady")
        node = await node_is_ready(env, NODE)
        assert await exists(env, "after")
        assert condition_of(node, "Progressing") == ("False", "ReconcileComplete")


async def test_what_is_not_ready_for_long_is_not_in_progress_for_long(env: Environment) -> None:
    """Progressing is about our own work: that is over when all that can be written is."""
    async with running_operator(env):
        await make_node(env, deployments=[late_app("1h")])
        node = await node_has_condition(env, NODE, "Progressing", "False", "ReconcileComplete")
        assert condition_of(node, "Ready") == ("False", "NotAllResourcesReady")


async def test_what_depends_on_a_failure_is_skipped_and_comes_when_it_is_repaired(
    env: Environment,
) -> None:
    async with running_operator(env):
        wish = (
            entry("second", dependIds=["first"]),
            entry("third", dependIds=["second"]),
            entry("beside"),
        )
        await make_node(env, entry("first", BROKEN), *wish)
        node = await node_has_condition(env, NODE, "Ready", "False", "ResourcesFailed")
        assert condition_of(node, "Degraded") == ("True", "ResourceFailures")
        assert node["status"]["skippedResourceIds"] == ["second", "third"]
        assert node["status"]["skippedResources"] == 2
        assert node["status"]["failedResources"] == 1
        await becomes(env, "beside", bool)
        assert not await exists(env, "second")
        sentence = await event_recorded(env, "DependencySkipped", about=NODE, containing='"second"')
        assert "first" in sentence
        await event_recorded(env, "TemplateRenderError", about=NODE)

        await apply_node(env, entry("first"), *wish)
        node = await node_is_ready(env, NODE)
        assert "skippedResourceIds" not in node["status"]
        assert node["status"].get("skippedResources", 0) == 0
        assert await exists(env, "third")
        assert await event_count(env, "DependencySkipped") == 2


async def test_a_dependent_may_proceed_in_spite_of_a_failure(env: Environment) -> None:
    async with running_operator(env):
        await make_node(
            env,
            entry("after", dependIds=["seed"], skipOnDependencyFailure=False),
            jobs=[of_kind("seed", job("seed", job="fail"))],
        )
        await resource_is(env, NODE, "seed", "Failed")
        await becomes(env, "after", plan_is("pro"))
        sentence = await event_recorded(env, "DependencyFailedButProceeding", about=NODE)
        assert '"after"' in sentence
        assert '"seed"' in sentence
        await event_recorded(env, "ResourceFailed", about=NODE)
        await annotate(env, touched="1")
        await env.settles()
        assert await event_count(env, "DependencyFailedButProceeding") == 1


async def test_a_cycle_stops_the_node_and_touches_nothing(env: Environment) -> None:
    async with running_operator(env):
        await make_node(env, entry("first"))
        await node_is_ready(env, NODE)
        await apply_node(
            env,
            entry("first", "changed", dependIds=["second"]),
            entry("second", dependIds=["first"]),
        )
        node = await node_has_condition(env, NODE, "Ready", "False", "DependencyError")
        assert condition_of(node, "Degraded") == ("True", "DependencyCycle")
        assert "circular dependency" in node["status"]["conditions"][0]["message"]
        assert [each["id"] for each in node["status"]["resources"]] == ["first"]
        await event_recorded(env, "DependencyError", about=NODE, containing="circular dependency")
        assert (await env.get(CONFIG_MAPS, "first"))["data"] == {"plan": "pro"}
        await env.settles()
        assert await event_count(env, "DependencyError") == 1

        await apply_node(env, entry("first", "changed"))
        await node_is_ready(env, NODE)
        await becomes(env, "first", plan_is("changed"))


async def test_an_unknown_dependency_stops_the_node(env: Environment) -> None:
    async with running_operator(env):
        await make_node(env, entry("first", dependIds=["nobody"]))
        node = await node_has_condition(env, NODE, "Ready", "False", "DependencyError")
        assert condition_of(node, "Degraded") == ("True", "DependencyCycle")
        assert "nobody" in node["status"]["conditions"][0]["message"]
        assert not await exists(env, "first")


async def test_values_that_cannot_be_read_stop_the_node(env: Environment) -> None:
    async with running_operator(env):
        await make_node(env, entry("first"), annotations={"lynq.sh/extra": '{"plan": s3cret'})
        node = await node_has_condition(env, NODE, "Ready", "False", "VariablesBuildError")
        assert condition_of(node, "Degraded") == ("True", "VariablesBuildError")
        assert "s3cret" not in json.dumps(node["status"])
        await event_recorded(env, "TemplateRenderError", about=NODE)
        assert await event_count(env, "DependencyError") == 0
        assert not await exists(env, "first")

        await annotate(env, extra='{"plan": "pro"}')
        await node_is_ready(env, NODE)


async def test_a_node_in_trouble_can_be_paused_and_resumed(env: Environment) -> None:
    async with running_operator(env):
        await make_node(env, entry("first", dependIds=["nobody"]))
        await node_has_condition(env, NODE, "Ready", "False", "DependencyError")
        await annotate(env, paused="true")
        await node_has_condition(env, NODE, "Paused", "True")
        await annotate(env, paused=None)
        await node_has_condition(env, NODE, "Paused", "False")
