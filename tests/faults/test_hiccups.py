"""An API server that stumbles for a moment says nothing about anybody's objects."""

from dataclasses import dataclass

import pytest

from cluster.controllers.node.making import (
    NODE,
    becomes,
    entry,
    exists,
    make_node,
    mark,
    plan_is,
    resources_of,
    told,
    want,
)
from cluster.controllers.operating import node_is_ready, operating, resource_is, said
from cluster.controllers.stage import Stage
from cluster.controllers.whole.history import recording
from faults.weather import refusal
from lynq.kube import Request, Response, Send
from lynq.kube.errors import (
    ApiError,
    Conflict,
    InternalError,
    KubeError,
    ServiceUnavailable,
    TimedOut,
)
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

ANSWERS: tuple[tuple[type[ApiError], int], ...] = (
    (InternalError, 500),
    (ServiceUnavailable, 503),
    (Conflict, 409),
)


@dataclass(slots=True)
class Hiccup:
    """Fails every write of one object, while it lasts."""

    name: str
    error: tuple[type[ApiError], int] | None = None
    lasts: bool = False
    failed: int = 0

    async def __call__(self, request: Request, send: Send) -> Response:
        if self.lasts and request.verb == "apply" and request.path.endswith(f"/{self.name}"):
            self.failed += 1
            raise self._answer(request)
        return await send(request)

    def _answer(self, request: Request) -> KubeError:
        return refusal(request, *self.error) if self.error else TimedOut("no answer in time")


@pytest.mark.parametrize("error", [*ANSWERS, None], ids=["500", "503", "409", "no answer"])
async def test_who_is_ready_stays_so(stage: Stage, error: tuple[type[ApiError], int]) -> None:
    hiccup = Hiccup("settings", error)
    stage.client = stage.client.intercepted(hiccup)
    async with operating(stage), recording(stage) as history:
        await make_node(stage, entry("settings"), entry("after", dependIds=["settings"]))
        await node_is_ready(stage, NODE)
        seen = len(history.changes)
        hiccup.lasts = True
        await mark(stage, force_reconcile="now")
        await eventually(lambda: hiccup.failed >= 2)
        hiccup.lasts = False
        failed = hiccup.failed
        await stage.settles()
        states = list(history.states())[seen:]
    assert hiccup.failed == failed
    assert {said(nodes[NODE], "Ready")[0] for _, nodes, _ in states} == {"True"}
    assert await told(stage, "ApplyFailed") == 0


async def test_what_is_new_is_on_its_way_and_its_siblings_are_written(stage: Stage) -> None:
    hiccup = Hiccup("settings", (InternalError, 500), lasts=True)
    stage.client = stage.client.intercepted(hiccup)
    async with operating(stage):
        await make_node(stage, entry("settings"), entry("beside"))
        await becomes(stage, "beside", plan_is("pro"))

        async def is_told() -> bool:
            return "500" in (await resources_of(stage))["settings"]["message"]

        await eventually(is_told)
        await resource_is(stage, NODE, "settings", "Progressing")
        assert not await exists(stage, "settings")
        hiccup.lasts = False
        await node_is_ready(stage, NODE)
        assert await told(stage, "ApplyFailed") == 0


async def test_new_content_is_not_ready_before_it_is_written(stage: Stage) -> None:
    hiccup = Hiccup("settings", (InternalError, 500))
    stage.client = stage.client.intercepted(hiccup)
    async with operating(stage):
        await make_node(stage, entry("settings"))
        await node_is_ready(stage, NODE)
        hiccup.lasts = True
        await want(stage, entry("settings", "new"))
        await resource_is(stage, NODE, "settings", "Progressing")
        hiccup.lasts = False
        await node_is_ready(stage, NODE)
        assert (await stage.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "new"}
