"""A Job with creationPolicy Once runs once, also if its end is not observed."""

from datetime import timedelta
from typing import Any

import pytest

from lynq.kube import Resource
from lynq.kube.errors import NotFound
from operated.builders import (
    NODE,
    annotate,
    create_node,
    entry,
    manifest_entry,
    resource_statuses,
    update_node,
)
from operated.environment import Environment, Object
from operated.manifests import job
from operated.running_operator import (
    running_operator,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually, stays

JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)


def seed(*, ttl: int | None = 2, **steering: str) -> Object:
    """Return an entry for a Job that runs longer than an operator needs to stop."""
    manifest: dict[str, Any] = job("seed", **{"complete-after": "20s", **steering})
    if ttl is not None:
        manifest["spec"]["ttlSecondsAfterFinished"] = ttl
    return manifest_entry("seed", manifest, creationPolicy="Once")


def uid_of(obj: Object) -> str:
    return str(obj["metadata"]["uid"])


async def exists(env: Environment) -> bool:
    try:
        await env.get(JOBS, "seed")
    except NotFound:
        return False
    return True


async def is_recorded(env: Environment) -> bool:
    return "fieldsDigest" in (await resource_statuses(env))["seed"]


async def is_gone(env: Environment) -> bool:
    return not await exists(env)


async def never_again(env: Environment) -> None:
    await stays(lambda: is_gone(env), seconds=60, every=0.5)


async def start(env: Environment, **parts: Any) -> str:
    """Create the node, and wait until its Job runs; return the uid of the Job."""
    await create_node(env, jobs=[seed(**parts)])
    await eventually(lambda: exists(env), within=10, every=0.01)
    # The status has the proof that the Job was applied.
    await eventually(lambda: is_recorded(env), within=30)
    return uid_of(await env.get(JOBS, "seed"))


async def test_job_that_completes_while_the_node_is_paused_runs_once(env: Environment) -> None:
    async with running_operator(env):
        await start(env)
        await annotate(env, paused="true")
        await eventually(lambda: is_gone(env), within=60)
        await annotate(env, paused=None)
        await never_again(env)
        node = await wait_for_node_ready(env, NODE)
        assert node["status"]["resources"][0]["completed"] is True


@pytest.mark.parametrize("ttl", [0, 1])
async def test_job_that_expires_at_once_runs_once(env: Environment, ttl: int) -> None:
    async with running_operator(env):
        await start(env, ttl=ttl)
        await eventually(lambda: is_gone(env), within=60)
        await never_again(env)
        await wait_for_node_ready(env, NODE)


async def test_job_whose_end_no_operator_observed_is_not_run_again(env: Environment) -> None:
    async with running_operator(env):
        await start(env)
    await eventually(lambda: is_gone(env), within=60)
    for _ in range(2):
        # Also after another restart: the status must not forget that the Job was applied.
        async with running_operator(env):
            status = await wait_for_resource_state(env, NODE, "seed", "Failed")
            assert status["reason"] == "JobEndUnknown"
            assert "lynq.sh/force-reconcile" in status["message"]
            await never_again(env)


async def test_force_reconcile_runs_a_job_with_an_unknown_end_again(env: Environment) -> None:
    async with running_operator(env):
        await start(env)
    await eventually(lambda: is_gone(env), within=60)
    async with running_operator(env):
        await wait_for_resource_state(env, NODE, "seed", "Failed")
        await annotate(env, force_reconcile="now")
        await eventually(lambda: exists(env), within=30, every=0.05)
        await wait_for_node_ready(env, NODE)


async def test_interval_of_forced_reconciles_runs_no_job_again(env: Environment) -> None:
    async with running_operator(env):
        await start(env)
    await eventually(lambda: is_gone(env), within=60)
    async with running_operator(env, force_reapply_interval=timedelta(seconds=20)):
        await wait_for_resource_state(env, NODE, "seed", "Failed")
        await never_again(env)


async def test_blocked_job_is_not_forgotten(env: Environment) -> None:
    """A status without the Job's digest would say that it was never applied."""
    dependent = {**seed(ttl=1), "dependIds": ["settings"]}
    async with running_operator(env):
        await create_node(env, entry("settings"), jobs=[dependent])
        await eventually(lambda: exists(env), within=10, every=0.01)
        await eventually(lambda: is_recorded(env), within=30)
        await update_node(env, entry("settings", "{{ .missing }"), jobs=[dependent])
        await wait_for_resource_state(env, NODE, "settings", "Failed")
    await eventually(lambda: is_gone(env), within=60)
    async with running_operator(env):
        await update_node(env, entry("settings"), jobs=[dependent])
        await wait_for_resource_state(env, NODE, "seed", "Failed", within=60)
        await never_again(env)


@pytest.mark.parametrize("paused", [False, True])
async def test_job_that_was_deleted_before_it_completed_comes_back(
    env: Environment, *, paused: bool
) -> None:
    async with running_operator(env):
        uid = await start(env, job="never")
        if paused:
            await annotate(env, paused="true")
        await env.client.delete(JOBS, "seed", env.namespace)
        await annotate(env, paused=None)

        async def is_another() -> bool:
            return await exists(env) and uid_of(await env.get(JOBS, "seed")) != uid

        await eventually(is_another, within=60)
