"""`lynq events`, `lynq logs` and `lynq top`: what the operator does."""

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from cluster.cli.conftest import Lynq
from cluster.cli.tenants import normalized, running_tenants
from cluster.controllers.environment import Environment
from lynq.cli.connection import ClusterOptions
from lynq.cli.events import _watch
from lynq.cli.exit_codes import ExitCode
from lynq.kube.resource import EVENTS
from waiting import eventually

METRICS = """\
# TYPE workqueue_depth gauge
workqueue_depth{name="node"} 2
# TYPE lynq_row_to_ready_seconds histogram
lynq_row_to_ready_seconds_bucket{le="0.5"} 10
lynq_row_to_ready_seconds_bucket{le="+Inf"} 10
lynq_row_to_ready_seconds_count 10
lynq_row_to_ready_seconds_sum 2
"""


@pytest.fixture
def metrics_url() -> Iterator[str]:
    """An endpoint with metrics of an operator."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(METRICS.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/metrics"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_events_nodes_and_load_are_shown(
    env: Environment, run_lynq: Lynq, metrics_url: str
) -> None:
    async with running_tenants(env):
        await env.wait_for_event("RowRejected")
        await env.wait_for_status(ready=1, failed=2)

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

        top = await run_lynq("top", "--metrics-url", metrics_url, "--interval", "0.1")
        assert normalized(top.stdout, env).splitlines() == [
            "NAMESPACE   HUB   NODES   READY   FAILED   REJECTED   READ",
            "NS   hub   3   1   2   1   AGE",
            "",
            "queue   2 keys wait, 0 reconciles in progress",
            "row to ready   p50 250 ms, p99 495 ms",
            "reconciles   0.0/s, p99 -, 0 failed since the start",
            "requests   0.0/s to the API server",
        ]
    without = await run_lynq("top")
    assert without.exit_code == ExitCode.OK
    assert without.stderr.startswith("The load of the operator is unknown: No metrics service")
    logs = await run_lynq("logs")
    assert logs.exit_code == ExitCode.ERROR
    assert logs.stderr == (
        "Error: No operator pod with the label app.kubernetes.io/name=lynq in any namespace: the "
        "operator runs outside of the cluster, or is not installed.\n"
    )


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
