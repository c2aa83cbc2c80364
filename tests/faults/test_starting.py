"""An API server that stumbles while the operator begins: it goes on by itself."""

import asyncio
from dataclasses import dataclass

import pytest

from background import running
from cluster.controllers.operating import node_is_ready, operating, said
from cluster.controllers.stage import Stage
from cluster.controllers.whole.history import recording
from faults.crash import operator_behind
from faults.weather import refusal
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
            raise refusal(request, ServiceUnavailable, 503)
        return await send(request)


async def made(stage: Stage) -> None:
    """Have a tenant from before."""
    stage.rows(("acme", 1, "pro"))
    await stage.hub(source={"syncInterval": "1s"})
    await stage.form()
    async with operating(stage):
        await node_is_ready(stage, "acme-web")
    stage.rows(("acme", 1, "pro"), ("beta", 1, "pro"))


OURS = ("/lynqhubs", "/lynqforms", "/lynqnodes")


@pytest.mark.parametrize(
    ("ends", "times"),
    [(OURS, 3), (("/configmaps",), 14), (("/api", "/apis"), 24)],
    ids=["our kinds", "their kinds", "discovery"],
)
async def test_what_fails_at_the_start_is_tried_again(
    stage: Stage, ends: tuple[str, ...], times: int
) -> None:
    await made(stage)
    stumble = Stumble(ends, times)
    working = running(operator_behind(stage, stumble).run(asyncio.Event()))
    async with recording(stage) as history, working:
        await node_is_ready(stage, "beta-web", within=60)
    assert stumble.failed
    # Who was ready stays so: that we cannot see its objects yet says nothing about them.
    assert {said(nodes["acme-web"], "Ready")[0] for _, nodes, _ in history.states()} == {"True"}
