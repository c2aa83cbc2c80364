"""`lynq events`: what the operator reports."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from cluster.cli.conftest import Lynq
from cluster.cli.tenants import normalized, running_tenants
from lynq.cli.connection import ClusterOptions
from lynq.cli.events import _watch
from lynq.kube.resource import EVENTS
from operated.environment import Environment
from waiting import eventually


async def test_events_of_hubs_and_nodes_are_listed(env: Environment, run_lynq: Lynq) -> None:
    async with running_tenants(env):
        await env.wait_for_event("RowRejected")

        async def listed() -> str:
            output = (await run_lynq("events")).stdout
            assert "LynqNode/acme-web" in output
            return output

        output = normalized(await eventually(listed, every=0.2), env)
        assert output.splitlines()[0] == "LAST SEEN   TYPE   REASON   OBJECT   MESSAGE"
        assert "AGE   Warning   RowRejected   LynqHub/hub   " in output
        of_node = await run_lynq("events", "--for", "node/beta-web", "-o", "json")
        names = {event["involvedObject"]["name"] for event in json.loads(of_node.stdout)}
        assert "beta-web" in names
        assert "acme-web" not in names

        names_only = await run_lynq("events", "--for", "node/beta-web", "-o", "name")
        assert re.fullmatch(r"(event/\S+\n)+", names_only.stdout)
    watched = await run_lynq("events", "--watch", "-o", "json")
    assert watched.stderr == "Error: --watch prints lines: leave out -o.\n"


async def test_new_events_are_printed_while_watching(
    env: Environment, kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ClusterOptions(kubeconfig=kubeconfig, namespace=env.namespace)
    listed = await env.client.list(EVENTS, env.namespace)
    async with options.connect() as cluster:
        task = asyncio.create_task(_watch(cluster, None, listed.resource_version, lambda _: True))
        event = {
            "metadata": {"name": "tested", "namespace": env.namespace},
            "involvedObject": {"kind": "LynqHub", "name": "hub", "namespace": env.namespace},
            "reason": "Tested",
            "type": "Warning",
            "message": "of a test",
        }
        await env.client.create(EVENTS, event)
        output = ""

        def printed() -> bool:
            nonlocal output
            output += capsys.readouterr().out
            return "Warning   Tested   LynqHub/hub   of a test" in output

        await eventually(printed)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
