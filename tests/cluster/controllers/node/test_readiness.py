"""waitForReady and timeoutSeconds: when a resource counts as ready, as failed, and since when."""

from datetime import datetime
from typing import Any

from cluster.controllers.node.making import (
    NODE,
    annotations,
    becomes,
    edit,
    entry,
    exists,
    is_told,
    make_node,
    mark,
    of_kind,
    owners,
    told,
    want,
)
from cluster.controllers.operating import (
    node_is_ready,
    node_says,
    operating,
    resource_in,
    resource_is,
    said,
)
from cluster.controllers.stage import Object, Stage
from cluster.local.manifests import deployment, job
from lynq.kube.resource import DEPLOYMENTS

NEVER = {"local.lynq.sh/ready": "never"}


def app(pods: dict[str, str] | None = None, *, replicas: int = 1, **parts: Any) -> Object:
    return of_kind("app", deployment("app", replicas=replicas, annotations=pods or {}), **parts)


def at(moment: str) -> datetime:
    return datetime.fromisoformat(moment)


async def test_the_timeout_strikes_at_its_deadline_and_is_told_once(stage: Stage) -> None:
    async with operating(stage):
        await make_node(
            stage, entry("after", dependIds=["app"]), deployments=[app(NEVER, timeoutSeconds=2)]
        )
        await resource_is(stage, NODE, "app", "Progressing")
        found = await resource_is(stage, NODE, "app", "Failed")
        assert found["reason"] == "ReadinessTimeout"
        assert "2 s" in found["message"]
        live = await stage.get(DEPLOYMENTS, "app")
        began = at(annotations(live)["lynq.sh/apply-start-time"])
        late = (at(found["since"]) - began).total_seconds() - 2
        # `since` is in whole seconds.
        assert -1 <= late < 1.5
        await resource_is(stage, NODE, "after", "Skipped")
        sentence = await is_told(stage, "ReadinessTimeout", about=NODE)
        assert sentence.startswith("Warning: ")
        await mark(stage, touched="1")
        await stage.settles()
        assert await told(stage, "ReadinessTimeout") == 1


async def test_a_failed_resource_recovers_when_it_becomes_ready(stage: Stage) -> None:
    async with operating(stage):
        await make_node(
            stage, entry("after", dependIds=["app"]), deployments=[app(NEVER, timeoutSeconds=1)]
        )
        await resource_is(stage, NODE, "app", "Failed")
        await want(
            stage,
            entry("after", dependIds=["app"]),
            deployments=[app(timeoutSeconds=120)],
        )
        node = await node_is_ready(stage, NODE)
        assert said(node, "Degraded") == ("False", "Healthy")
        assert await exists(stage, "after")
        await is_told(stage, "LynqNodeReady", about=NODE)


async def test_what_need_not_be_waited_for_is_ready_when_it_is_written(stage: Stage) -> None:
    async with operating(stage):
        await make_node(
            stage, entry("after", dependIds=["app"]), deployments=[app(NEVER, waitForReady=False)]
        )
        node = await node_is_ready(stage, NODE)
        assert resource_in(node, "app")["state"] == "Ready"
        assert await exists(stage, "after")


async def test_scaled_to_zero_is_ready(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, deployments=[app(replicas=0)])
        await node_is_ready(stage, NODE)


async def test_a_bad_update_shows_while_the_old_pods_run(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, entry("beside"), deployments=[app(timeoutSeconds=3)])
        await node_is_ready(stage, NODE)
        await want(stage, entry("beside"), deployments=[app(NEVER, timeoutSeconds=3)])
        node = await node_says(stage, NODE, "Ready", "False", "NotAllResourcesReady")
        assert resource_in(node, "app")["state"] == "Progressing"
        assert resource_in(node, "beside")["state"] == "Ready"
        node = await node_says(stage, NODE, "Ready", "False", "ResourcesFailed")
        live = await stage.get(DEPLOYMENTS, "app")
        assert live["status"]["availableReplicas"] == 1

        await want(stage, entry("beside"), deployments=[app(timeoutSeconds=3)])
        await node_is_ready(stage, NODE)


async def test_a_ready_workload_that_degrades_is_failed_by_the_clock_of_its_last_change(
    stage: Stage,
) -> None:
    async with operating(stage):
        await make_node(stage, deployments=[app(timeoutSeconds=1)])
        await node_is_ready(stage, NODE)
        await stage.settles()
        await edit(
            stage,
            "app",
            {"spec": {"template": {"metadata": {"annotations": NEVER}}}},
            resource=DEPLOYMENTS,
        )
        found = await resource_is(stage, NODE, "app", "Failed")
        assert found["reason"] == "ReadinessTimeout"


async def test_a_job_that_failed_is_a_failed_resource(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, jobs=[of_kind("seed", job("seed", job="fail"))])
        found = await resource_is(stage, NODE, "seed", "Failed")
        assert found["message"]
        await is_told(stage, "ResourceFailed", about=NODE)


async def test_an_unchanged_write_gives_nobody_more_time(stage: Stage) -> None:
    async with operating(stage):
        await make_node(stage, deployments=[app(NEVER, timeoutSeconds=300)])
        found = await becomes(stage, "app", annotations, DEPLOYMENTS)
        first = annotations(found)["lynq.sh/apply-start-time"]
        await edit(stage, "app", {"metadata": {"ownerReferences": None}}, resource=DEPLOYMENTS)
        found = await becomes(stage, "app", owners, DEPLOYMENTS)
        assert annotations(found)["lynq.sh/apply-start-time"] == first
