"""The operator behind its own webhooks: they count by its caches, and never stand in its way."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from cluster.webhooks.admission import Admission
from lynq.controllers.manager import Process, ProcessSettings
from lynq.controllers.options import Options
from lynq.kube.errors import Forbidden
from lynq.webhooks import Webhooks, WebhookServer
from operated.environment import HUBS, NODES, Environment
from operated.running_operator import wait_for_deletion, wait_for_node_ready
from waiting import eventually


@pytest.fixture
def env(admission: Admission, tmp_path: Path) -> Environment:
    return Environment(admission.client, admission.namespace, tmp_path)


@asynccontextmanager
async def run_operator(admission: Admission, env: Environment) -> AsyncIterator[Process]:
    """Run the whole operator with its webhooks."""
    service = admission.service
    webhooks = Webhooks(
        port=0,
        service=service.service,
        namespace=service.namespace,
        configuration_prefix=service.prefix,
    )
    settings = ProcessSettings(
        options=Options(sqlite_directory=env.directory, namespaces=(env.namespace,)),
        admission=webhooks,
    )
    process = Process(settings, admission.client)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        assert process._readiness_problems()[-1] == "webhooks: there is no certificate yet"
        group.create_task(process.run(stop))
        await eventually(lambda: not process._readiness_problems(), within=20)
        yield process
        stop.set()


def server_of(process: Process) -> WebhookServer:
    server = process._admission
    assert isinstance(server, WebhookServer)
    return server


async def test_life_of_a_hub_behind_the_webhooks(
    admission: Admission, env: Environment, kubectl: Callable[..., str]
) -> None:
    run = partial(asyncio.to_thread, kubectl)
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "free"))
    async with (
        run_operator(admission, env) as process,
        # A second replica, because its check interval is short.
        admission.replica(key=lambda: process.context.key),
        admission.configured(server_of(process)),
    ):
        await env.create_hub()
        await env.create_form()
        for name in ("acme-web", "beta-web"):
            await wait_for_node_ready(env, name)
        remove = '{"spec": {"configMaps": []}}'

        async def is_warned() -> bool:
            # At a path without the secret part the object alone is known.
            output = await run(
                "patch", "lynqform", "web", "-n", env.namespace, "--type=merge", "-p", remove,
                "--dry-run=server",
            )  # fmt: skip
            assert "Warning: LynqForm web removes 2 ConfigMaps: lynq plan -f FILE shows" in output
            return True

        await eventually(is_warned, within=20)
        await env.patch(
            NODES, "beta-web", {"metadata": {"annotations": {"lynq.sh/protect": "true"}}}
        )
        with pytest.raises(Forbidden):
            await env.client.delete(NODES, "beta-web", env.namespace)
        output = await run("delete", "lynqhub", "hub", "-n", env.namespace, "--wait=false")
        assert (
            "Warning: LynqHub hub: 2 LynqNodes and 2 resources will be deleted; 1 LynqNode"
            in output
        )
        await wait_for_deletion(env, NODES, "acme-web")
        assert await env.node_names() == ["beta-web"]
        await env.patch(NODES, "beta-web", {"metadata": {"annotations": {"lynq.sh/protect": None}}})
        await wait_for_deletion(env, HUBS, "hub", within=30)
        assert await env.node_names() == []
