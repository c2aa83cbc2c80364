"""An API server that is slow altogether: the writes of a large hub do not delay another hub."""

import asyncio
from statistics import median

from cluster.controllers.environment import Environment, config_map
from cluster.controllers.running_operator import running_operator, wait_for_node_ready
from faults.second_hub import assert_rows_are_ready
from lynq.kube import Request, Response, Send
from waiting import eventually

ROWS = 600
SECONDS_PER_WRITE = 1 / 80


class BusyApiServer:
    """Processes writes one after the other, as an API server without a free processor does."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._waiting = 0
        self.waiting_creates: list[int] = []
        """For each creation of a node, the number of such requests that wait."""

    async def __call__(self, request: Request, send: Send) -> Response:
        if request.stream or request.verb in ("get", "list"):
            return await send(request)
        creates = request.path.endswith("/lynqnodes")
        self._waiting += creates
        if creates:
            self.waiting_creates.append(self._waiting)
        async with self._turn:
            await asyncio.sleep(SECONDS_PER_WRITE)
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
