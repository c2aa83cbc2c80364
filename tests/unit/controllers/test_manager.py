"""The metrics of a process that has just started."""

import pytest

from lynq.controllers.manager import Process, ProcessSettings
from lynq.kube import Client, ClientOptions, ClusterConfig
from lynq.kube.errors import ConnectionFailed
from lynq.telemetry.exposition import collect_families, render_families
from lynq.webhooks import Webhooks

UNREACHABLE = "http://127.0.0.1:1"
ONE_ATTEMPT = ClientOptions(attempts=1)


def scrape(process: Process) -> str:
    return render_families(collect_families(process.registry)).decode()


async def test_controller_runtime_metrics_are_exposed() -> None:
    async with Client.connect(ClusterConfig(UNREACHABLE)) as client:
        process = Process(ProcessSettings(admission=Webhooks()), client, server=UNREACHABLE)
        text = scrape(process)
    for prefix in (
        "process_cpu_seconds_total ",
        "process_resident_memory_bytes ",
        "process_start_time_seconds ",
        "process_open_fds ",
        "# TYPE rest_client_requests_total counter",
        'controller_runtime_webhook_requests_total{code="200",webhook="/validate-operator-lynq-sh',
        'controller_runtime_webhook_requests_in_flight{webhook="/mutate-operator-lynq-sh',
        'controller_runtime_webhook_latency_seconds_count{webhook="/mutate-operator-lynq-sh',
    ):
        assert any(line.startswith(prefix) for line in text.splitlines()), prefix


async def test_requests_of_every_client_are_counted() -> None:
    async with Client.connect(ClusterConfig(UNREACHABLE), options=ONE_ATTEMPT) as client:
        process = Process(ProcessSettings(leader_elect=True), client, server=UNREACHABLE)
        for counted in (process._client.unfenced(), process.context.client.acting_as("user")):
            with pytest.raises(ConnectionFailed):
                await counted.raw("/version")
    line = 'rest_client_requests_total{code="<error>",host="127.0.0.1:1",method="GET"} 2'
    assert line in scrape(process).splitlines()
