"""waitForReady and timeoutSeconds: when a resource is ready, failed, and since when."""

from datetime import datetime, timedelta
from typing import Any

from built_in_resources import DEPLOYMENTS
from operated.builders import (
    NODE,
    annotate,
    annotations,
    create_node,
    edit,
    entry,
    event_count,
    exists,
    manifest_entry,
    owner_uids,
    update_node,
    wait_for_event,
    wait_for_object,
)
from operated.environment import Environment, Object
from operated.manifests import deployment, job
from operated.running_operator import (
    node_condition,
    resource_status,
    running_operator,
    wait_for_node_condition,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually

NEVER = {"local.lynq.sh/ready": "never"}


def app(pods: dict[str, str] | None = None, *, replicas: int = 1, **parts: Any) -> Object:
    return manifest_entry(
        "app", deployment("app", replicas=replicas, annotations=pods or {}), **parts
    )


def parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def test_readiness_timeout_fails_resource_at_deadline_once(env: Environment) -> None:
    async with running_operator(env):
        await create_node(
            env, entry("after", dependIds=["app"]), deployments=[app(NEVER, timeoutSeconds=2)]
        )
        await wait_for_resource_state(env, NODE, "app", "Progressing")
        resource = await wait_for_resource_state(env, NODE, "app", "Failed")
        assert resource["reason"] == "ReadinessTimeout"
        assert "2 s" in resource["message"]
        live = await env.get(DEPLOYMENTS, "app")
        start = parse_time(annotations(live)["lynq.sh/apply-start-time"])
        late = (parse_time(resource["since"]) - start).total_seconds() - 2
        # `since` is in whole seconds. Without a timer, the next reconcile is 30 s later.
        assert -1 <= late < 5
        await wait_for_resource_state(env, NODE, "after", "Skipped")
        message = await wait_for_event(env, "ReadinessTimeout", about=NODE)
        assert message.startswith("Warning: ")
        await annotate(env, touched="1")
        await env.wait_until_idle()
        assert await event_count(env, "ReadinessTimeout") == 1


async def test_failed_resource_recovers_when_ready(env: Environment) -> None:
    async with running_operator(env):
        await create_node(
            env, entry("after", dependIds=["app"]), deployments=[app(NEVER, timeoutSeconds=1)]
        )
        await wait_for_resource_state(env, NODE, "app", "Failed")
        await update_node(
            env,
            entry("after", dependIds=["app"]),
            deployments=[app(timeoutSeconds=120)],
        )
        node = await wait_for_node_ready(env, NODE)
        assert node_condition(node, "Degraded") == ("False", "Healthy")
        assert await exists(env, "after")
        success = "2 of 2 resources are ready"
        await wait_for_event(env, "TemplateAppliedSuccess", about=NODE, containing=success)


async def test_resource_without_wait_for_ready_is_ready_once_applied(env: Environment) -> None:
    async with running_operator(env):
        await create_node(
            env, entry("after", dependIds=["app"]), deployments=[app(NEVER, waitForReady=False)]
        )
        node = await wait_for_node_ready(env, NODE)
        assert resource_status(node, "app")["state"] == "Ready"
        assert await exists(env, "after")


async def test_deployment_scaled_to_zero_is_ready(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, deployments=[app(replicas=0)])
        await wait_for_node_ready(env, NODE)


async def test_bad_update_is_reported_while_old_pods_run(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("beside"), deployments=[app(timeoutSeconds=3)])
        await wait_for_node_ready(env, NODE)
        await update_node(env, entry("beside"), deployments=[app(NEVER, timeoutSeconds=3)])
        node = await wait_for_node_condition(env, NODE, "Ready", "False", "NotAllResourcesReady")
        assert resource_status(node, "app")["state"] == "Progressing"
        assert resource_status(node, "beside")["state"] == "Ready"
        node = await wait_for_node_condition(env, NODE, "Ready", "False", "ResourcesFailed")
        live = await env.get(DEPLOYMENTS, "app")
        assert live["status"]["availableReplicas"] == 1

        await update_node(env, entry("beside"), deployments=[app(timeoutSeconds=3)])
        await wait_for_node_ready(env, NODE)


async def test_workload_that_loses_its_readiness_has_its_whole_timeout_again(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_node(env, deployments=[app(timeoutSeconds=3)])
        await wait_for_node_ready(env, NODE)
        live = await env.get(DEPLOYMENTS, "app")
        started = parse_time(annotations(live)["lynq.sh/apply-start-time"])
        await eventually(lambda: env.clock() > started + timedelta(seconds=4))
        never = {"spec": {"template": {"metadata": {"annotations": NEVER}}}}
        await edit(env, "app", never, resource=DEPLOYMENTS)
        resource = await wait_for_resource_state(env, NODE, "app", "Progressing")
        lost_at = parse_time(resource["readinessLostAt"])
        node = await wait_for_node_condition(env, NODE, "Progressing", "True", "Reconciling")
        assert node_condition(node, "Ready") == ("False", "NotAllResourcesReady")
    async with running_operator(env):
        resource = await wait_for_resource_state(env, NODE, "app", "Failed")
        assert resource["reason"] == "ReadinessTimeout"
        assert parse_time(resource["readinessLostAt"]) == lost_at
        assert -1 <= (parse_time(resource["since"]) - lost_at).total_seconds() - 3 < 5
        await wait_for_node_condition(env, NODE, "Progressing", "False", "ReconcileComplete")


async def test_failed_job_is_a_failed_resource(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, jobs=[manifest_entry("seed", job("seed", job="fail"))])
        resource = await wait_for_resource_state(env, NODE, "seed", "Failed")
        assert resource["message"]
        await wait_for_event(env, "ResourceFailed", about=NODE)


async def test_unchanged_write_does_not_extend_timeout(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, deployments=[app(NEVER, timeoutSeconds=300)])
        obj = await wait_for_object(env, "app", annotations, DEPLOYMENTS)
        first = annotations(obj)["lynq.sh/apply-start-time"]
        await edit(env, "app", {"metadata": {"ownerReferences": None}}, resource=DEPLOYMENTS)
        obj = await wait_for_object(env, "app", owner_uids, DEPLOYMENTS)
        assert annotations(obj)["lynq.sh/apply-start-time"] == first
