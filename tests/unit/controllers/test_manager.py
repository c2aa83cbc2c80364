"""What a process shows of itself before anything has happened."""

import subprocess

import pytest

from lynq.controllers.manager import Process, ProcessSettings
from lynq.kube import Client, ClientOptions, ClusterConfig
from lynq.kube.errors import ConnectionFailed
from lynq.telemetry.exposition import collect_families, render_families
from lynq.webhooks import Webhooks

NOBODY = "http://127.0.0.1:1"
ONCE = ClientOptions(attempts=1)


def scraped(process: Process) -> str:
    return render_families(collect_families(process.registry)).decode()


def complaints(text: str) -> str:
    """Return what Prometheus' own tool has to say about a scrape."""
    read = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    return read.stdout + read.stderr


async def test_controller_runtime_metrics_are_exposed() -> None:
    async with Client.connect(ClusterConfig(NOBODY)) as client:
        process = Process(ProcessSettings(admission=Webhooks()), client, server=NOBODY)
        text = scraped(process)
    for start in (
        "process_cpu_seconds_total ",
        "process_resident_memory_bytes ",
        "process_start_time_seconds ",
        "process_open_fds ",
        "# TYPE rest_client_requests_total counter",
        'controller_runtime_webhook_requests_total{code="200",webhook="/validate-operator-lynq-sh',
        'controller_runtime_webhook_requests_in_flight{webhook="/mutate-operator-lynq-sh',
        'controller_runtime_webhook_latency_seconds_count{webhook="/mutate-operator-lynq-sh',
    ):
        assert any(line.startswith(start) for line in text.splitlines()), start
    assert complaints(text) == ""


async def test_requests_of_every_client_are_counted() -> None:
    async with Client.connect(ClusterConfig(NOBODY), options=ONCE) as client:
        process = Process(ProcessSettings(leader_elect=True), client, server=NOBODY)
        for each in (process._client.unfenced(), process.context.client.acting_as("somebody")):
            with pytest.raises(ConnectionFailed):
                await each.raw("/version")
    line = 'rest_client_requests_total{code="<error>",host="127.0.0.1:1",method="GET"} 2'
    assert line in scraped(process).splitlines()
    assert complaints(scraped(process)) == ""
