"""dependIds: order of writes, and the effect of failures on dependents."""

import json

from lynq.kube.resource import CONFIG_MAPS
from operated.builders import (
    NODE,
    annotate,
    create_node,
    entry,
    event_count,
    exists,
    has_plan,
    manifest_entry,
    update_node,
    wait_for_event,
    wait_for_object,
)
from operated.environment import Environment, Object
from operated.manifests import deployment, job
from operated.running_operator import (
    node_condition,
    running_operator,
    wait_for_node_condition,
    wait_for_node_ready,
    wait_for_resource_state,
)

BROKEN = "{{ .nothing }}"


def applied(env: Environment) -> list[str]:
    """Return the names of applied objects in request order."""
    sent = (request for request in env.requests.sent if request.verb == "apply")
    return [request.path.rpartition("/")[2] for request in sent]


def slow_app(after: str = "1s") -> Object:
    wait = {"local.lynq.sh/ready-after": after}
    return manifest_entry("app", deployment("app", replicas=1, annotations=wait))


async def test_resources_are_applied_in_dependency_order(env: Environment) -> None:
    async with running_operator(env):
        await create_node(
            env,
            entry("third", dependIds=["second"]),
            entry("second", dependIds=["first"]),
            entry("first"),
        )
        await wait_for_node_ready(env, NODE)
    assert applied(env) == ["first", "second", "third"]


async def test_dependent_waits_until_dependency_is_ready(env: Environment) -> None:
    async with running_operator(env):
        await create_node(
            env, entry("after", dependIds=["app"]), entry("beside"), deployments=[slow_app()]
        )
        resource = await wait_for_resource_state(env, NODE, "after", "Waiting")
        assert resource["reason"] == "DependencyNotReady"
        assert '"app"' in resource["message"]
        await wait_for_object(env, "beside", bool)
        assert not await exists(env, "after")
        node = await wait_for_node_condition(env, NODE, "Ready", "False", "NotAllResourcesReady")
        assert node_condition(node, "Degraded") == ("True", "ResourcesNotReady")
        node = await wait_for_node_ready(env, NODE)
        assert await exists(env, "after")
        assert node_condition(node, "Progressing") == ("False", "ReconcileComplete")


async def test_progressing_ends_when_all_resources_are_ready(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, deployments=[slow_app("2s")])
        node = await wait_for_node_condition(env, NODE, "Progressing", "True", "Reconciling")
        assert node_condition(node, "Ready") == ("False", "NotAllResourcesReady")
        node = await wait_for_node_condition(env, NODE, "Progressing", "False", "ReconcileComplete")
        assert node_condition(node, "Ready")[0] == "True"


async def test_dependents_of_failed_resource_are_skipped_until_repair(
    env: Environment,
) -> None:
    async with running_operator(env):
        desired = (
            entry("second", dependIds=["first"]),
            entry("third", dependIds=["second"]),
            entry("beside"),
        )
        await create_node(env, entry("first", BROKEN), *desired)
        node = await wait_for_node_condition(env, NODE, "Ready", "False", "ResourcesFailed")
        assert node_condition(node, "Degraded") == ("True", "ResourceFailures")
        assert node["status"]["skippedResourceIds"] == ["second", "third"]
        assert node["status"]["skippedResources"] == 2
        assert node["status"]["failedResources"] == 1
        await wait_for_object(env, "beside", bool)
        assert not await exists(env, "second")
        # Warnings are written in any order.
        for skipped, dependency in (("second", "first"), ("third", "second")):
            message = await wait_for_event(
                env, "DependencySkipped", about=NODE, containing=f'"{skipped}" (ConfigMap'
            )
            assert f'dependency "{dependency}"' in message
        await wait_for_event(env, "TemplateRenderError", about=NODE)

        await update_node(env, entry("first"), *desired)
        node = await wait_for_node_ready(env, NODE)
        assert "skippedResourceIds" not in node["status"]
        assert node["status"].get("skippedResources", 0) == 0
        assert await exists(env, "third")
        assert await event_count(env, "DependencySkipped") == 2


async def test_dependent_may_proceed_after_dependency_failure(env: Environment) -> None:
    async with running_operator(env):
        await create_node(
            env,
            entry("after", dependIds=["seed"], skipOnDependencyFailure=False),
            jobs=[manifest_entry("seed", job("seed", job="fail"))],
        )
        await wait_for_resource_state(env, NODE, "seed", "Failed")
        await wait_for_object(env, "after", has_plan("pro"))
        message = await wait_for_event(env, "DependencyFailedButProceeding", about=NODE)
        assert '"after"' in message
        assert '"seed"' in message
        await wait_for_event(env, "ResourceFailed", about=NODE)
        await annotate(env, touched="1")
        await env.wait_until_idle()
        assert await event_count(env, "DependencyFailedButProceeding") == 1


async def test_dependency_cycle_stops_node_without_changes(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("first"))
        await wait_for_node_ready(env, NODE)
        await update_node(
            env,
            entry("first", "changed", dependIds=["second"]),
            entry("second", dependIds=["first"]),
        )
        node = await wait_for_node_condition(env, NODE, "Ready", "False", "DependencyError")
        assert node_condition(node, "Degraded") == ("True", "DependencyCycle")
        assert "circular dependency" in node["status"]["conditions"][0]["message"]
        assert [resource["id"] for resource in node["status"]["resources"]] == ["first"]
        await wait_for_event(env, "DependencyError", about=NODE, containing="circular dependency")
        assert (await env.get(CONFIG_MAPS, "first"))["data"] == {"plan": "pro"}
        await env.wait_until_idle()
        assert await event_count(env, "DependencyError") == 1

        await update_node(env, entry("first", "changed"))
        await wait_for_node_ready(env, NODE)
        await wait_for_object(env, "first", has_plan("changed"))


async def test_unknown_dependency_stops_node(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("first", dependIds=["missing"]))
        node = await wait_for_node_condition(env, NODE, "Ready", "False", "DependencyError")
        assert node_condition(node, "Degraded") == ("True", "DependencyCycle")
        assert "missing" in node["status"]["conditions"][0]["message"]
        assert not await exists(env, "first")


async def test_unreadable_row_values_stop_node(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("first"), annotations={"lynq.sh/extra": '{"plan": s3cret'})
        node = await wait_for_node_condition(env, NODE, "Ready", "False", "VariablesBuildError")
        assert node_condition(node, "Degraded") == ("True", "VariablesBuildError")
        assert "s3cret" not in json.dumps(node["status"])
        await wait_for_event(env, "TemplateRenderError", about=NODE)
        assert await event_count(env, "DependencyError") == 0
        assert not await exists(env, "first")

        await annotate(env, extra='{"plan": "pro"}')
        await wait_for_node_ready(env, NODE)


async def test_failed_node_can_be_paused_and_resumed(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("first", dependIds=["missing"]))
        await wait_for_node_condition(env, NODE, "Ready", "False", "DependencyError")
        await annotate(env, paused="true")
        await wait_for_node_condition(env, NODE, "Paused", "True")
        await annotate(env, paused=None)
        await wait_for_node_condition(env, NODE, "Paused", "False")
