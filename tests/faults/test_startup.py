"""API errors during startup: the operator recovers without a restart."""

import asyncio
from dataclasses import dataclass

import pytest

from background_tasks import run_in_background
from faults.crash import intercepted_operator
from faults.fault_injection import api_error
from lynq.kube import Request, Response, Send
from lynq.kube.errors import ServiceUnavailable
from operated.environment import Environment
from operated.history import recording
from operated.running_operator import (
    node_condition,
    running_operator,
    wait_for_node_ready,
)


@dataclass(slots=True)
class FirstRequestsFail:
    """Fails the first requests with these path suffixes."""

    suffixes: tuple[str, ...]
    remaining: int
    failed: int = 0

    async def __call__(self, request: Request, send: Send) -> Response:
        if self.remaining and request.path.endswith(self.suffixes):
            self.remaining -= 1
            self.failed += 1
            raise api_error(request, ServiceUnavailable, 503)
        return await send(request)


async def create_tenant(env: Environment) -> None:
    """Create a ready tenant with an earlier operator, and a row for a second one."""
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub(sync_interval="1s")
    await env.create_form()
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))


OURS = ("/lynqhubs", "/lynqforms", "/lynqnodes")


@pytest.mark.parametrize(
    ("suffixes", "times"),
    [(OURS, 3), (("/configmaps",), 14), (("/api", "/apis"), 24)],
    ids=["lynq kinds", "object kinds", "discovery"],
)
async def test_failed_startup_requests_are_retried(
    env: Environment, suffixes: tuple[str, ...], times: int
) -> None:
    await create_tenant(env)
    failure = FirstRequestsFail(suffixes, times)
    working = run_in_background(intercepted_operator(env, failure).run(asyncio.Event()))
    async with recording(env) as history, working:
        await wait_for_node_ready(env, "beta-web", within=60)
    assert failure.failed
    # A ready node stays ready while its objects cannot be observed yet.
    assert {node_condition(nodes["acme-web"], "Ready")[0] for _, nodes, _ in history.states()} == {
        "True"
    }
