"""Prometheus accepts what the operator exposes: `promtool check metrics` has no complaint."""

import subprocess

import pytest
from prometheus_client import CollectorRegistry

from lynq.controllers.manager import Process, ProcessSettings
from lynq.kube import Client, ClientOptions, ClusterConfig
from lynq.kube.errors import ConnectionFailed
from lynq.telemetry.exposition import collect_families, render_families
from lynq.webhooks import Webhooks
from unit.telemetry.samples import registry_with_samples

UNREACHABLE = "http://127.0.0.1:1"


def complaints(registry: CollectorRegistry) -> bytes:
    """Return the output of `promtool check metrics`."""
    text = render_families(collect_families(registry))
    process = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, check=False
    )
    return process.stdout + process.stderr


def test_samples_of_all_metrics_are_accepted() -> None:
    assert complaints(registry_with_samples()) == b""


async def test_metrics_of_a_new_process_are_accepted() -> None:
    async with Client.connect(ClusterConfig(UNREACHABLE)) as client:
        process = Process(ProcessSettings(admission=Webhooks()), client, server=UNREACHABLE)
        assert complaints(process.registry) == b""


async def test_metrics_of_failed_requests_are_accepted() -> None:
    options = ClientOptions(attempts=1)
    async with Client.connect(ClusterConfig(UNREACHABLE), options=options) as client:
        process = Process(ProcessSettings(leader_elect=True), client, server=UNREACHABLE)
        with pytest.raises(ConnectionFailed):
            await process.context.client.raw("/version")
        assert complaints(process.registry) == b""
