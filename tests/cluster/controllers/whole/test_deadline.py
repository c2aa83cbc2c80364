"""A rollout that makes no progress: Failed at its deadline, and repaired all the same.

The shortest deadline is a minute. Nobody waits for it here: an operator follows whose clock is
ahead, as it would be had it been started later.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from cluster.controllers.operating import node_is_ready, operating
from cluster.controllers.stage import FORMS, Object, Stage
from cluster.local.manifests import deployment
from lynq.controllers.manager import Process, ProcessSettings
from lynq.controllers.options import Options
from waiting import eventually

LATER = timedelta(seconds=75)
GOOD = '{{ if eq .plan "pro" }}nonexistent{{ else }}nginx{{ end }}:2'


@asynccontextmanager
async def operating_later(stage: Stage) -> AsyncIterator[Process]:
    """Run the operator as if it were later."""
    options = Options(sqlite_directory=stage.directory, namespaces=(stage.namespace,))
    process = Process(ProcessSettings(options=options), stage.client)
    process.world = replace(process.world, now=lambda: datetime.now(UTC) + LATER)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(process.run(stop))
        yield process
        stop.set()


def app(image: str) -> Object:
    manifest = deployment("app", replicas=1, image=image)
    return {"id": "app", "nameTemplate": "{{ .uid }}-app", "spec": manifest}


async def rollout_is(stage: Stage, phase: str, generation: int) -> Object:
    async def so() -> Object:
        said: Object = (await stage.form_status()).get("rollout", {})
        assert (said.get("phase"), said.get("targetGeneration")) == (phase, generation), said
        return said

    return await eventually(so, within=40, every=0.1)


async def stuck(stage: Stage) -> None:
    """Have three nodes, of which the first is stuck with the second form."""
    stage.rows(*((uid, 1, "pro") for uid in ("t0", "t1", "t2")))
    await stage.hub()
    limit = {"maxSkew": 1, "progressDeadlineSeconds": 60}
    await stage.form(configMaps=[], deployments=[app("nginx:1")], rollout=limit)
    for name in ("t0-web", "t1-web", "t2-web"):
        await node_is_ready(stage, name, within=30)
    await rollout_is(stage, "Complete", 1)
    await stage.change(FORMS, "web", {"spec": {"deployments": [app(GOOD)]}})
    await rollout_is(stage, "InProgress", 2)


async def test_a_rollout_without_progress_fails_and_a_row_repairs_it(stage: Stage) -> None:
    async with operating(stage):
        await stuck(stage)
    async with operating_later(stage) as process:
        failed = await rollout_is(stage, "Failed", 2)
        assert failed["updatedNodes"] == 1
        assert "t0-web" in failed["message"]
        labels = {"form": "web", "namespace": stage.namespace}
        assert process.registry.get_sample_value("lynqform_rollout_phase", labels) == 2

        stage.rows(*((uid, 1, "gold") for uid in ("t0", "t1", "t2")))
        await stage.read_again()
        complete = await rollout_is(stage, "Complete", 2)
        assert complete["readyUpdatedNodes"] == 3
        assert process.registry.get_sample_value("lynqform_rollout_phase", labels) == 3


async def test_a_rollout_without_progress_fails_and_the_next_form_repairs_it(stage: Stage) -> None:
    async with operating(stage):
        await stuck(stage)
    async with operating_later(stage):
        await rollout_is(stage, "Failed", 2)
        await stage.change(FORMS, "web", {"spec": {"deployments": [app("nginx:3")]}})
        complete = await rollout_is(stage, "Complete", 3)
        assert complete["readyUpdatedNodes"] == 3
        assert complete["startTime"] <= complete["completionTime"]
