"""Requests are counted by response code, like in client-go."""

import pytest
from prometheus_client import CollectorRegistry

from http_server import Serve
from lynq.kube import (
    Backoff,
    Client,
    ClientOptions,
    ClusterConfig,
    Request,
    Response,
    RuntimeMetrics,
    errors,
)
from lynq.kube.resource import CONFIG_MAPS
from unit.kube.test_transport import Script, reset, status

QUICK = ClientOptions(timeout=5, attempts=2, backoff=Backoff(base=0.001, cap=0.002))


def counted(registry: CollectorRegistry) -> dict[tuple[str, str, str], float]:
    return {
        (sample.labels["method"], sample.labels["code"], sample.labels["host"]): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == "rest_client_requests_total"
    }


async def test_responses_are_counted_by_code_including_retries(serve: Serve) -> None:
    registry = CollectorRegistry()
    address = await serve(Script(lambda _: status(503), lambda _: status(404)))
    count = RuntimeMetrics(registry).requests(address)
    async with Client.connect(ClusterConfig(address), options=QUICK) as client:
        counting = client.intercepted(count)
        with pytest.raises(errors.NotFound):
            await counting.get(CONFIG_MAPS, "a", "n")
        await counting.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "n"}})
    host = address.removeprefix("http://")
    assert counted(registry) == {
        ("GET", "503", host): 1,
        ("GET", "404", host): 1,
        ("POST", "200", host): 1,
    }


async def test_failed_connection_has_the_code_error(serve: Serve) -> None:
    registry = CollectorRegistry()
    address = await serve(Script(reset))
    count = RuntimeMetrics(registry).requests(address)
    async with Client.connect(ClusterConfig(address), options=QUICK) as client:
        await client.intercepted(count).get(CONFIG_MAPS, "a", "n")
    host = address.removeprefix("http://")
    assert counted(registry) == {("GET", "<error>", host): 1, ("GET", "200", host): 1}


async def test_fenced_write_is_not_counted(serve: Serve) -> None:
    registry = CollectorRegistry()
    address = await serve(Script())

    def closed() -> None:
        raise errors.Fenced("closed")

    count = RuntimeMetrics(registry).requests(address)
    async with Client.connect(ClusterConfig(address), options=QUICK, fence=closed) as client:
        with pytest.raises(errors.Fenced):
            await client.intercepted(count).create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "n")
    assert counted(registry) == {}


@pytest.mark.parametrize(
    ("server", "host"),
    [
        ("https://10.96.0.1:443", "10.96.0.1:443"),
        ("https://[fd00::1]:6443/base", "[fd00::1]:6443"),
        ("https://somebody:hunter2@kube.example.com/", "kube.example.com"),
        ("", "none"),
    ],
)
async def test_host_label_is_host_and_port_without_password(server: str, host: str) -> None:
    registry = CollectorRegistry()
    count = RuntimeMetrics(registry).requests(server)

    async def answer(_: Request) -> Response:
        return Response(200)

    await count(Request("get", "GET", "/"), answer)
    assert counted(registry) == {("GET", "200", host): 1}
