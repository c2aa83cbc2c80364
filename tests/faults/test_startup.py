"""An API server that stumbles while the operator begins: it goes on by itself."""

import asyncio
from dataclasses import dataclass

import pytest

from background_tasks import run_in_background
from cluster.controllers.environment import Environment
from cluster.controllers.operator.history import recording
from cluster.controllers.running_operator import (
    node_condition,
    running_operator,
    wait_for_node_ready,
)
from faults.crash import operator_behind
from faults.fault_injection import api_error
from lynq.kube import Request, Response, Send
from lynq.kube.errors import ServiceUnavailable


@dataclass(slots=True)
class Stumble:
    """Fails the first requests whose path ends so."""

    ends: tuple[str, ...]
    left: int
    failed: int = 0

    async def __call__(self, request: Request, send: Send) -> Response:
        if self.left and request.path.endswith(self.ends):
            self.left -= 1
            self.failed += 1
            raise api_error(request, ServiceUnavailable, 503)
        return await send(request)


async def made(env: Environment) -> None:
    """Have a tenant from before."""
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub(source={"syncInterval": "1s"})
    await env.create_form()
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))


OURS = ("/lynqhubs", "/lynqforms", "/lynqnodes")


@pytest.mark.parametrize(
    ("ends", "times"),
    [(OURS, 3), (("/configmaps",), 14), (("/api", "/apis"), 24)],
    ids=["our kinds", "their kinds", "discovery"],
)
async def test_failed_startup_requests_are_retried(
    env: Environment, ends: tuple[str, ...], times: int
) -> None:
    await made(env)
    stumble = Stumble(ends, times)
    working = run_in_background(operator_behind(env, stumble).run(asyncio.Event()))
    async with recording(env) as history, working:
        await wait_for_node_ready(env, "beta-web", within=60)
    assert stumble.failed
    # Who was ready stays so: that we cannot see its objects yet says nothing about them.
    assert {node_condition(nodes["acme-web"], "Ready")[0] for _, nodes, _ in history.states()} == {
        "True"
    }
