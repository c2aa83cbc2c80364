"""An API server that is slow altogether: the writes of a large hub do not delay another hub."""

import asyncio
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from faults.second_hub import assert_rows_are_ready
from lynq.kube import Client, ClientOptions, Request, Response, Send, load_config
from operated.environment import Environment, config_map
from operated.running_operator import running_operator, wait_for_node_ready
from waiting import eventually

pytestmark = pytest.mark.timing

ROWS = 600
SECONDS_PER_WRITE = 1 / 80
QUEUED_ROWS = 60
SECONDS_PER_SERVICE = 0.1
SERVICES_AT_ONCE = 2
REPORT_DELAY = 1.5
_READS = ("get", "list", "watch")
SERVICE = {
    "id": "service",
    "nameTemplate": "{{ .uid }}-service",
    "spec": {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}},
}


class BusyApiServer:
    """Processes writes one after the other, as an API server without a free processor does."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._waiting = 0
        self.waiting_creates: list[int] = []
        """For each creation of a node, the number of such requests that wait."""

    async def process(self, seconds: float) -> None:
        """Process a write after all that have arrived before."""
        async with self._turn:
            await asyncio.sleep(seconds)

    async def __call__(self, request: Request, send: Send) -> Response:
        if request.verb in _READS:
            return await send(request)
        creates = request.path.endswith("/lynqnodes")
        self._waiting += creates
        if creates:
            self.waiting_creates.append(self._waiting)
        await self.process(SECONDS_PER_WRITE)
        self._waiting -= creates
        return await send(request)


async def test_busy_api_server_gets_few_writes_of_a_hub_at_once(env: Environment) -> None:
    server = BusyApiServer()
    test_client, env.client = env.client, env.client.intercepted(server)
    async with running_operator(env):
        env.client = test_client
        env.set_rows(("first", 1, "pro"), file="other.db")
        table = {"path": "other.db", "table": "tenants"}
        await env.create_hub("other", source={"sqlite": table, "changes": "Push"})
        await env.create_form("plain", hub="other")
        await wait_for_node_ready(env, "first-plain")
        env.set_rows(*((f"t{number:03}", 1, "pro") for number in range(ROWS)))
        await env.create_hub()
        await env.create_form(configMaps=[config_map()])
        await eventually(lambda: len(server.waiting_creates) > 60)

        await assert_rows_are_ready(env, rows=2, within=30)
        await eventually(lambda: len(server.waiting_creates) > 200, within=60)
    # Without a limit that follows the answers, 32 wait there, and each row of another hub behind.
    # The limit grows while answers are quick, so that more may wait for a moment.
    assert median(server.waiting_creates[60:]) <= 16


async def test_node_whose_write_waits_for_others_is_reported_once(
    env: Environment, kubeconfig: Path
) -> None:
    server = BusyApiServer()

    async def allocate_address(request: Request, send: Send) -> Response:
        """Process Services one after the other, as the allocation of their addresses does."""
        if request.verb not in _READS and "/services" in request.path:
            await server.process(SECONDS_PER_SERVICE)
        return await send(request)

    # Few Services are sent at once, so that none of them takes long, but most wait for seconds.
    env.timing = replace(
        env.timing, inventory_report_delay=REPORT_DELAY, busy_report_delay=REPORT_DELAY
    )
    options = ClientOptions(max_in_flight=2 * SERVICES_AT_ONCE)
    async with Client.connect(load_config(kubeconfig=kubeconfig), options=options) as client:
        test_client, env.client = env.client, client.intercepted(allocate_address)
        async with running_operator(env):
            env.client = test_client
            env.set_rows(*((f"t{number:03}", 1, "pro") for number in range(QUEUED_ROWS)))
            await env.create_hub()
            await env.create_form(configMaps=[config_map()], services=[SERVICE])

            async def ready() -> bool:
                return (await env.status()).get("ready") == QUEUED_ROWS

            await eventually(ready, within=60)
    reports = [request for request in env.requests.sent if _is_report(request)]
    # 94 if the time in the queue of the operator counts as time of the write.
    assert len(reports) < 1.2 * QUEUED_ROWS


def _is_report(request: Request) -> bool:
    return "/lynqnodes/" in request.path and request.path.endswith("/status")
