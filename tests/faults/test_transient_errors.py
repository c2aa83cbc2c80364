"""An API server that stumbles for a moment says nothing about anybody's objects."""

from dataclasses import dataclass

import pytest

from cluster.controllers.environment import Environment
from cluster.controllers.node.builders import (
    NODE,
    annotate,
    create_node,
    entry,
    event_count,
    exists,
    has_plan,
    resource_statuses,
    update_node,
    wait_for_object,
)
from cluster.controllers.operator.history import recording
from cluster.controllers.running_operator import (
    node_condition,
    running_operator,
    wait_for_node_ready,
    wait_for_resource_state,
)
from faults.fault_injection import api_error
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
        return api_error(request, *self.error) if self.error else TimedOut("no answer in time")


@pytest.mark.parametrize("error", [*ANSWERS, None], ids=["500", "503", "409", "no answer"])
async def test_ready_node_stays_ready_during_api_errors(
    env: Environment, error: tuple[type[ApiError], int]
) -> None:
    hiccup = Hiccup("settings", error)
    env.client = env.client.intercepted(hiccup)
    async with running_operator(env), recording(env) as history:
        await create_node(env, entry("settings"), entry("after", dependIds=["settings"]))
        await wait_for_node_ready(env, NODE)
        seen = len(history.changes)
        hiccup.lasts = True
        await annotate(env, force_reconcile="now")
        await eventually(lambda: hiccup.failed >= 2)
        hiccup.lasts = False
        failed = hiccup.failed
        await env.wait_until_idle()
        states = list(history.states())[seen:]
    assert hiccup.failed == failed
    assert {node_condition(nodes[NODE], "Ready")[0] for _, nodes, _ in states} == {"True"}
    assert await event_count(env, "ApplyFailed") == 0


async def test_new_resource_stays_progressing_and_siblings_are_applied(env: Environment) -> None:
    hiccup = Hiccup("settings", (InternalError, 500), lasts=True)
    env.client = env.client.intercepted(hiccup)
    async with running_operator(env):
        await create_node(env, entry("settings"), entry("beside"))
        await wait_for_object(env, "beside", has_plan("pro"))

        async def is_told() -> bool:
            return "500" in (await resource_statuses(env))["settings"]["message"]

        await eventually(is_told)
        await wait_for_resource_state(env, NODE, "settings", "Progressing")
        assert not await exists(env, "settings")
        hiccup.lasts = False
        await wait_for_node_ready(env, NODE)
        assert await event_count(env, "ApplyFailed") == 0


async def test_new_content_is_not_ready_before_it_is_written(env: Environment) -> None:
    hiccup = Hiccup("settings", (InternalError, 500))
    env.client = env.client.intercepted(hiccup)
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        hiccup.lasts = True
        await update_node(env, entry("settings", "new"))
        await wait_for_resource_state(env, NODE, "settings", "Progressing")
        hiccup.lasts = False
        await wait_for_node_ready(env, NODE)
        assert (await env.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "new"}
